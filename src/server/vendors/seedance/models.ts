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
import type { MediaLine, VideoPrice } from '../../../contract/pricing.ts';
import { cnyPerToken, type ModelCapability, type PriceSource, undatedModel, usdPerToken } from '../adapter.ts';

/**
 * Seedance is billed by tokens: width × height × frames / 1024 at 24 frames per
 * second, and the response contains their number. The reservation assumes the
 * largest frame of a resolution in any ratio, and one extra frame, which clips have.
 */
const FRAMES_PER_SECOND = 24;
/** Tokens of one frame in the largest ratio, rounded up; a 4k frame is four frames of 1080p. */
const FRAME_TOKENS: Readonly<Record<string, number>> = { '480p': 419, '720p': 940, '1080p': 2_040, '4k': 8_160 };
/** Input videos are limited to fifteen seconds in total, and their tokens count. */
const MAX_INPUT_SECONDS = 15;

/** Price per million tokens without an input video, with one, and without audio where that is cheaper. */
interface TokenRate {
  readonly plain: number;
  readonly withVideo?: number;
  readonly silent?: number;
}

const tokenLine = (
  when: NonNullable<MediaLine['when']>,
  resolution: string,
  perToken: number,
  inputSeconds: number,
): MediaLine => {
  const frame = FRAME_TOKENS[resolution] ?? 0;
  return {
    when: { ...when, resolution: [resolution] },
    per_unit: perToken,
    max_units: frame + frame * FRAMES_PER_SECOND * inputSeconds,
    max_units_per_second: frame * FRAMES_PER_SECOND,
  };
};

const byResolution = (rates: Readonly<Record<string, TokenRate>>, toQuota: (amount: number) => number): VideoPrice => ({
  lines: Object.entries(rates).flatMap(([names, { plain, withVideo, silent }]) =>
    names
      .split(' ')
      .flatMap((resolution) => [
        ...(withVideo === undefined
          ? []
          : [tokenLine({ input_video: [true] }, resolution, toQuota(withVideo), MAX_INPUT_SECONDS)]),
        ...(silent === undefined ? [] : [tokenLine({ audio: [false] }, resolution, toQuota(silent), 0)]),
        tokenLine({}, resolution, toQuota(plain), 0),
      ]),
  ),
  settle_by: 'vendor',
});

const ALL_OF_1 = '480p 720p 1080p';
/** Yuan per million tokens, Volcengine Ark. */
const ARK: Readonly<Record<string, Readonly<Record<string, TokenRate>>>> = {
  'seedance-1-0-pro': { [ALL_OF_1]: { plain: 15 } },
  'seedance-1-0-pro-fast': { [ALL_OF_1]: { plain: 4.2 } },
  'seedance-1-0-lite-t2v': { [ALL_OF_1]: { plain: 10 } },
  'seedance-1-0-lite-i2v': { [ALL_OF_1]: { plain: 10 } },
  'seedance-1-5-pro': { [ALL_OF_1]: { plain: 16, silent: 8 } },
  'seedance-2-0': {
    '480p 720p': { plain: 46, withVideo: 28 },
    '1080p': { plain: 51, withVideo: 31 },
    '4k': { plain: 26, withVideo: 16 },
  },
  'seedance-2-0-fast': { '480p 720p': { plain: 37, withVideo: 22 } },
  'seedance-2-0-mini': { '480p 720p': { plain: 23, withVideo: 14 } },
  'seedance-2-5': {
    '480p 720p': { plain: 70, withVideo: 42 },
    '1080p': { plain: 77, withVideo: 46 },
    '4k': { plain: 77, withVideo: 46 },
  },
};
/** Dollars per million tokens, BytePlus ModelArk. */
const BYTEPLUS: typeof ARK = {
  'seedance-1-0-pro': { [ALL_OF_1]: { plain: 2.5 } },
  'seedance-1-0-pro-fast': { [ALL_OF_1]: { plain: 1 } },
  'seedance-1-5-pro': { [ALL_OF_1]: { plain: 2.4, silent: 1.2 } },
  'seedance-2-0': {
    '480p 720p': { plain: 7, withVideo: 4.3 },
    '1080p': { plain: 7.7, withVideo: 4.7 },
    '4k': { plain: 4, withVideo: 2.4 },
  },
  'seedance-2-0-fast': { '480p 720p': { plain: 5.6, withVideo: 3.3 } },
  'seedance-2-0-mini': { '480p 720p': { plain: 3.5, withVideo: 2.1 } },
  'seedance-2-5': { '480p 720p': { plain: 10.7 }, '1080p': { plain: 11.7 }, '4k': { plain: 11.7 } },
  'seedance-2-5-flash': { '480p 720p': { plain: 10.7 } },
};

