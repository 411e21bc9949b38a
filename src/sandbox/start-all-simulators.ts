import { ALL_SIMULATORS } from './all-simulators.ts';
import { ANTHROPIC_SANDBOX_MODELS } from './anthropic/simulator.ts';
import { GEMINI_SANDBOX_MODELS } from './gemini/simulator.ts';
import { JOB_TIMINGS } from './jobs.ts';
import { startSandboxMail } from './mail/mail-server.ts';
import { OPENAI_SANDBOX_MODELS } from './openai/simulator.ts';
import { startSandbox } from './sandbox.ts';

interface NamedModel {
  readonly id: string;
  readonly vendor: string;
}

/** All simulators at a speed that can be watched in the console, for `SANDBOX=1`. */
export async function startAllSimulators() {
  const sandbox = await startSandbox({
    simulators: ALL_SIMULATORS,
    timing: JOB_TIMINGS.interactive,
    keepRequests: 0,
  });
  return {
    /** One channel for each simulator, with those of the given models it serves. */
    channels: (models: readonly NamedModel[]) =>
      ALL_SIMULATORS.map(({ name, vendor = name, models: served = /^/ }) => ({
        name,
        vendor,
        baseUrl: sandbox.url(name),
        credentials: sandbox.credentials(name),
        models: models.filter((model) => model.vendor === vendor && served.test(model.id)).map(({ id }) => id),
      })),
    stop: sandbox.stop,
  };
}

/** Models of the simulators that no adapter defines. */
const CHAT_SANDBOX_MODELS = [
  ...OPENAI_SANDBOX_MODELS.map((model) => ({ ...model, vendor: 'openai' }) as const),
  ...ANTHROPIC_SANDBOX_MODELS.map((model) => ({ ...model, vendor: 'anthropic' }) as const),
  ...GEMINI_SANDBOX_MODELS.map((model) => ({ ...model, vendor: 'gemini' }) as const),
];

export { CHAT_SANDBOX_MODELS, startSandboxMail };
