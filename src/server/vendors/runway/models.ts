import {
  edit,
  extend,
  type GenerationWay,
  generate,
  one,
  range,
  some,
  upTo,
  waysOf,
} from '../../../contract/generation-ways.ts';
import { defined } from '../../../contract/objects.ts';
import { type ModelCapability, type PriceSource, undatedModel, usd } from '../adapter.ts';
import { ownEntry } from '../untrusted-json.ts';

/** Models of Runway's developer API, with the limits in the types of its SDK (@runwayml/sdk 4.20.1). */

/** Data URLs of the vendor, bytes; larger files are uploaded. */
export const MAX_INLINE_BYTES = 5_000_000;
/** Largest files by URL and by upload, bytes. */
export const UPLOAD_BYTES = { image: 16_000_000, video: 32_000_000, audio: 32_000_000 };

/**
 * Choice of the frame: exact frames in `ratio` (`1280:720`), a ratio and a resolution in two fields, a resolution alone,
 * or a resolution in `ratio` (`auto_720p`). The default is the first.
 */
export interface FrameChoice {
  readonly frames?: readonly string[];
  readonly ratios?: readonly string[];
  readonly resolutions?: readonly string[];
  /** `auto`: the resolution is part of `ratio`; `adaptive`: `ratio` is always this word. */
  readonly ratioWord?: 'auto' | 'adaptive';
}

interface References {
  readonly images: number;
  readonly videos: number;
  readonly audios: number;
  /** Of each video and audio file. */
  readonly maxSeconds?: number;
  readonly resolutions?: readonly string[];
}

type Option = 'seed' | 'audio' | 'negativePrompt' | 'contentModeration';

/** Capabilities of one model. */
export interface RunwayModel {
  readonly title: string;
  readonly seconds: ModelCapability['seconds'];
  /** From text, and from references; absent: the model has no such endpoint. */
  readonly text?: FrameChoice;
  /** From a first frame. */
  readonly image?: FrameChoice;
  readonly maxFrames: 0 | 1 | 2;
  readonly references?: References;
  /** Field of the video to edit or extend. */
  readonly source?: 'videoUri' | 'promptVideo';
  readonly extends?: true;
  /** Images beside a video to edit: guidance at a second, or references. */
  readonly keyframes?: number;
  readonly options: readonly Option[];
  readonly price: ModelCapability['price'];
}

const LANDSCAPE = '1280:720';
const HD = [LANDSCAPE, '720:1280'];
const SIX_FRAMES = [...HD, '1104:832', '832:1104', '960:960', '1584:672'];
const TO_FULL_HD = [...HD, '1920:1080', '1080:1920'];
const HORSE_FRAMES = [...TO_FULL_HD, '960:960', '1108:832', '832:1108', '1440:1440', '1662:1248', '1248:1662'];
const SEEDANCE_720 = ['1280:720', '720:1280', '960:960', '1112:834', '834:1112', '1470:630'];
const SEEDANCE_480 = ['864:496', '496:864', '640:640', '752:560', '560:752', '992:432'];
const SEEDANCE_1080 = ['1920:1080', '1080:1920', '1440:1440', '1664:1248', '1248:1664', '2206:946'];
const SEEDANCE_4K = ['3840:2160', '2160:3840', '3840:3840', '3840:2880', '2880:3840', '3840:1646'];
const SEEDANCE_25_480 = ['854:480', '480:854', ...SEEDANCE_480.slice(2)];
const WAN_FRAMES = [
  ...['1280:720', '720:1280', '960:960', '1104:832', '832:1104'],
  ...['832:480', '480:832', '624:624', '720:544', '544:720'],
  ...['1920:1080', '1080:1920', '1440:1440', '1648:1248', '1248:1648'],
];
const OMNI_FRAMES = [...TO_FULL_HD, '640:360', '360:640', '3840:2160', '2160:3840'];
const SIX_RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9'];
const GROK_RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3'];

const TWO_TO_TEN = { min: 2, max: 10, default: 5 };
const THREE_TO_TEN = { min: 3, max: 10, default: 8 };
const FOUR_SIX_EIGHT = { values: [4, 6, 8], default: 8 };
const FOUR_TO_FIFTEEN = { min: 4, max: 15, default: 5 };
const FIVE_TO_FIFTEEN = { min: 5, max: 15, default: 5 };

const perSecond = (quota: number, silent?: number): ModelCapability['price'] =>
  silent === undefined
    ? { per_call: 0, per_second: quota }
    : { per_call: 0, per_second: quota, multipliers: { audio: { false: silent } } };
/** The result is as long as the video to edit, so one of both is billed. */
const perInputSecond = (quota: number): ModelCapability['price'] => ({ lines: [{ per_input_second: quota }] });

const resold = (title: string, quota: number, silent: number): RunwayModel => ({
  title,
  seconds: FOUR_SIX_EIGHT,
  text: { frames: TO_FULL_HD },
  image: { frames: TO_FULL_HD },
  maxFrames: 2,
  options: ['audio', 'negativePrompt', 'seed'],
  price: perSecond(quota, silent),
});

