import {
  edit,
  FROM_TEXT,
  fromBothFrames,
  fromFirstFrame,
  type GenerationWay,
  generate,
  one,
  some,
  upTo,
  waysOf,
} from '../../../contract/generation-ways.ts';
import type { MediaLine, VideoPrice } from '../../../contract/pricing.ts';
import { type ModelCapability, type PriceSource, usd } from '../adapter.ts';

/** MiniMax lists prices of whole videos by resolution and length; only the H3 models are billed by the second. */

type Videos = readonly (readonly [resolution: string, seconds: number, dollars: number])[];

const videos = (list: Videos): VideoPrice => ({
  lines: list.map(([resolution, seconds, dollars]) => ({
    when: { resolution: [resolution], seconds: [seconds] },
    per_call: usd(dollars),
  })),
});

const HD: Videos = [
  ['768P', 6, 0.28],
  ['768P', 10, 0.56],
  ['1080P', 6, 0.49],
];
const FIRST_SERIES = { lines: [{ per_call: usd(0.43) }] };

/** Five images are included; each further one costs extra. */
const INCLUDED_IMAGES = 5;
const MAX_IMAGES = 9;
const H3_RATES: Readonly<Record<string, number>> = { '768P': usd(0.08), '2K': usd(0.13) };
const h3Lines: readonly MediaLine[] = Object.entries(H3_RATES).flatMap(([resolution, perSecond]) => [
  ...Array.from({ length: MAX_IMAGES - INCLUDED_IMAGES }, (_, index) => ({
    when: { resolution: [resolution], input_images: [INCLUDED_IMAGES + index + 1] },
    per_second: perSecond,
    per_call: (index + 1) * usd(0.04),
  })),
  { when: { resolution: [resolution] }, per_second: perSecond },
]);

const HAILUO_PRICES: Readonly<Record<string, VideoPrice>> = {
  'MiniMax-Hailuo-2.3': videos(HD),
  'MiniMax-Hailuo-2.3-Fast': videos([
    ['768P', 6, 0.19],
    ['768P', 10, 0.32],
    ['1080P', 6, 0.33],
  ]),
  'MiniMax-Hailuo-02': videos([...HD, ['512P', 6, 0.1], ['512P', 10, 0.15]]),
  'T2V-01': FIRST_SERIES,
  'T2V-01-Director': FIRST_SERIES,
  'I2V-01': FIRST_SERIES,
  'I2V-01-Director': FIRST_SERIES,
  'I2V-01-live': FIRST_SERIES,
  'S2V-01': { lines: [{ per_call: usd(0.65) }] },
  'MiniMax-H3': { lines: [...h3Lines], settle_by: 'vendor' },
  // Its images are free.
  'MiniMax-H3-Max': {
    lines: [
      { when: { resolution: ['480P'] }, per_second: usd(0.05) },
      { when: { resolution: ['768P'] }, per_second: usd(0.08) },
    ],
  },
};

const PAGE = 'https://platform.minimax.io/docs/guides/pricing-paygo';
const COMFY = 'Quoted by docs.comfy.org/tutorials/partner-nodes/pricing';
const NOTES: Readonly<Record<string, readonly [confirmedOn: string | null, note: string]>> = {
  'MiniMax-H3': ['2026-10-24', 'Quoted by docs.laozhang.ai/en/announcements/minimax-h3-2026-10.'],
  'MiniMax-H3-Max': [
    '2026-09-13',
    'Quoted by three clients in September 2026; the list in yuan (0.33 and 0.50) was quoted on 10 September.',
  ],
  'MiniMax-Hailuo-2.3': ['2026-05-25', 'Six and ten seconds quoted by eachlabs.ai; 1080P as Hailuo-02.'],
  'MiniMax-Hailuo-2.3-Fast': [
    '2026-08-22',
    'Compared with the list in yuan (1.35, 2.25 and 2.31), quoted by github.com/ArcReel/ArcReel.',
  ],
  'MiniMax-Hailuo-02': ['2026-08-21', `${COMFY}; 512P is older and unconfirmed.`],
  'S2V-01': [null, 'From the list of 2025; no later copy was found.'],
};

const hailuoPriceSource = (id: string): PriceSource => {
  const [confirmedOn, note] = NOTES[id] ?? ['2026-08-21', `${COMFY}.`];
  return { source: PAGE, confirmedOn, note };
};

/**
 * Seconds offered for each resolution, per mode; the first of each is the vendor's default. A missing mode is not
 * supported by the model. `subject` is an image of a face to reproduce, not a frame.
 */
interface GenerationModes {
  readonly text?: DurationsByResolution;
  readonly first?: DurationsByResolution;
  readonly last?: DurationsByResolution;
  readonly subject?: DurationsByResolution;
}
/** One of the vendor's generation modes. */
export type GenerationMode = keyof GenerationModes;
/** Seconds offered, by resolution. */
export type DurationsByResolution = Readonly<Record<string, readonly number[]>>;

const HD_DURATIONS: DurationsByResolution = { '768P': [6, 10], '1080P': [6] };
const LEGACY_DURATIONS: DurationsByResolution = { '720P': [6] };

