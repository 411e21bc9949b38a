import type { VideoVendor } from './vendor.ts';
import { sora } from './vendors/sora.ts';
import { vidu } from './vendors/vidu.ts';

/** Every vendor this service speaks to. A new one takes a line here. */
export const ADAPTERS: readonly VideoVendor[] = [sora, vidu];
