import type { ModelCapability } from '../vendor.ts';

const BASE = {
  sizes: ['1280x720', '720x1280', '1024x1024'],
  ratios: ['16:9', '9:16', '1:1'],
  resolutions: [],
  negativePrompt: true,
  seed: false,
} as const;

const SHORT = { values: [5, 10], default: 5 } as const;
const STD_PRO = ['std', 'pro'];
const TEXT_OR_FRAMES = { min: 0, max: 2, roles: ['first_frame', 'last_frame'] } as const;
const TEXT_OR_FRAME = { min: 0, max: 1, roles: ['first_frame'] } as const;
const FRAMES = { ...TEXT_OR_FRAMES, min: 1 } as const;

const price = (perSecond: number, pro?: number, audio?: number): ModelCapability['price'] => ({
  per_call: 0,
  per_second: perSecond,
  ...(pro === undefined
    ? {}
    : { multipliers: { mode: { pro }, ...(audio === undefined ? {} : { audio: { true: audio } }) } }),
});

const model = (
  id: string,
  title: string,
  rest: Pick<ModelCapability, 'modes' | 'images' | 'price'> & Partial<Pick<ModelCapability, 'seconds' | 'audio'>>,
): ModelCapability => ({ ...BASE, id, title, seconds: SHORT, audio: false, ...rest });

/** The vendor's capability map, always one video a call; prices follow its public list, per second of `std`. */
export const KLING_MODELS: readonly ModelCapability[] = [
  model('kling-v1', 'Kling 1.0', { modes: STD_PRO, images: TEXT_OR_FRAMES, price: price(14_000, 3.5) }),
  model('kling-v1-5', 'Kling 1.5', { modes: STD_PRO, images: FRAMES, price: price(28_000, 1.75) }),
  model('kling-v1-6', 'Kling 1.6', { modes: STD_PRO, images: TEXT_OR_FRAMES, price: price(28_000, 1.75) }),
  model('kling-v2-master', 'Kling 2.0 Master', { modes: [], images: TEXT_OR_FRAME, price: price(140_000) }),
  model('kling-v2-1', 'Kling 2.1', { modes: STD_PRO, images: FRAMES, price: price(28_000, 1.75) }),
  model('kling-v2-1-master', 'Kling 2.1 Master', { modes: [], images: TEXT_OR_FRAME, price: price(140_000) }),
  model('kling-v2-5-turbo', 'Kling 2.5 Turbo', { modes: STD_PRO, images: TEXT_OR_FRAMES, price: price(21_000, 1.67) }),
  model('kling-v2-6', 'Kling 2.6', {
    modes: STD_PRO,
    audio: true,
    images: TEXT_OR_FRAMES,
    price: price(21_000, 1.67, 2),
  }),
  model('kling-v3', 'Kling 3.0', {
    seconds: { min: 3, max: 15, default: 5 },
    modes: STD_PRO,
    audio: true,
    images: TEXT_OR_FRAMES,
    price: price(42_000, 1.34, 1.5),
  }),
];