const NINE_THREE_THREE = { images: 9, videos: 3, audios: 3, maxSeconds: 15 };
const seedance = (title: string, frames: readonly string[], dollars: number): RunwayModel => ({
  title,
  seconds: FOUR_TO_FIFTEEN,
  text: { frames },
  image: { frames },
  maxFrames: 2,
  references: NINE_THREE_THREE,
  options: ['audio', 'seed'],
  price: perSecond(usd(dollars)),
});

const WAN_RESOLUTIONS = ['720p', '480p', '1080p'];
const wan = (title: string, dollars: number): RunwayModel => ({
  title,
  seconds: { min: 2, max: 30, default: 5 },
  text: { frames: WAN_FRAMES },
  image: { resolutions: WAN_RESOLUTIONS, ratioWord: 'auto' },
  maxFrames: 2,
  references: { images: 10, videos: 5, audios: 5, maxSeconds: 15 },
  options: ['audio'],
  price: perSecond(usd(dollars)),
});

/** Prices follow the vendor's credits per second, one cent each, where they are known. */
const MODELS: Readonly<Record<string, RunwayModel>> = {
  'gen4.5': {
    title: 'Runway Gen-4.5',
    seconds: TWO_TO_TEN,
    text: { frames: HD },
    image: { frames: SIX_FRAMES },
    maxFrames: 1,
    options: ['seed', 'contentModeration'],
    price: perSecond(60_000),
  },
  gen4_turbo: {
    title: 'Runway Gen-4 Turbo',
    seconds: TWO_TO_TEN,
    image: { frames: SIX_FRAMES },
    maxFrames: 1,
    options: ['seed', 'contentModeration'],
    price: perSecond(25_000),
  },
  'veo3.1': resold('Veo 3.1 by Runway', 200_000, 0.5),
  'veo3.1_fast': resold('Veo 3.1 Fast by Runway', 75_000, 0.666667),
  aleph2: {
    title: 'Runway Aleph 2',
    seconds: { min: 1, max: 30, default: TWO_TO_TEN.default },
    maxFrames: 0,
    source: 'videoUri',
    keyframes: 5,
    options: ['seed', 'contentModeration'],
    price: perInputSecond(75_000),
  },
  seedance2: seedance(
    'Seedance 2.0 by Runway',
    [...SEEDANCE_720, ...SEEDANCE_480, ...SEEDANCE_1080, ...SEEDANCE_4K],
    0.78,
  ),
  seedance2_fast: seedance('Seedance 2.0 Fast by Runway', [...SEEDANCE_720, ...SEEDANCE_480], 0.13),
  seedance2_mini: seedance('Seedance 2.0 Mini by Runway', [...SEEDANCE_720, ...SEEDANCE_480], 0.08),
  seedance2_5: {
    ...seedance('Seedance 2.5 by Runway', [...SEEDANCE_720, ...SEEDANCE_25_480, ...SEEDANCE_1080], 0.58),
    seconds: { min: 4, max: 30, default: 5 },
    references: { images: 30, videos: 10, audios: 10, maxSeconds: 30 },
    source: 'promptVideo',
    extends: true,
  },
  hailuo3: {
    title: 'Hailuo 3 by Runway',
    seconds: FIVE_TO_FIFTEEN,
    text: { ratios: SIX_RATIOS, resolutions: ['768p', '2k'] },
    image: { resolutions: ['768p', '2k'], ratioWord: 'adaptive' },
    maxFrames: 2,
    references: NINE_THREE_THREE,
    options: [],
    price: perSecond(usd(0.13)),
  },
  h3_max: {
    title: 'H3 Max by Runway',
    seconds: FIVE_TO_FIFTEEN,
    text: { resolutions: ['768p', '480p'] },
    image: { resolutions: ['768p', '480p'] },
    maxFrames: 2,
    options: ['seed'],
    price: perSecond(usd(0.08)),
  },
  wan3: wan('Wan 3.0 by Runway', 0.17),
  wan3_prime: wan('Wan 3.0 Prime by Runway', 0.36),
  happyhorse_1_0: {
    title: 'HappyHorse 1.0 by Runway',
    seconds: { min: 3, max: 15, default: 5 },
    text: { frames: HORSE_FRAMES },
    image: { resolutions: ['720p', '1080p'] },
    maxFrames: 1,
    options: [],
    price: perSecond(usd(0.23)),
  },
  grok_imagine_1_5: {
    title: 'Grok Imagine 1.5 by Runway',
    seconds: { min: 1, max: 15, default: 5 },
    text: { ratios: GROK_RATIOS, resolutions: ['720p', '480p', '1080p'] },
    image: { resolutions: ['720p', '480p', '1080p'] },
    maxFrames: 1,
    references: { images: 7, videos: 0, audios: 3, maxSeconds: 15, resolutions: ['720p', '480p'] },
    options: [],
    price: perSecond(usd(0.25)),
  },
  gemini_omni_flash: {
    title: 'Gemini Omni Flash by Runway',
    seconds: THREE_TO_TEN,
    text: { frames: HD },
    image: { frames: HD },
    maxFrames: 1,
    source: 'videoUri',
    options: [],
    price: perSecond(usd(0.1)),
  },
  'gemini_omni_flash_1.1': {
    title: 'Gemini Omni 1.1 Flash by Runway',
    seconds: THREE_TO_TEN,
    text: { frames: OMNI_FRAMES },
    image: { frames: OMNI_FRAMES },
    maxFrames: 2,
    references: { images: 6, videos: 3, audios: 0, maxSeconds: 3 },
    source: 'videoUri',
    extends: true,
    options: [],
    price: perSecond(usd(0.3)),
  },
};

