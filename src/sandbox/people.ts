import { SPEEDS } from './jobs.ts';
import { startSandbox } from './kit.ts';
import { startSandboxMail } from './mail/mail-server.ts';
import { OPENAI_SANDBOX_MODELS } from './openai-chat.ts';
import { SIMULATORS } from './simulators.ts';

/** All simulators at a speed people can watch, for `SANDBOX=1`. */
export async function startPeopleSandbox() {
  const { url, credentials, stop } = await startSandbox({
    simulators: SIMULATORS,
    speed: SPEEDS.people,
    keepRequests: 0,
  });
  return {
    doors: SIMULATORS.map(({ name, models = /^/ }) => ({ name, serves: (model: string) => models.test(model) })),
    url,
    credentials,
    stop,
  };
}

export { OPENAI_SANDBOX_MODELS, startSandboxMail };
