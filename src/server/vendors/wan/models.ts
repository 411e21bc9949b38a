import {
  edit,
  extend,
  FROM_TEXT,
  fromBothFrames,
  fromFirstFrame,
  type GenerationWay,
  generate,
  one,
  range,
  some,
  upTo,
  waysOf,
} from '../../../contract/generation-ways.ts';
import type { VideoPrice } from '../../../contract/pricing.ts';
import { cny, type ModelCapability, type PriceSource, undatedModel } from '../adapter.ts';

/** Alibaba Cloud Model Studio lists prices per second of output by resolution, in yuan. */

type Rates = Readonly<Record<string, number>>;

const bySecond = (rates: Rates): VideoPrice => ({
  lines: Object.entries(rates).map(([resolution, yuan]) => ({
    when: { resolution: [resolution] },
    per_second: cny(yuan),
  })),
});

/** Seconds of the input cost the same as those of the result. */
const withInput = (rates: Rates): VideoPrice => ({
  lines: Object.entries(rates).map(([resolution, yuan]) => ({
    when: { resolution: [resolution] },
    per_second: cny(yuan),
    per_input_second: cny(yuan),
  })),
  settle_by: 'vendor',
});

/** Like `withInput`, for models that also work without a video. */
const withReferences = ({ lines = [] }: VideoPrice): VideoPrice => ({
  lines: [
    ...lines.map(({ when, per_second = 0 }) => ({
      when: { ...when, input_video: ['true'] },
      per_second,
      per_input_second: per_second,
    })),
    ...lines,
  ],
  settle_by: 'vendor',
});

/** Prices of models whose audio can be switched off, which costs less. */
const withSwitch = (sound: Rates, silent: Rates): VideoPrice => ({
  lines: [
    ...Object.entries(silent).map(([resolution, yuan]) => ({
      when: { resolution: [resolution], audio: [false] },
      per_second: cny(yuan),
    })),
    ...(bySecond(sound).lines ?? []),
  ],
});

const HD_PRICES = { '720P': 0.6, '1080P': 1 };
const SD_TO_HD = { '480P': 0.3, ...HD_PRICES };
const FLASH = { '480P': 0.1, '720P': 0.2, '1080P': 0.48 };
const PLUS = { '480P': 0.14, '1080P': 0.7 };
const HORSE_1_1 = { '480P': 0.45, '720P': 0.9, '1080P': 1.2 };
const HORSE_1_0 = { '720P': 0.9, '1080P': 1.6 };

const RATES: Readonly<Record<string, Rates>> = {
  'wan2.6-t2v': HD_PRICES,
  'wan2.5-t2v-preview': SD_TO_HD,
  'wan2.2-t2v-plus': PLUS,
  'wanx2.1-t2v-turbo': { '480P': 0.24, '720P': 0.24 },
  'wanx2.1-t2v-plus': { '720P': 0.7 },
  'wan2.6-i2v': HD_PRICES,
  'wan2.5-i2v-preview': SD_TO_HD,
  'wan2.2-i2v-flash': FLASH,
  'wan2.2-i2v-plus': PLUS,
  'wanx2.1-i2v-turbo': { '480P': 0.24, '720P': 0.24 },
  'wanx2.1-i2v-plus': { '720P': 0.7 },
  'wan2.2-kf2v-flash': FLASH,
  'wanx2.1-kf2v-plus': { '720P': 0.7 },
  'wan2.6-r2v': HD_PRICES,
  'wan2.7-t2v': HD_PRICES,
  'wan2.7-i2v': HD_PRICES,
  'wan2.7-r2v': HD_PRICES,
  'wan2.7-videoedit': HD_PRICES,
  'wan3.0-video': { '480P': 0.3, '720P': 0.6, '1080P': 1.2 },
  'wan3.0-video-prime': { '480P': 0.63, '720P': 1.26, '1080P': 2.52 },
  'happyhorse-1.1-t2v': HORSE_1_1,
  'happyhorse-1.1-i2v': HORSE_1_1,
  'happyhorse-1.1-r2v': HORSE_1_1,
  'happyhorse-1.0-t2v': HORSE_1_0,
  'happyhorse-1.0-i2v': HORSE_1_0,
  'happyhorse-1.0-r2v': HORSE_1_0,
};

/**
 * Models that take videos to refer to or to extend, whose seconds are billed like those of the result
 * (docs.laozhang.ai/ja/api-capabilities/wan-video-generation; github.com/Comfy-Org/ComfyUI, `nodes_wan.py`).
 */
const BILLS_REFERENCES = /^wan(?:2\.(?:6-r2v|7-r2v|7-i2v)|3)/;