/** Undefined for a model that is not in the table, which only the vendor checks. */
export const modelOf = (id: string): RunwayModel | undefined => ownEntry(MODELS, undatedModel(id));

/** `1280x720` from `1280:720`. */
export const toSize = (ratio: string): string => ratio.replace(':', 'x');

const IMAGE = { maxBytes: UPLOAD_BYTES.image };
const MAX_SOURCE_SECONDS = 30;
/** References beside a video to edit; the types of the SDK state no number. */
const MAX_EDIT_IMAGES = 6;

const offerOf = ({ frames = [], ratios = [], resolutions = [] }: FrameChoice = {}) => ({
  sizes: frames.map(toSize),
  ratios,
  resolutions,
});

function referenceWays({ references, text }: RunwayModel): readonly GenerationWay[] {
  if (references === undefined) return [];
  const { images, videos, audios, maxSeconds } = references;
  const clip = (type: 'video' | 'audio') => defined({ maxBytes: UPLOAD_BYTES[type], maxSeconds });
  const offer = offerOf({ ...text, ...defined({ resolutions: references.resolutions }) });
  const sounds = audios === 0 ? [] : [upTo(audios, 'audio', 'reference', clip('audio'))];
  const moving = videos === 0 ? [] : [upTo(videos, 'video', 'reference', clip('video'))];
  return [
    generate([some(images, 'image', 'reference', IMAGE), ...moving, ...sounds], offer),
    ...(videos === 0 ? [] : [generate([some(videos, 'video', 'reference', clip('video')), ...sounds], offer)]),
  ];
}

function toWays(model: RunwayModel): readonly GenerationWay[] {
  const { text, image, maxFrames, source, keyframes, seconds, references } = model;
  const first = one('image', 'first_frame', IMAGE);
  const film = one('video', 'source', { maxBytes: UPLOAD_BYTES.video, maxSeconds: MAX_SOURCE_SECONDS });
  const beside =
    keyframes === undefined
      ? upTo(references?.images ?? MAX_EDIT_IMAGES, 'image', 'reference', IMAGE)
      : upTo(keyframes, 'image', 'keyframe', IMAGE);
  const fixed = { sizes: [], ratios: [], resolutions: [] };
  const lengths = 'values' in seconds ? seconds.values : range(seconds.min, seconds.max);
  return [
    ...(text === undefined ? [] : [generate([], offerOf(text))]),
    ...(maxFrames > 0 ? [generate([first], offerOf(image))] : []),
    ...(maxFrames > 1 ? [generate([first, one('image', 'last_frame', IMAGE)], offerOf(image))] : []),
    ...referenceWays(model),
    ...(source === undefined ? [] : [edit([film, beside], { ...fixed, seconds: [] })]),
    ...(model.extends ? [extend([film], { ...fixed, seconds: lengths })] : []),
  ];
}

/** Ways of the fields that every model may have. */
export const UNLISTED_WAYS: readonly GenerationWay[] = toWays({
  ...seedance('', [], 0),
  source: 'videoUri',
});

const PAGE = 'https://docs.dev.runwayml.com/guides/pricing';
const OWN: PriceSource = {
  source: PAGE,
  confirmedOn: null,
  note: 'Credits a second as of 2025, one cent each; no later copy of the page was found.',
};
const RESOLD: PriceSource = {
  source: PAGE,
  confirmedOn: null,
  note: 'No copy of the page has this model: the rate of its maker at the highest resolution.',
};

function toCapability([id, model]: readonly [string, RunwayModel]): ModelCapability {
  const { text, image, options, title, seconds, price } = model;
  const both = <T>(...lists: readonly (readonly T[] | undefined)[]): readonly T[] => [
    ...new Set(lists.flatMap((list) => list ?? [])),
  ];
  return {
    id,
    title,
    seconds,
    sizes: both(text?.frames, image?.frames).map(toSize),
    ratios: both(text?.ratios),
    resolutions: both(text?.resolutions, image?.resolutions),
    modes: [],
    audio: options.includes('audio'),
    negativePrompt: options.includes('negativePrompt'),
    seed: options.includes('seed'),
    ...waysOf(toWays(model)),
    price,
    listed: /^(gen4|veo3|aleph)/.test(id) ? OWN : RESOLD,
  };
}

/** The vendor's whole list of video models. */
export const RUNWAY_MODELS: readonly ModelCapability[] = Object.entries(MODELS).map(toCapability);
