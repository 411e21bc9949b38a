import type { Simulator } from './simulator.ts';
import { kling } from './vendors/kling.ts';
import { sora } from './vendors/sora.ts';

/** Every simulator that `SANDBOX=1` starts, each with a channel of its own. */
export const SIMULATORS: readonly Simulator[] = [kling, sora];
