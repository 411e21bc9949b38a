import type { ModelCapability } from '../adapter.ts';
import { KLING_PRICES, klingPriceSource } from './prices.ts';

const COMMON = {
  sizes: ['1280x720', '720x1280', '1024x1024'],
  ratios: ['16:9', '9:16', '1:1'],
  resolutions: [],
  negativePrompt: true,
  seed: false,
} as const;

const FIVE_OR_TEN = { values: [5, 10], default: 5 } as const;
const STD_PRO = ['std', 'pro'];
const TEXT_OR_FRAMES = { min: 0, max: 2, roles: ['first_frame', 'last_frame'] } as const;
const TEXT_OR_FRAME = { min: 0, max: 1, roles: ['first_frame'] } as const;
const FRAMES = { ...TEXT_OR_FRAMES, min: 1 } as const;

const toCapability = (
  id: string,
  title: string,
  rest: Pick<ModelCapability, 'modes' | 'images'> & Partial<Pick<ModelCapability, 'seconds' | 'audio'>>,
): ModelCapability => ({
  ...COMMON,
  id,
  title,
  seconds: FIVE_OR_TEN,
  audio: false,
  price: KLING_PRICES[id] ?? {},
  listed: klingPriceSource(id),
  ...rest,
});

/** The vendor's capability map, always one video a call. */
export const KLING_MODELS: readonly ModelCapability[] = [
  toCapability('kling-v1', 'Kling 1.0', { modes: STD_PRO, images: TEXT_OR_FRAMES }),
  toCapability('kling-v1-5', 'Kling 1.5', { modes: STD_PRO, images: FRAMES }),
  toCapability('kling-v1-6', 'Kling 1.6', { modes: STD_PRO, images: TEXT_OR_FRAMES }),
  toCapability('kling-v2-master', 'Kling 2.0 Master', { modes: [], images: TEXT_OR_FRAME }),
  toCapability('kling-v2-1', 'Kling 2.1', { modes: STD_PRO, images: FRAMES }),
  toCapability('kling-v2-1-master', 'Kling 2.1 Master', { modes: [], images: TEXT_OR_FRAME }),
  toCapability('kling-v2-5-turbo', 'Kling 2.5 Turbo', {
    modes: STD_PRO,
    images: TEXT_OR_FRAMES,
  }),
  toCapability('kling-v2-6', 'Kling 2.6', {
    modes: STD_PRO,
    audio: true,
    images: TEXT_OR_FRAMES,
  }),
  toCapability('kling-v3', 'Kling 3.0', {
    seconds: { min: 3, max: 15, default: 5 },
    modes: STD_PRO,
    audio: true,
    images: TEXT_OR_FRAMES,
  }),
];

/** Models that make sound in mode `pro` only. */
export const SOUND_NEEDS_PRO: ReadonlySet<string> = new Set(['kling-v2-6']);