const isByteplusId = (id: string): boolean => !id.startsWith('doubao-');

/**
 * @param name of the family, without vendor and date
 * @throws Error if the list has no such family
 */
function seedancePrice(id: string, name: string): VideoPrice {
  const rates = (isByteplusId(id) ? BYTEPLUS : ARK)[name];
  if (rates === undefined) throw new Error(`no price of ${id}`);
  return byResolution(rates, isByteplusId(id) ? usdPerToken : cnyPerToken);
}

function seedancePriceSource(id: string): PriceSource {
  const isLatest = id.includes('2-5');
  if (isByteplusId(id))
    return {
      source: 'https://docs.byteplus.com/en/docs/ModelArk/1544106',
      confirmedOn: isLatest ? null : '2026-08-01',
      note: isLatest
        ? 'Worked out from the credits of docs.comfy.org/tutorials/partner-nodes/pricing; no copy of the list has it. 4k as 1080p, Flash as 2.5.'
        : 'Quoted, with the vendor’s examples, by a survey of both regions dated 2026-08-01.',
    };
  return {
    source: 'https://www.volcengine.com/docs/82379/1544106',
    confirmedOn: id.includes('2-') ? '2026-10-14' : '2026-08-01',
    note: id.includes('2-')
      ? '4k of 2.5 as 1080p, unconfirmed. Quoted by docs.laozhang.ai/en/announcements/seedance-pricing-2026-10. Half price of offline inference is left out.'
      : 'Quoted by a survey of both regions dated 2026-08-01. Half price of offline inference is left out.',
  };
}

/** Capabilities of a model line, for any date in its id and either of the two companies. */
export interface ModelFamily {
  readonly resolutions: readonly string[];
  /** Default resolution. */
  readonly resolution: string;
  readonly min: number;
  readonly max: number;
  /** Whether -1 seconds let the model decide. */
  readonly auto: boolean;
  /** 0 text only, 1 first frame, 2 first and last frame. */
  readonly frames: 0 | 1 | 2;
  /** Maximum number of reference images. */
  readonly references: number;
  /** Maximum number of reference videos, and of audio files. */
  readonly clips: number;
  /** Frames, edits and extensions determine the ratio; the vendor refuses any other than `adaptive` beside them. */
  readonly adaptsRatio?: boolean;
  /** Whether the request names the task, `edit` or `extend`. */
  readonly hasTasks?: boolean;
  /** Resolutions of the final video of a draft, which has 480p; the first is the default. Absent: no drafts. */
  readonly finals?: readonly string[];
  readonly audio: boolean;
}

const SD_TO_HD = ['480p', '720p', '1080p'];
const GENERATION_1 = {
  resolutions: SD_TO_HD,
  min: 2,
  max: 12,
  auto: false,
  references: 0,
  clips: 0,
  audio: false,
} as const;
const GENERATION_2 = {
  resolution: '720p',
  min: 4,
  max: 15,
  auto: true,
  frames: 2,
  references: 9,
  clips: 3,
  audio: true,
} as const;

/** Limits of the vendor's own nodes (byteplus-sa/ComfyUI-BytePlus-ModelArk, nodes/models_config.py). */
const GENERATION_2_5 = {
  ...GENERATION_2,
  max: 30,
  references: 30,
  clips: 10,
  adaptsRatio: true,
  hasTasks: true,
} as const;

/** By the id without vendor and date: `doubao-seedance-1-0-pro-250528` is `seedance-1-0-pro`. */
const FAMILIES: Readonly<Record<string, ModelFamily>> = {
  'seedance-1-0-pro': { ...GENERATION_1, resolution: '1080p', frames: 2 },
  'seedance-1-0-pro-fast': { ...GENERATION_1, resolution: '1080p', frames: 1 },
  'seedance-1-0-lite-t2v': { ...GENERATION_1, resolution: '720p', frames: 0 },
  'seedance-1-0-lite-i2v': { ...GENERATION_1, resolution: '720p', frames: 2, references: 4 },
  'seedance-1-5-pro': {
    ...GENERATION_2,
    resolutions: SD_TO_HD,
    max: 12,
    references: 0,
    clips: 0,
    finals: ['720p', '1080p'],
  },
  'seedance-2-0': { ...GENERATION_2, resolutions: [...SD_TO_HD, '4k'] },
  'seedance-2-0-fast': { ...GENERATION_2, resolutions: ['480p', '720p'] },
  'seedance-2-0-mini': { ...GENERATION_2, resolutions: ['480p', '720p'] },
  'seedance-2-5': { ...GENERATION_2_5, resolutions: [...SD_TO_HD, '4k'], finals: ['1080p'] },
  'seedance-2-5-flash': { ...GENERATION_2_5, resolutions: ['480p', '720p'] },
};

