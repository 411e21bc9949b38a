import type { VideoVendor } from './vendor.ts';
import { hailuo } from './vendors/hailuo.ts';
import { jimeng } from './vendors/jimeng.ts';
import { kling } from './vendors/kling.ts';
import { seedance } from './vendors/seedance.ts';
import { sora } from './vendors/sora.ts';
import { veo } from './vendors/veo.ts';
import { vidu } from './vendors/vidu.ts';
import { wan } from './vendors/wan.ts';

/** Every vendor this service speaks to. A new one takes a line here. */
export const ADAPTERS: readonly VideoVendor[] = [kling, jimeng, hailuo, seedance, wan, veo, vidu, sora];
