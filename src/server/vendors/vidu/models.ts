import {
  FROM_TEXT,
  fromBothFrames,
  fromFirstFrame,
  type GenerationWay,
  generate,
  range,
  type SortedImages,
  some,
  waysOf,
} from '../../../contract/generation-ways.ts';
import { defined } from '../../../contract/objects.ts';
import type { MediaLine, VideoPrice } from '../../../contract/pricing.ts';
import type { ModelCapability, PriceSource, RequestInput } from '../adapter.ts';
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
/** The mode of a video from references, which cost more. */
export const REFERENCE_MODE = 'reference';
const REFERENCES = { mode: [REFERENCE_MODE] };

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

/** The vendor has a separate path for each kind of video. */
export type ViduPath = 'text2video' | 'img2video' | 'start-end2video' | 'reference2video';

/** A first frame is animated, and a last frame needs a first one. */
export function pathOf({ first, last, references }: SortedImages<RequestInput>): ViduPath {
  if (references.length > 0) return 'reference2video';
  if (last !== undefined) return 'start-end2video';
  return first === undefined ? 'text2video' : 'img2video';
}

const MAX_REFERENCES = 7;
/** Ways of each path. A frame determines the ratio, and the vendor then accepts none. */
export const VIDU_WAYS: Readonly<Record<ViduPath, GenerationWay>> = {
  text2video: FROM_TEXT,
  img2video: fromFirstFrame({}, { ratios: [] }),
  'start-end2video': fromBothFrames({}, { ratios: [] }),
  reference2video: generate([some(MAX_REFERENCES, 'image', 'reference')]),
};

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

/** Aspect ratios of all models. */
export const VIDU_RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4'];
const COMMON_RESOLUTIONS = ['540p', '720p', '1080p'];

function toCapability(
  id: string,
  seconds: ModelCapability['seconds'],
  also: {
    readonly resolutions?: readonly string[];
    readonly audio?: boolean;
    /** What a path offers, where less than the model does. */
    readonly offers?: Partial<Record<ViduPath, readonly Pick<GenerationWay, 'seconds' | 'resolutions'>[]>>;
  } = {},
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
    ...waysOf(
      (PATHS[id] ?? []).flatMap((path) =>
        (also.offers?.[path] ?? [{}]).map((offer) => ({ ...VIDU_WAYS[path], ...offer })),
      ),
    ),
    price: VIDU_PRICES[id] ?? {},
    listed: viduPriceSource(id),
  };
}

/** Videos between two frames are at most eight seconds long. */
const Q2_FRAMES = { 'start-end2video': [{ seconds: range(1, 8) }] };
/** Eight seconds are only offered at 720p. */
const VIDU_2_FRAMES = [{ seconds: [4] }, { seconds: [8], resolutions: ['720p'] }];
const FIVE = { values: [5], default: 5 };
const ONE_TO_TEN = { min: 1, max: 10, default: 5 };
const ONE_TO_SIXTEEN = { min: 1, max: 16, default: 5 };

/** Capabilities of each model (platform.vidu.com/docs, tables of models). */
export const VIDU_MODELS: readonly ModelCapability[] = [
  toCapability('viduq3-pro', ONE_TO_SIXTEEN, { audio: true }),
  toCapability('viduq3-turbo', ONE_TO_SIXTEEN, {
    audio: true,
    offers: { reference2video: [{ seconds: range(3, 16) }] },
  }),
  toCapability('viduq3-pro-fast', ONE_TO_SIXTEEN, { resolutions: ['720p', '1080p'], audio: true }),
  toCapability('viduq3-mix', { min: 3, max: 16, default: 5 }, { resolutions: ['720p', '1080p'], audio: true }),
  toCapability('viduq3', { min: 3, max: 16, default: 5 }, { audio: true }),
  toCapability('viduq2', ONE_TO_TEN),
  toCapability('viduq2-pro', ONE_TO_TEN, { offers: Q2_FRAMES }),
  toCapability('viduq2-pro-fast', ONE_TO_TEN, { resolutions: ['720p', '1080p'], offers: Q2_FRAMES }),
  toCapability('viduq2-turbo', ONE_TO_TEN, { offers: Q2_FRAMES }),
  toCapability('viduq1', FIVE, { resolutions: ['1080p'] }),
  toCapability('viduq1-classic', FIVE, { resolutions: ['1080p'] }),
  toCapability(
    'vidu2.0',
    { values: [4, 8], default: 4 },
    {
      resolutions: ['360p', '720p', '1080p'],
      offers: {
        img2video: VIDU_2_FRAMES,
        'start-end2video': VIDU_2_FRAMES,
        reference2video: [{ seconds: [4], resolutions: ['360p', '720p'] }],
      },
    },
  ),
];

/** Whether a path serves a model; models this list does not know are tried on every path. */
export const hasPath = (model: string, path: ViduPath): boolean => ownEntry(PATHS, model)?.includes(path) ?? true;
