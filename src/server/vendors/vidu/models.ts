import { defined } from '../../../contract/objects.ts';
import type { MediaLine, VideoPrice } from '../../../contract/pricing.ts';
import type { ModelCapability, PriceSource } from '../adapter.ts';
import { usd } from '../currency.ts';
import { ownEntry } from '../untrusted-json.ts';

/** Vidu sells credits and reports how many each video used, so its own count is charged. */
const QUOTA_PER_CREDIT = usd(0.005);

/** Credits of the first second, and of each further one. */
type Credits = readonly [first: number, further: number];
type When = NonNullable<MediaLine['when']>;

const creditLine = (when: When, [first, further]: Credits): MediaLine =>
  defined({
    when: Object.keys(when).length === 0 ? undefined : when,
    per_unit: QUOTA_PER_CREDIT,
    max_units: first === further ? undefined : first - further,
    max_units_per_second: further,
  });

const byResolution = (rates: Readonly<Record<string, Credits>>, when: When = {}): readonly MediaLine[] =>
  Object.entries(rates).map(([resolution, credits]) => creditLine({ ...when, resolution: [resolution] }, credits));

const asVideoPrice = (...lines: readonly (readonly MediaLine[])[]): VideoPrice => ({
  lines: lines.flat(),
  settle_by: 'vendor',
});

const evenly = (credits: number): Credits => [credits, credits];
const fixed = (when: When, credits: number): MediaLine => ({ when, per_unit: QUOTA_PER_CREDIT, max_units: credits });
/** Three images and more are references, which cost more. */
const REFERENCES = { input_images: [3, 4, 5, 6, 7] };

const Q3_PRO = asVideoPrice(byResolution({ '540p': evenly(14), '720p': evenly(30), '1080p': evenly(32) }));
const Q3_TURBO = asVideoPrice(byResolution({ '540p': evenly(8), '720p': evenly(12), '1080p': evenly(16) }));

const VIDU_PRICES: Readonly<Record<string, VideoPrice>> = {
  'viduq3-pro': Q3_PRO,
  'viduq3-turbo': Q3_TURBO,
  'viduq3-pro-fast': Q3_TURBO,
  viduq3: Q3_PRO,
  'viduq3-mix': Q3_PRO,
  viduq2: asVideoPrice(
    byResolution({ '540p': [25, 5], '720p': [25, 5], '1080p': [75, 10] }, REFERENCES),
    byResolution({ '540p': [10, 2], '720p': [15, 5], '1080p': [20, 10] }),
  ),
  'viduq2-pro': asVideoPrice(byResolution({ '540p': [15, 10], '720p': [15, 10], '1080p': [55, 15] })),
  'viduq2-pro-fast': asVideoPrice(byResolution({ '720p': [8, 2], '1080p': [16, 4] })),
  'viduq2-turbo': asVideoPrice(
    [fixed({ resolution: ['720p'], seconds: [1] }, 8)],
    // Ten credits for the first two seconds, and ten for each further second.
    [
      {
        when: { resolution: ['720p'] },
        per_unit: QUOTA_PER_CREDIT,
        max_units_per_second: 10,
      },
    ],
    byResolution({ '540p': [6, 2], '1080p': [35, 10] }),
  ),
  viduq1: asVideoPrice([fixed({ resolution: ['1080p'] }, 80)]),
  'viduq1-classic': asVideoPrice([fixed({ resolution: ['1080p'] }, 80)]),
  'vidu2.0': asVideoPrice([
    fixed(REFERENCES, 80),
    fixed({ resolution: ['360p'] }, 20),
    fixed({ resolution: ['720p'], seconds: [8] }, 100),
    fixed({ resolution: ['720p'] }, 40),
    fixed({ resolution: ['1080p'] }, 100),
  ]),
};

const PAGE = 'https://platform.vidu.com/docs/pricing';
const COMFY = 'Quoted by docs.comfy.org/tutorials/partner-nodes/pricing; sound on references and off-peak are left out';

function viduPriceSource(id: string): PriceSource {
  if (id === 'viduq3-pro')
    return {
      source: PAGE,
      confirmedOn: '2026-08-21',
      note: `${COMFY}. 540p quoted by 302.ai/product/detail/viduq3-turbo.`,
    };
  if (id === 'vidu2.0' || id === 'viduq1-classic')
    return {
      source: PAGE,
      confirmedOn: '2026-11-22',
      note: 'Worked out from cloud.baidu.com/doc/VOD/s/dm64ry4hl at 32 credits a yuan.',
    };
  if (['viduq3', 'viduq3-mix', 'viduq3-pro-fast'].includes(id))
    return { source: PAGE, confirmedOn: null, note: 'As viduq3-pro or viduq3-turbo; no copy of the list has it.' };
  return { source: PAGE, confirmedOn: '2026-08-21', note: `${COMFY}. 540p is unconfirmed.` };
}

/** Aspect ratios of all models. */
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

/** Capabilities of each model (platform.vidu.com/docs, tables of models). */
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

/** The vendor has a separate path for each kind of video. */
export type ViduPath = 'text2video' | 'img2video' | 'start-end2video' | 'reference2video';

const PATH_BY_IMAGES: readonly ViduPath[] = ['text2video', 'img2video', 'start-end2video'];

/** One image is animated, two are the first and the last frame, three or more are references. */
export const pathOf = (imageCount: number): ViduPath => PATH_BY_IMAGES[imageCount] ?? 'reference2video';

const FRAMES: readonly ViduPath[] = ['img2video', 'start-end2video'];
/**
 * From the same tables. If a path does not serve a model, the vendor responds as if the account had none:
 * `ModelUnavailable`.
 */
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

/** Whether a path serves a model; models this list does not know are tried on every path. */
export const hasPath = (model: string, path: ViduPath): boolean => ownEntry(PATHS, model)?.includes(path) ?? true;
