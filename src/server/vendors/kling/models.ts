import {
  edit,
  FROM_TEXT,
  fromBothFrames,
  fromFirstFrame,
  generate,
  one,
  some,
  upTo,
  waysOf,
} from '../../../contract/generation-ways.ts';
import { defined } from '../../../contract/objects.ts';
import type { MediaLine, VideoPrice } from '../../../contract/pricing.ts';
import { type ModelCapability, type PriceSource, usd } from '../adapter.ts';

/**
 * Kling sells units and reports how many each video used, so its own count is charged. A price here is in units per
 * second by mode, without and with audio; the vendor's prices for five and for ten seconds are equal per second.
 */
const QUOTA_PER_UNIT = usd(0.14);

interface UnitRate {
  readonly silent: number;
  readonly sound?: number;
}

const unitLine = (when: NonNullable<MediaLine['when']>, unitsPerSecond: number): MediaLine =>
  defined({
    when: Object.keys(when).length === 0 ? undefined : when,
    per_unit: QUOTA_PER_UNIT,
    max_units_per_second: unitsPerSecond,
  });

/** @param rates by mode; `other` is every mode */
const byMode = (rates: Readonly<Record<string, UnitRate>>, videoInput: readonly MediaLine[] = []): VideoPrice => ({
  lines: [
    ...videoInput,
    ...Object.entries(rates).flatMap(([mode, { silent, sound }]) => {
      const when: NonNullable<MediaLine['when']> = mode === 'other' ? {} : { mode: [mode] };
      const withSound = sound === undefined ? [] : [unitLine({ ...when, audio: [true] }, sound)];
      return [...withSound, unitLine(when, silent)];
    }),
  ],
  settle_by: 'vendor',
});

const STD_PRO_MODES = (std: number, pro: number) => byMode({ std: { silent: std }, pro: { silent: pro } });
/** A video among the inputs costs more, and then audio is free. */
const VIDEO_INPUT = [
  unitLine({ input_video: [true], mode: ['std'] }, 0.9),
  unitLine({ input_video: [true], mode: ['pro'] }, 1.2),
];

const KLING_PRICES: Readonly<Record<string, VideoPrice>> = {
  'kling-v1': STD_PRO_MODES(0.2, 0.7),
  'kling-v1-5': STD_PRO_MODES(0.4, 0.7),
  'kling-v1-6': STD_PRO_MODES(0.4, 0.7),
  'kling-v2-master': byMode({ other: { silent: 2 } }),
  'kling-v2-1': STD_PRO_MODES(0.4, 0.7),
  'kling-v2-1-master': byMode({ other: { silent: 2 } }),
  'kling-v2-5-turbo': STD_PRO_MODES(0.3, 0.5),
  'kling-v2-6': byMode({ std: { silent: 0.3 }, pro: { silent: 0.5, sound: 1 } }),
  'kling-v3': byMode({
    std: { silent: 0.6, sound: 0.9 },
    pro: { silent: 0.8, sound: 1.2 },
    '4k': { silent: 3 },
  }),
  'kling-v3-turbo': STD_PRO_MODES(0.8, 1),
  'kling-v3-omni': byMode(
    { std: { silent: 0.6, sound: 0.8 }, pro: { silent: 0.8, sound: 1 }, '4k': { silent: 3 } },
    VIDEO_INPUT,
  ),
  'kling-video-o1': byMode({ std: { silent: 0.6 }, pro: { silent: 0.8 } }, VIDEO_INPUT),
};

/** Models on the page "Video" of the vendor's price list; it no longer has older ones. */
const LISTED: ReadonlySet<string> = new Set([
  'kling-v2-5-turbo',
  'kling-v2-6',
  'kling-v3',
  'kling-v3-turbo',
  'kling-v3-omni',
  'kling-video-o1',
]);

const klingPriceSource = (id: string): PriceSource =>
  LISTED.has(id)
    ? {
        source: 'https://kling.ai/document-api/pricing/base/video',
        confirmedOn: '2026-09-20',
        note: 'Copied by github.com/aself101/kling-api; docs.comfy.org/tutorials/partner-nodes/pricing agrees.',
      }
    : {
        source: 'https://app.klingai.com/global/dev/document-api/productBilling/prePaidResourcePackage',
        confirmedOn: null,
        note: 'From the list of 2025. The list of September 2026 does not have this model any more.',
      };

const COMMON = {
  sizes: ['1280x720', '720x1280', '1024x1024'],
  ratios: ['16:9', '9:16', '1:1'],
  resolutions: [],
  negativePrompt: true,
  seed: false,
} as const;

