import type { SandboxChannel, SeedModel } from './channels/seeds.ts';
import type { ChannelVendor } from './channels/tables.ts';
import { ConfigError } from './platform/setting-readers.ts';

/** The running simulators of SANDBOX=1. */
export interface RunningSandbox {
  /** Simulated models that no adapter defines. */
  readonly seeds: readonly SeedModel[];
  channels(models: readonly SeedModel[]): SandboxChannel[];
  stop(): Promise<void>;
}

/** Loaded on demand, so that a production server never loads the simulators. */
const importSandbox = () => import('../sandbox/sandbox.ts');

/** Starts the simulated vendors. */
export async function startAppSandbox(): Promise<RunningSandbox> {
  const { CHAT_SANDBOX_MODELS, startAllSimulators } = await importSandbox();
  const { channels, stop } = await startAllSimulators();
  return {
    channels: (models) => channels(models).map((channel) => ({ ...channel, vendor: channel.vendor as ChannelVendor })),
    seeds: CHAT_SANDBOX_MODELS,
    stop,
  };
}

/**
 * Loads the mail server of MAIL_BACKEND=sandbox. Its libraries are development packages, which the server bundle
 * includes but an unbundled production install lacks.
 * @throws ConfigError when they are missing
 */
export async function importSandboxMail() {
  try {
    const { importMailServer } = await importSandbox();
    return (await importMailServer()).startSandboxMail;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new ConfigError(
      'MAIL_BACKEND',
      'sandbox needs the development packages or the server bundle: run "npm ci" without --omit=dev',
    );
  }
}
