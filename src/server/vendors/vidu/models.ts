import type { ModelCapability } from '../adapter.ts';

export const VIDU_RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4'];
const COMMON_RESOLUTIONS = ['540p', '720p', '1080p'];

/** Quota per second at 720p; the vendor's credits grow with the resolution in about these steps. */
const price = (perSecond: number): ModelCapability['price'] => ({
  per_call: 0,
  per_second: perSecond,
  multipliers: { resolution: { '360p': 0.5, '540p': 0.75, '720p': 1, '1080p': 2 } },
});

function toCapability(
  id: string,
  seconds: ModelCapability['seconds'],
  images: readonly [min: number, max: number],
  perSecond: number,
  also: { readonly resolutions?: readonly string[]; readonly audio?: boolean } = {},
): ModelCapability {
  const resolutions = also.resolutions ?? COMMON_RESOLUTIONS;
  return {
    id,
    title: id.replace(/^vidu/, 'Vidu ').replace(/-/g, ' '),
    seconds,
    sizes: resolutions,
    ratios: VIDU_RATIOS,
    resolutions,
    modes: [],
    audio: also.audio ?? false,
    negativePrompt: false,
    seed: true,
    images: { min: images[0], max: images[1], roles: ['first_frame', 'last_frame', 'reference'] },
    price: price(perSecond),
  };
}

const FIVE = { values: [5], default: 5 };
const ONE_TO_TEN = { min: 1, max: 10, default: 5 };
const ONE_TO_SIXTEEN = { min: 1, max: 16, default: 5 };

/** What each model can do (platform.vidu.com/docs, tables of models), and what it costs here at first. */
export const VIDU_MODELS: readonly ModelCapability[] = [
  toCapability('viduq3-pro', ONE_TO_SIXTEEN, [0, 2], 60_000, { audio: true }),
  toCapability('viduq3-turbo', ONE_TO_SIXTEEN, [0, 7], 40_000, { audio: true }),
  toCapability('viduq3', { min: 3, max: 16, default: 5 }, [3, 7], 50_000, { audio: true }),
  toCapability('viduq2', ONE_TO_TEN, [0, 7], 30_000),
  toCapability('viduq2-pro', ONE_TO_TEN, [1, 7], 40_000),
  toCapability('viduq2-turbo', ONE_TO_TEN, [1, 2], 25_000),
  toCapability('viduq1', FIVE, [0, 7], 25_000, { resolutions: ['1080p'] }),
  toCapability('viduq1-classic', FIVE, [1, 2], 25_000, { resolutions: ['1080p'] }),
  toCapability('vidu2.0', { values: [4, 8], default: 4 }, [1, 7], 15_000, { resolutions: ['360p', '720p', '1080p'] }),
];
