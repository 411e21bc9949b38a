import { JOB_TIMINGS } from './jobs.ts';
import { startSandboxMail } from './mail/mail-server.ts';
import { OPENAI_SANDBOX_MODELS } from './openai/simulator.ts';
import { startSandbox } from './sandbox.ts';
import { SIMULATORS } from './simulators.ts';

interface NamedModel {
  readonly id: string;
  readonly vendor: string;
}

/** All simulators at a speed that can be watched in the console, for `SANDBOX=1`. */
export async function startSandboxMode() {
  const sandbox = await startSandbox({
    simulators: SIMULATORS,
    timing: JOB_TIMINGS.interactive,
    keepRequests: 0,
  });
  return {
    /** One channel for each simulator, with those of the given models it serves. */
    channels: (models: readonly NamedModel[]) =>
      SIMULATORS.map(({ name, vendor = name, models: served = /^/ }) => ({
        name,
        vendor,
        baseUrl: sandbox.url(name),
        credentials: sandbox.credentials(name),
        models: models.filter((model) => model.vendor === vendor && served.test(model.id)).map(({ id }) => id),
      })),
    stop: sandbox.stop,
  };
}

export { OPENAI_SANDBOX_MODELS, startSandboxMail };