const FIVE_OR_TEN = { values: [5, 10], default: 5 } as const;
const STD_PRO = ['std', 'pro'];
/** The vendor's limit of an image, bytes. */
export const MAX_IMAGE_BYTES = 10_000_000;
const IMAGE = { maxBytes: MAX_IMAGE_BYTES };
const FRAMES = waysOf([fromFirstFrame(IMAGE), fromBothFrames(IMAGE)]);
/** Ways of every model of the older endpoints, from text and from frames. */
export const TEXT_OR_FRAMES = waysOf([FROM_TEXT, ...FRAMES.ways]);
const TEXT_OR_FRAME = waysOf([FROM_TEXT, fromFirstFrame(IMAGE)]);
const THREE_TO_FIFTEEN = { min: 3, max: 15, default: 5 } as const;
const CLIP = { maxBytes: 200_000_000, maxSeconds: 10 };
const MAX_OMNI_IMAGES = 7;
const MAX_IMAGES_BESIDE_VIDEO = 4;
/**
 * The omni endpoint (kling.ai/document-api, "Omni-Video"): a video to edit excludes frames and takes its own length, and
 * beside a video only four images are taken.
 */
const OMNI = waysOf([
  FROM_TEXT,
  fromBothFrames(IMAGE),
  generate([one('image', 'first_frame', IMAGE), upTo(MAX_OMNI_IMAGES - 1, 'image', 'reference', IMAGE)]),
  generate([some(MAX_OMNI_IMAGES, 'image', 'reference', IMAGE)]),
  generate([one('video', 'reference', CLIP), upTo(MAX_IMAGES_BESIDE_VIDEO, 'image', 'reference', IMAGE)]),
  generate([
    one('video', 'reference', CLIP),
    one('image', 'first_frame', IMAGE),
    upTo(MAX_IMAGES_BESIDE_VIDEO - 1, 'image', 'reference', IMAGE),
  ]),
  generate([one('video', 'reference', CLIP), one('image', 'first_frame', IMAGE), one('image', 'last_frame', IMAGE)]),
  edit([one('video', 'source', CLIP), upTo(MAX_IMAGES_BESIDE_VIDEO, 'image', 'reference', IMAGE)], {
    seconds: [],
    sizes: [],
    ratios: [],
  }),
]);

const toCapability = (
  id: string,
  title: string,
  rest: Pick<ModelCapability, 'modes' | 'images' | 'ways'> &
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

/** The vendor's capability map; each call generates one video. */
export const KLING_MODELS: readonly ModelCapability[] = [
  toCapability('kling-v1', 'Kling 1.0', { modes: STD_PRO, ...TEXT_OR_FRAMES }),
  toCapability('kling-v1-5', 'Kling 1.5', { modes: STD_PRO, ...FRAMES }),
  toCapability('kling-v1-6', 'Kling 1.6', { modes: STD_PRO, ...TEXT_OR_FRAMES }),
  toCapability('kling-v2-master', 'Kling 2.0 Master', { modes: [], ...TEXT_OR_FRAME }),
  toCapability('kling-v2-1', 'Kling 2.1', { modes: STD_PRO, ...FRAMES }),
  toCapability('kling-v2-1-master', 'Kling 2.1 Master', { modes: [], ...TEXT_OR_FRAME }),
  toCapability('kling-v2-5-turbo', 'Kling 2.5 Turbo', {
    modes: STD_PRO,
    ...TEXT_OR_FRAMES,
  }),
  toCapability('kling-v2-6', 'Kling 2.6', {
    modes: STD_PRO,
    audio: true,
    ...TEXT_OR_FRAMES,
  }),
  toCapability('kling-v3', 'Kling 3.0', {
    seconds: THREE_TO_FIFTEEN,
    modes: [...STD_PRO, '4k'],
    audio: true,
    ...TEXT_OR_FRAMES,
  }),
  toCapability('kling-v3-turbo', 'Kling 3.0 Turbo', {
    seconds: THREE_TO_FIFTEEN,
    modes: STD_PRO,
    audio: true,
    negativePrompt: false,
    // An image determines the ratio.
    ...waysOf([FROM_TEXT, fromFirstFrame(IMAGE, { sizes: [], ratios: [] })]),
  }),
  toCapability('kling-v3-omni', 'Kling 3.0 Omni', {
    seconds: THREE_TO_FIFTEEN,
    modes: [...STD_PRO, '4k'],
    audio: true,
    ...OMNI,
  }),
  toCapability('kling-video-o1', 'Kling O1', {
    seconds: { min: 3, max: 10, default: 5 },
    modes: STD_PRO,
    ...OMNI,
  }),
];

/** Models of the omni endpoint, which accepts frames, references, videos and elements in lists. */
export const OMNI_MODELS: ReadonlySet<string> = new Set(['kling-v3-omni', 'kling-video-o1']);

/** Models that generate 4k videos, in a mode of their own. */
export const MODES_4K: ReadonlySet<string> = new Set(['kling-v3', 'kling-v3-omni']);

/** Models that generate audio in mode `pro` only. */
export const SOUND_NEEDS_PRO: ReadonlySet<string> = new Set(['kling-v2-6']);