/** MiniMax "Video Generation", models and limits, per mode. */
export const MODES_BY_MODEL: Readonly<Record<string, GenerationModes>> = {
  'MiniMax-Hailuo-2.3': { text: HD_DURATIONS, first: HD_DURATIONS },
  'MiniMax-Hailuo-2.3-Fast': { first: HD_DURATIONS },
  'MiniMax-Hailuo-02': {
    text: HD_DURATIONS,
    first: { '768P': [6, 10], '512P': [6, 10], '1080P': [6] },
    last: HD_DURATIONS,
  },
  'T2V-01': { text: LEGACY_DURATIONS },
  'T2V-01-Director': { text: LEGACY_DURATIONS },
  'I2V-01': { first: LEGACY_DURATIONS },
  'I2V-01-Director': { first: LEGACY_DURATIONS },
  'I2V-01-live': { first: LEGACY_DURATIONS },
  'S2V-01': { subject: LEGACY_DURATIONS },
};

/** An image determines the ratio. */
const BY_IMAGE = { ratios: [] } as const;
const MODE_WAYS: readonly (readonly [GenerationMode, GenerationWay])[] = [
  ['text', FROM_TEXT],
  ['first', fromFirstFrame({}, BY_IMAGE)],
  ['last', fromBothFrames({}, BY_IMAGE)],
  ['subject', generate([one('image', 'reference')], BY_IMAGE)],
];

/** Each resolution with its lengths. */
const toOffers = (durations: DurationsByResolution = {}) =>
  Object.entries(durations).map(([resolution, seconds]) => ({ resolutions: [resolution], seconds }));

function toCapability(id: string, ways: GenerationModes): ModelCapability {
  const offers = Object.values(ways) as DurationsByResolution[];
  const resolutions = [...new Set(offers.flatMap((offer) => Object.keys(offer)))];
  const seconds = [...new Set(offers.flatMap((offer) => Object.values(offer).flat()))].toSorted((a, b) => a - b);
  return {
    id,
    title: id.replace('MiniMax-', ''),
    seconds: { values: seconds, default: 6 },
    sizes: resolutions,
    ratios: [],
    resolutions,
    modes: [],
    audio: false,
    negativePrompt: false,
    seed: false,
    ...waysOf(MODE_WAYS.flatMap(([mode, way]) => toOffers(ways[mode]).map((offer) => ({ ...way, ...offer })))),
    price: HAILUO_PRICES[id] ?? {},
    listed: hailuoPriceSource(id),
  };
}

/** Limits of a model of the second protocol (platform.minimax.io/docs, "Create Video Generation Task", version 2). */
export interface H3Model {
  readonly seconds: { readonly min: number; readonly max: number; readonly default: number };
  readonly resolutions: readonly string[];
  readonly defaultResolution: string;
  /** Maximum number of reference images; the model with none takes frames only. */
  readonly references: number;
}
/** Models of the second protocol. */
export const H3_MODELS: Readonly<Record<string, H3Model>> = {
  'MiniMax-H3': {
    seconds: { min: 4, max: 15, default: 5 },
    resolutions: ['768P', '2K'],
    defaultResolution: '2K',
    references: MAX_IMAGES,
  },
  'MiniMax-H3-Max': {
    seconds: { min: 5, max: 15, default: 5 },
    resolutions: ['480P', '768P'],
    defaultResolution: '768P',
    references: 0,
  },
};
/** Aspect ratios of the H3 models. */
export const H3_RATIOS = ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'];

const H3_IMAGE = { maxBytes: 30_000_000 };
/** Largest video and audio of the second protocol. */
const H3_VIDEO = { maxBytes: 50_000_000 };
const H3_AUDIO = { maxBytes: 15_000_000 };
/** Largest ones sent by value: a body may have 64 MB in Base64. Larger videos are uploaded. */
export const H3_INLINE_BYTES = { video: 12_000_000, audio: H3_AUDIO.maxBytes };
export const H3_UPLOAD_BYTES = { video: H3_VIDEO.maxBytes };
/** Bytes by value in one request. */
export const MAX_H3_BODY_BYTES = 45_000_000;
const MAX_CLIPS = 3;
/** Frames exclude references, and audio needs an image or a video beside it. */
const H3_FRAMES = [FROM_TEXT, fromFirstFrame(H3_IMAGE), fromBothFrames(H3_IMAGE)];
const h3References = (max: number): readonly GenerationWay[] => [
  generate([
    some(max, 'image', 'reference', H3_IMAGE),
    upTo(MAX_CLIPS, 'video', 'reference', H3_VIDEO),
    upTo(MAX_CLIPS, 'audio', 'reference', H3_AUDIO),
  ]),
  generate([some(MAX_CLIPS, 'video', 'reference', H3_VIDEO), upTo(MAX_CLIPS, 'audio', 'reference', H3_AUDIO)]),
  edit([one('video', 'source', H3_VIDEO)]),
];

const toH3Capability = (id: string, { seconds, resolutions, references }: H3Model): ModelCapability => ({
  id,
  title: id.replace('MiniMax-', ''),
  seconds,
  sizes: resolutions,
  ratios: H3_RATIOS,
  resolutions,
  modes: [],
  audio: true,
  negativePrompt: false,
  seed: false,
  ...waysOf(references === 0 ? H3_FRAMES : [...H3_FRAMES, ...h3References(references)]),
  price: HAILUO_PRICES[id] ?? {},
  listed: hailuoPriceSource(id),
});

/** Models of both protocols. */
export const HAILUO_MODELS: readonly ModelCapability[] = [
  ...Object.entries(MODES_BY_MODEL).map(([id, ways]) => toCapability(id, ways)),
  ...Object.entries(H3_MODELS).map(([id, limits]) => toH3Capability(id, limits)),
];