/** Most seconds of such videos that are billed, all together; those of Wan 3 may be no longer. */
export const maxBilledSeconds = (model: string): number => (/^wan[3-9]/.test(model) ? MAX_CLIP_SECONDS : 5);

const FLASH_2_6 = withSwitch({ '720P': 0.3, '1080P': 0.5 }, { '720P': 0.15, '1080P': 0.25 });

function wanPrice(id: string): VideoPrice {
  if (id === 'wan2.6-i2v-flash') return FLASH_2_6;
  if (id === 'wan2.6-r2v-flash') return withReferences(FLASH_2_6);
  const rates = RATES[id];
  if (rates === undefined) throw new Error(`no price of ${id}`);
  if (id === 'wan2.7-videoedit') return withInput(rates);
  return BILLS_REFERENCES.test(id) ? withReferences(bySecond(rates)) : bySecond(rates);
}

const PAGE = 'https://help.aliyun.com/zh/model-studio/model-pricing';
const ARCREEL = 'Quoted by github.com/ArcReel/ArcReel (lib/config/registry.py, docs/research).';

function wanPriceSource(id: string): PriceSource {
  if (id === 'wan2.7-videoedit')
    return {
      source: PAGE,
      confirmedOn: '2026-10-12',
      note: 'The rates of the series by two clients; that seconds of the input count is said by docs.evolink.ai.',
    };
  if (id === 'wan3.0-video-prime')
    return { source: PAGE, confirmedOn: null, note: '2.1 times the rates of wan3.0-video, as docs.apiyi.com says.' };
  if (id === 'wan2.6-r2v-flash')
    return { source: PAGE, confirmedOn: null, note: 'As wan2.6-i2v-flash; a public price table of a client agrees.' };
  if (/^(wan2\.7|wan3|happyhorse)/.test(id)) return { source: PAGE, confirmedOn: '2026-08-22', note: ARCREEL };
  if (/^wan2\.[25]/.test(id))
    return { source: PAGE, confirmedOn: '2026-11-22', note: 'Quoted by docs.crazyrouter.com/video/wan.' };
  return {
    source: PAGE,
    confirmedOn: null,
    note: 'From the list of 2025 and early 2026; no copy with this model was found.',
  };
}

/**
 * The request format of a model line (Alibaba Cloud Model Studio, video generation).
 * - `words`: an exact size, no image; `image`: `img_url` and a resolution; `frames`: first and last frame, a path of
 *   its own; `references`: `reference_urls` and an exact size
 * - `media-…`: from wan2.7 on, images in a `media` list, a resolution and a ratio; `media-edit`: that list starts with
 *   the video to be edited
 */
export type RequestKind =
  | 'words'
  | 'image'
  | 'frames'
  | 'references'
  | 'media-words'
  | 'media-image'
  | 'media-references'
  | 'media-edit'
  | 'media-all';

/** A model line: its request format and options. */
export interface ModelLine {
  readonly kind: RequestKind;
  /** Size classes offered, the default first. */
  readonly classes: readonly string[];
  readonly seconds: ModelCapability['seconds'];
  readonly audio: boolean;
  /** Number of images, where it differs from the others of its kind. */
  readonly images?: readonly [min: number, max: number];
  /** Whether `parameters.audio` switches the audio off, which lowers the price. */
  readonly audioSwitch?: boolean;
}

const FIVE = { values: [5], default: 5 };
const FIVE_OR_TEN = { values: [5, 10], default: 5 };
const LONG = { min: 2, max: 15, default: 5 };
const HORSE = { min: 3, max: 15, default: 5 };
/** The longest video that can be edited ("Wan2.7 - video editing": 2 to 10 seconds). */
export const MAX_EDITED_SECONDS = 10;
/** Longest reference videos of Wan 3, all together. */
const MAX_CLIP_SECONDS = 15;
const HD = ['1080P', '720P'];
const ALL = ['1080P', '720P', '480P'];

const modelLine = (
  kind: RequestKind,
  classes: readonly string[],
  seconds: ModelLine['seconds'],
  audio = false,
): ModelLine => ({
  kind,
  classes,
  seconds,
  audio,
});