const familyName = (model: string): string => undatedModel(model.replace(/^(doubao|dreamina)-/, ''));

/**
 * The family of a model. Undefined for endpoint ids (`ep-…`) and newer models, which are only checked by the vendor.
 */
export function familyOf(model: string): ModelFamily | undefined {
  const name = familyName(model);
  return Object.hasOwn(FAMILIES, name) ? FAMILIES[name] : undefined;
}

/** Aspect ratios of all models. */
export const SEEDANCE_RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9'];

/** The title of a model: `doubao-seedance-1-0-pro-250528` is Seedance 1.0-pro; BytePlus's title adds its name. */
function toTitle(id: string): string {
  const title = id.replace(/^.*seedance-/, 'Seedance ').replace('-', '.');
  return isByteplusId(id) ? `${title} (BytePlus)` : title;
}

const IMAGE = { maxBytes: 30_000_000 };
const CLIP = { maxBytes: 50_000_000, maxSeconds: MAX_INPUT_SECONDS };
const AUDIO = { maxBytes: 15_000_000, maxSeconds: MAX_INPUT_SECONDS };

/** Three exclusive modes: a first frame, a first and a last frame, or references. */
function toWays(family: ModelFamily, needsImage: boolean): readonly GenerationWay[] {
  const { frames, references, clips, adaptsRatio, hasTasks } = family;
  const offer = adaptsRatio ? { ratios: [] } : {};
  const ways = needsImage ? [] : [FROM_TEXT];
  if (frames > 0) ways.push(fromFirstFrame(IMAGE, offer));
  if (frames > 1) ways.push(fromBothFrames(IMAGE, offer));
  if (references === 0) return ways;
  // Image-to-video models of the first generation make no 1080p from references.
  if (clips === 0)
    return [...ways, generate([some(references, 'image', 'reference', IMAGE)], { resolutions: ['480p', '720p'] })];
  const [videos, audios] = [upTo(clips, 'video', 'reference', CLIP), upTo(clips, 'audio', 'reference', AUDIO)];
  ways.push(
    generate([some(references, 'image', 'reference', IMAGE), videos, audios]),
    generate([some(clips, 'video', 'reference', CLIP), audios]),
  );
  if (!hasTasks) return ways;
  const source = one('video', 'source', CLIP);
  return [
    ...ways,
    generate([some(clips, 'audio', 'reference', AUDIO)]),
    // The result of an edit is as long as its source.
    edit([source, upTo(references, 'image', 'reference', IMAGE)], { ratios: [], seconds: [] }),
    extend([source], { ratios: [], seconds: range(family.min, family.max) }),
  ];
}

/** Ways of the newest models, which endpoint ids (`ep-…`) may stand for. */
export const WIDEST_WAYS: readonly GenerationWay[] = toWays({ ...GENERATION_2_5, resolutions: SD_TO_HD }, false);

function toCapability(id: string): ModelCapability {
  const family = familyOf(id);
  if (!family) throw new Error(`no family of models has ${id}`);
  return {
    id,
    title: toTitle(id),
    seconds: { min: family.min, max: family.max, default: 5 },
    sizes: family.resolutions,
    ratios: SEEDANCE_RATIOS,
    resolutions: family.resolutions,
    modes: [],
    audio: family.audio,
    negativePrompt: false,
    seed: true,
    ...waysOf(toWays(family, id.includes('i2v'))),
    price: seedancePrice(id, familyName(id)),
    listed: seedancePriceSource(id),
  };
}

/** Models of Volcengine Ark in China (`doubao-…`) and of BytePlus ModelArk elsewhere (the other names). */
export const SEEDANCE_MODELS: readonly ModelCapability[] = [
  'doubao-seedance-1-0-pro-250528',
  'doubao-seedance-1-0-pro-fast-251015',
  'doubao-seedance-1-0-lite-t2v-250428',
  'doubao-seedance-1-0-lite-i2v-250428',
  'doubao-seedance-1-5-pro-251215',
  'doubao-seedance-2-0-260128',
  'doubao-seedance-2-0-fast-260128',
  'doubao-seedance-2-0-mini-260615',
  'doubao-seedance-2-5-260628',
  'seedance-1-0-pro-250528',
  'seedance-1-0-pro-fast-251015',
  'seedance-1-5-pro-251215',
  'dreamina-seedance-2-0-260128',
  'dreamina-seedance-2-0-fast-260128',
  'dreamina-seedance-2-0-mini-260615',
  'dreamina-seedance-2-5-260628',
  'dreamina-seedance-2-5-flash-261115',
].map(toCapability);
