import { anthropicSimulator } from './anthropic/simulator.ts';
import type { Simulator } from './define-simulator.ts';
import { geminiSimulator } from './gemini/simulator.ts';
import { openaiSimulator } from './openai/simulator.ts';
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

/** Every simulator that `SANDBOX=1` starts, each with a channel of its own. */
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
  openaiSimulator,
  anthropicSimulator,
  geminiSimulator,
];