/** Outside mainland China the models of 2.1 are called `wan2.1-…`. */
const MODEL_LINES: Readonly<Record<string, ModelLine>> = {
  'wan2.6-t2v': modelLine('words', HD, LONG, true),
  'wan2.5-t2v-preview': modelLine('words', ALL, FIVE_OR_TEN, true),
  'wan2.2-t2v-plus': modelLine('words', ['1080P', '480P'], FIVE),
  'wanx2.1-t2v-turbo': modelLine('words', ['720P', '480P'], FIVE),
  'wanx2.1-t2v-plus': modelLine('words', ['720P'], FIVE),
  'wan2.6-i2v': modelLine('image', HD, LONG, true),
  'wan2.6-i2v-flash': { ...modelLine('image', HD, LONG, true), audioSwitch: true },
  'wan2.5-i2v-preview': modelLine('image', ALL, FIVE_OR_TEN, true),
  'wan2.2-i2v-flash': modelLine('image', ['720P', '480P'], FIVE),
  'wan2.2-i2v-plus': modelLine('image', ['1080P', '480P'], FIVE),
  'wanx2.1-i2v-turbo': modelLine('image', ['720P', '480P'], { values: [3, 4, 5], default: 5 }),
  'wanx2.1-i2v-plus': modelLine('image', ['720P'], FIVE),
  'wan2.2-kf2v-flash': modelLine('frames', ['720P', '1080P', '480P'], FIVE),
  'wanx2.1-kf2v-plus': modelLine('frames', ['720P'], FIVE),
  'wan2.6-r2v': modelLine('references', HD, LONG, true),
  'wan2.6-r2v-flash': { ...modelLine('references', HD, LONG, true), audioSwitch: true },
  'wan2.7-t2v': modelLine('media-words', HD, LONG, true),
  'wan2.7-i2v': modelLine('media-image', HD, LONG, true),
  'wan2.7-r2v': modelLine('media-references', HD, LONG, true),
  'wan2.7-videoedit': modelLine(
    'media-edit',
    HD,
    { min: 2, max: MAX_EDITED_SECONDS, default: MAX_EDITED_SECONDS },
    true,
  ),
  'happyhorse-1.1-t2v': modelLine('media-words', ALL, HORSE, true),
  'happyhorse-1.1-i2v': { ...modelLine('media-image', ALL, HORSE, true), images: [1, 1] },
  'happyhorse-1.1-r2v': { ...modelLine('media-references', ALL, HORSE, true), images: [1, 9] },
  'happyhorse-1.0-t2v': modelLine('media-words', HD, HORSE, true),
  'happyhorse-1.0-i2v': { ...modelLine('media-image', HD, HORSE, true), images: [1, 1] },
  'happyhorse-1.0-r2v': { ...modelLine('media-references', HD, HORSE, true), images: [1, 9] },
  'wan3.0-video': { ...modelLine('media-all', ALL, { min: 2, max: 30, default: 5 }, true), audioSwitch: true },
  'wan3.0-video-prime': { ...modelLine('media-all', ALL, { min: 2, max: 30, default: 5 }, true), audioSwitch: true },
};

/** The line of a model; undefined for unknown names. */
export function modelLineOf(model: string): ModelLine | undefined {
  const name = undatedModel(model.replace(/^wan2\.1-/, 'wanx2.1-'));
  return Object.hasOwn(MODEL_LINES, name) ? MODEL_LINES[name] : undefined;
}

/** The request format of a model, derived from its name if it is not in the table. */
export function requestKindOf(model: string): RequestKind {
  const known = modelLineOf(model);
  if (known) return known.kind;
  const isMedia = /wan(2\.[7-9]|[3-9])/.test(model);
  if (/kf2v/.test(model)) return 'frames';
  if (isMedia && /video-?edit/.test(model)) return 'media-edit';
  if (/r2v/.test(model)) return isMedia ? 'media-references' : 'references';
  if (/i2v/.test(model)) return isMedia ? 'media-image' : 'image';
  if (/t2v/.test(model)) return isMedia ? 'media-words' : 'words';
  return isMedia ? 'media-all' : 'image';
}

/** Minimum and maximum number of images of each format. */
export const IMAGE_COUNTS: Readonly<Record<RequestKind, readonly [min: number, max: number]>> = {
  words: [0, 0],
  image: [1, 1],
  frames: [1, 2],
  references: [1, 5],
  'media-words': [0, 0],
  'media-image': [1, 2],
  'media-references': [1, 5],
  'media-edit': [0, 4],
  'media-all': [0, 10],
};

/** Exact sizes of a class in the vendor's notation; the landscape one first. */
export const SIZES: Readonly<Record<string, readonly string[]>> = {
  '480P': ['832*480', '480*832', '624*624'],
  '720P': ['1280*720', '720*1280', '960*960', '1088*832', '832*1088'],
  '1080P': ['1920*1080', '1080*1920', '1440*1440', '1632*1248', '1248*1632'],
};
const RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4'];
const HORSE_RATIOS = [...RATIOS, '4:5', '5:4', '21:9', '9:21'];

