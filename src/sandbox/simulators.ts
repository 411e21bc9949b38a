import { ANTHROPIC_SANDBOX_MODELS, anthropicSimulator } from './anthropic.ts';
import { GEMINI_SANDBOX_MODELS, geminiSimulator } from './gemini.ts';
import { JOB_TIMINGS } from './jobs.ts';
import { OPENAI_SANDBOX_MODELS, openaiSimulator } from './openai.ts';
import { startSandbox } from './sandbox.ts';
import type { Simulator } from './simulator.ts';
import { hailuo } from './vendors/hailuo.ts';
import { jimeng } from './vendors/jimeng.ts';
import { kling } from './vendors/kling.ts';
import { runway } from './vendors/runway.ts';
import { seedance } from './vendors/seedance.ts';
import { sora } from './vendors/sora.ts';
import { veo, veoVertex } from './vendors/veo.ts';
import { veoInteractions } from './vendors/veo-interactions.ts';
import { vidu } from './vendors/vidu.ts';
import { wan } from './vendors/wan.ts';
import { xai } from './vendors/xai.ts';

interface NamedModel {
  readonly id: string;
  readonly vendor: string;
}

/** Starts all simulators for `SANDBOX=1`, slowly enough to watch in the console. */
export async function startAllSimulators() {
  const sandbox = await startSandbox({
    simulators: ALL_SIMULATORS,
    timing: JOB_TIMINGS.interactive,
    keepRequests: 0,
    clipsByPrompt: true,
  });
  return {
    /** One channel per simulator, with those of the given models it serves. */
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
export const CHAT_SANDBOX_MODELS = [
  ...OPENAI_SANDBOX_MODELS.map((model) => ({ ...model, vendor: 'openai' }) as const),
  ...ANTHROPIC_SANDBOX_MODELS.map((model) => ({ ...model, vendor: 'anthropic' }) as const),
  ...GEMINI_SANDBOX_MODELS.map((model) => ({ ...model, vendor: 'gemini' }) as const),
];

/** Imported on demand, because its libraries are development packages. */
export const importMailServer = () => import('./mail/mail-server.ts');

/** Every simulator started by `SANDBOX=1`, each with its own channel. */
export const ALL_SIMULATORS: readonly Simulator[] = [
  kling,
  jimeng,
  hailuo,
  seedance,
  wan,
  veo,
  veoVertex,
  veoInteractions,
  vidu,
  sora,
  runway,
  xai,
  openaiSimulator,
  anthropicSimulator,
  geminiSimulator,
];
