import type { ChannelVendor } from './channels/directory.ts';
import type { SandboxChannel, SeedModel } from './channels/seeds.ts';

/** The simulated vendors of SANDBOX=1. */
export interface RunningSandbox {
  /** Models of the simulators that no adapter defines. */
  readonly seeds: readonly SeedModel[];
  channels(models: readonly SeedModel[]): SandboxChannel[];
  stop(): Promise<void>;
}

/** The simulators' code is loaded only here, and only with SANDBOX=1 or MAIL_BACKEND=sandbox. */
export const importSandbox = () => import('../sandbox/simulators.ts');

export async function startAppSandbox(): Promise<RunningSandbox> {
  const { CHAT_SANDBOX_MODELS, startAllSimulators } = await importSandbox();
  const { channels, stop } = await startAllSimulators();
  return {
    channels: (models) => channels(models).map((channel) => ({ ...channel, vendor: channel.vendor as ChannelVendor })),
    seeds: CHAT_SANDBOX_MODELS,
    stop,
  };
}