/** Aspect ratios of a model. */
export const ratiosOf = (model: string): readonly string[] => (model.startsWith('happyhorse') ? HORSE_RATIOS : RATIOS);

const CLIP = { maxBytes: 100_000_000, maxSeconds: 30 };
const SOURCE = { maxBytes: 100_000_000, maxSeconds: MAX_EDITED_SECONDS };
/** References count together, images and videos, of which there may be three. */
const MAX_REFERENCES = 5;
const MAX_CLIPS = 3;
const VOICE = upTo(1, 'audio', 'voice', { maxBytes: 15_000_000, maxSeconds: 30 });

/** The way with an audio file that drives speech. */
const withVoice = (way: GenerationWay): GenerationWay => ({ ...way, inputs: [...way.inputs, VOICE] });
const plain = (way: GenerationWay): GenerationWay => way;

const toReferenceWays = (images: number, videos: number, maxInputs: number, clip = CLIP): readonly GenerationWay[] => {
  const clips = upTo(videos, 'video', 'reference', clip);
  const fromImages = generate([some(images, 'image', 'reference'), ...(videos > 0 ? [clips] : [])], { maxInputs });
  return videos === 0
    ? [fromImages]
    : [fromImages, generate([some(videos, 'video', 'reference', clip)], { seconds: range(2, 10) })];
};

/** Ways of each request format (Alibaba Cloud Model Studio, legal sets of `input.media`). */
function toWays({ kind, images, audio, seconds }: ModelLine): readonly GenerationWay[] {
  const [, max] = images ?? IMAGE_COUNTS[kind];
  const speak = audio && images === undefined ? withVoice : plain;
  const framed = { ratios: [] };
  switch (kind) {
    case 'words':
    case 'media-words':
      return [speak(FROM_TEXT)];
    case 'image':
      return [speak(fromFirstFrame({}, framed))];
    case 'frames':
      return [fromFirstFrame({}, framed), fromBothFrames({}, framed)];
    case 'references':
      return toReferenceWays(MAX_REFERENCES, MAX_CLIPS, MAX_REFERENCES);
    case 'media-image':
      if (max === 1) return [fromFirstFrame({}, framed)];
      return [
        speak(fromFirstFrame({}, framed)),
        speak(fromBothFrames({}, framed)),
        extend([one('video', 'source', SOURCE), upTo(1, 'image', 'last_frame')], framed),
      ];
    case 'media-references':
      return images === undefined
        ? toReferenceWays(MAX_REFERENCES, MAX_CLIPS, MAX_REFERENCES)
        : toReferenceWays(max, 0, max);
    case 'media-edit':
      return [edit([one('video', 'source', SOURCE), upTo(max, 'image', 'reference')])];
    case 'media-all':
      // Audio is a reference here, and excludes frames.
      return [
        speak(FROM_TEXT),
        fromFirstFrame({}, framed),
        fromBothFrames({}, framed),
        ...toReferenceWays(max, 5, max + 5, { ...CLIP, maxSeconds: MAX_CLIP_SECONDS }).map((way) => ({
          ...way,
          seconds: secondsOf(seconds),
        })),
      ];
  }
}

/** Ways of a model by its name, which implies the format of its requests. */
export const waysOfName = (model: string): readonly GenerationWay[] =>
  toWays({ kind: requestKindOf(model), classes: [], seconds: { min: 2, max: 30, default: 5 }, audio: true });

const secondsOf = (seconds: ModelLine['seconds']): readonly number[] =>
  'values' in seconds ? seconds.values : range(seconds.min, seconds.max);

function toCapability(id: string, given: ModelLine): ModelCapability {
  const { kind, classes, seconds, audio } = given;
  const isExact = kind === 'words' || kind === 'references';
  return {
    id,
    title: id.replace(/^wanx?/, 'Wan ').replace('happyhorse-', 'HappyHorse '),
    seconds,
    sizes: isExact ? classes.flatMap((name) => SIZES[name] ?? []) : classes,
    ratios: kind === 'image' || kind === 'frames' || kind === 'media-image' ? [] : ratiosOf(id),
    resolutions: classes,
    modes: [],
    audio,
    negativePrompt: true,
    seed: true,
    ...waysOf(toWays(given)),
    price: wanPrice(id),
    listed: wanPriceSource(id),
  };
}

/** Models the vendor offers. */
export const WAN_MODELS: readonly ModelCapability[] = Object.entries(MODEL_LINES).map(([id, given]) =>
  toCapability(id, given),
);
