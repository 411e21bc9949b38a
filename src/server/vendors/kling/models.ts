import type { ModelCapability } from '../adapter-types.ts';
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
const THREE_TO_FIFTEEN = { min: 3, max: 15, default: 5 } as const;
const OMNI_IMAGES = { min: 0, max: 7, roles: ['first_frame', 'last_frame', 'reference'] } as const;
const FRAMES = { ...TEXT_OR_FRAMES, min: 1 } as const;

const toCapability = (
  id: string,
  title: string,
  rest: Pick<ModelCapability, 'modes' | 'images'> &
    Partial<Pick<ModelCapability, 'seconds' | 'audio' | 'negativePrompt'>>,
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
    seconds: THREE_TO_FIFTEEN,
    modes: [...STD_PRO, '4k'],
    audio: true,
    images: TEXT_OR_FRAMES,
  }),
  toCapability('kling-v3-turbo', 'Kling 3.0 Turbo', {
    seconds: THREE_TO_FIFTEEN,
    modes: STD_PRO,
    audio: true,
    negativePrompt: false,
    images: TEXT_OR_FRAME,
  }),
  toCapability('kling-v3-omni', 'Kling 3.0 Omni', {
    seconds: THREE_TO_FIFTEEN,
    modes: [...STD_PRO, '4k'],
    audio: true,
    images: OMNI_IMAGES,
  }),
  toCapability('kling-video-o1', 'Kling O1', {
    seconds: { min: 3, max: 10, default: 5 },
    modes: STD_PRO,
    images: OMNI_IMAGES,
  }),
];

/** Models of the omni endpoint, which takes frames, references, videos and elements in lists. */
export const OMNI_MODELS: ReadonlySet<string> = new Set(['kling-v3-omni', 'kling-video-o1']);

/** Models that make 4k videos, by a mode of their own. */
export const MODES_4K: ReadonlySet<string> = new Set(['kling-v3', 'kling-v3-omni']);

/** Models that make sound in mode `pro` only. */
export const SOUND_NEEDS_PRO: ReadonlySet<string> = new Set(['kling-v2-6']);
