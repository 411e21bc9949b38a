import type { ModelCapability } from '../adapter-types.ts';
import { ownEntry } from '../untrusted-json.ts';
import { VIDU_PRICES, viduPriceSource } from './prices.ts';

export const VIDU_RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4'];
const COMMON_RESOLUTIONS = ['540p', '720p', '1080p'];

function toCapability(
  id: string,
  seconds: ModelCapability['seconds'],
  images: readonly [min: number, max: number],
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
    price: VIDU_PRICES[id] ?? {},
    listed: viduPriceSource(id),
  };
}

const FIVE = { values: [5], default: 5 };
const ONE_TO_TEN = { min: 1, max: 10, default: 5 };
const ONE_TO_SIXTEEN = { min: 1, max: 16, default: 5 };

/** What each model can do (platform.vidu.com/docs, tables of models). */
export const VIDU_MODELS: readonly ModelCapability[] = [
  toCapability('viduq3-pro', ONE_TO_SIXTEEN, [0, 2], { audio: true }),
  toCapability('viduq3-turbo', ONE_TO_SIXTEEN, [0, 7], { audio: true }),
  toCapability('viduq3-pro-fast', ONE_TO_SIXTEEN, [1, 1], { resolutions: ['720p', '1080p'], audio: true }),
  toCapability('viduq3-mix', { min: 3, max: 16, default: 5 }, [3, 7], { resolutions: ['720p', '1080p'], audio: true }),
  toCapability('viduq3', { min: 3, max: 16, default: 5 }, [3, 7], { audio: true }),
  toCapability('viduq2', ONE_TO_TEN, [0, 7]),
  toCapability('viduq2-pro', ONE_TO_TEN, [1, 7]),
  toCapability('viduq2-pro-fast', ONE_TO_TEN, [1, 2], { resolutions: ['720p', '1080p'] }),
  toCapability('viduq2-turbo', ONE_TO_TEN, [1, 2]),
  toCapability('viduq1', FIVE, [0, 7], { resolutions: ['1080p'] }),
  toCapability('viduq1-classic', FIVE, [1, 2], { resolutions: ['1080p'] }),
  toCapability('vidu2.0', { values: [4, 8], default: 4 }, [1, 7], { resolutions: ['360p', '720p', '1080p'] }),
];

/** The vendor has a path of its own for each kind of video. */
export type ViduPath = 'text2video' | 'img2video' | 'start-end2video' | 'reference2video';

const PATH_BY_IMAGES: readonly ViduPath[] = ['text2video', 'img2video', 'start-end2video'];

/** One picture is animated, two are the first and the last frame, three or more are references. */
export const pathOf = (imageCount: number): ViduPath => PATH_BY_IMAGES[imageCount] ?? 'reference2video';

const FRAMES: readonly ViduPath[] = ['img2video', 'start-end2video'];
/** The same tables. Where a path does not have a model, the vendor answers as if the account had none: `ModelUnavailable`. */
const PATHS: Readonly<Record<string, readonly ViduPath[]>> = {
  'viduq3-pro': ['text2video', ...FRAMES],
  'viduq3-turbo': ['text2video', ...FRAMES, 'reference2video'],
  'viduq3-pro-fast': ['img2video'],
  'viduq3-mix': ['reference2video'],
  viduq3: ['reference2video'],
  viduq2: ['text2video', 'reference2video'],
  'viduq2-pro': [...FRAMES, 'reference2video'],
  'viduq2-pro-fast': FRAMES,
  'viduq2-turbo': FRAMES,
  viduq1: ['text2video', ...FRAMES, 'reference2video'],
  'viduq1-classic': FRAMES,
  'vidu2.0': [...FRAMES, 'reference2video'],
};

/** Models this list does not know are asked for everywhere. */
export const hasPath = (model: string, path: ViduPath): boolean => ownEntry(PATHS, model)?.includes(path) ?? true;
