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
import { type ModelCapability, type PriceSource, usd } from '../adapter.ts';

/** Google lists dollars per second by resolution, with and without audio. */
type Rates = readonly (readonly [resolutions: readonly string[], sound: number, silent: number])[];

const bySecond = (rates: Rates): VideoPrice => ({
  lines: rates.flatMap(([resolution, sound, silent]): MediaLine[] => [
    { when: { resolution: [...resolution], audio: [false] }, per_second: usd(silent) },
    { when: { resolution: [...resolution] }, per_second: usd(sound) },
  ]),
});

/** Prices by resolution alone, audio included. */
const omni = (rates: readonly number[]): VideoPrice => ({
  lines: ['360p', '720p', '1080p', '4k'].map((resolution, index) => ({
    when: { resolution: [resolution] },
    per_second: usd(rates[index] ?? 0),
  })),
});

const HD = ['720p', '1080p'];

/** By the prefix of the name, longest first. */
const LISTS: readonly (readonly [prefix: string, price: VideoPrice])[] = [
  [
    'veo-3.1-lite',
    bySecond([
      [['720p'], 0.05, 0.03],
      [['1080p'], 0.08, 0.05],
    ]),
  ],
  [
    'veo-3.1-fast',
    bySecond([
      [['720p'], 0.1, 0.08],
      [['1080p'], 0.12, 0.1],
      [['4k'], 0.3, 0.25],
    ]),
  ],
  [
    'veo-3.1',
    bySecond([
      [HD, 0.4, 0.2],
      [['4k'], 0.6, 0.4],
    ]),
  ],
  ['veo-3.0-fast', bySecond([[HD, 0.15, 0.1]])],
  ['veo-3.0', bySecond([[HD, 0.4, 0.2]])],
  ['veo-2', { per_call: 0, per_second: usd(0.5) }],
  ['gemini-omni-1.1', omni([0.03, 0.1, 0.15, 0.3])],
  ['gemini-omni-1.2', omni([0.0232, 0.0695, 0.1043, 0.2085])],
];

/** @throws Error for a model without a price here */
function veoPrice(id: string): VideoPrice {
  const found = LISTS.find(([prefix]) => id.startsWith(prefix));
  if (found === undefined) throw new Error(`no price of ${id}`);
  return found[1];
}

/**
 * Omni is billed by video tokens, whose number follows from
 * seconds and resolution; the list states the price per second.
 */
const OMNI_LIST: PriceSource = {
  source: 'https://ai.google.dev/gemini-api/docs/pricing',
  confirmedOn: '2026-11-06',
  note:
    'Tokens of video by the second: 5,792 at 720p. 1.2 as quoted by inference.sh, 1.1 by wavespeed.ai and docs.comfy.org. ' +
    'Tokens of the prompt, its images and of thinking are left out: less than a second together.',
};

const veoList = (source: string): PriceSource => ({
  source,
  confirmedOn: '2026-08-22',
  note: 'Quoted by github.com/ArcReel/ArcReel and docs.comfy.org/tutorials/partner-nodes/pricing, which agree.',
});

function veoPriceSource(id: string): PriceSource {
  if (id.startsWith('gemini-omni-')) return OMNI_LIST;
  return veoList(
    id.endsWith('-preview') ? OMNI_LIST.source : 'https://cloud.google.com/vertex-ai/generative-ai/pricing',
  );
}

/** Capabilities of one generation of Veo or Omni, for any suffix of a model's name (speed, preview). */
export interface ModelFamily {
  readonly seconds: readonly number[];
  readonly resolutions: readonly string[];
  /** False if requests have no field `resolution` because there is only one. */
  readonly takesResolution: boolean;
  readonly audio: boolean;
  readonly lastFrame: boolean;
  readonly references: number;
  readonly negativePrompt: boolean;
  /** Seconds by which a video is extended; absent: it cannot be. */
  readonly extension?: number;
}

const VEO_2: ModelFamily = {
  seconds: [5, 6, 7, 8],
  resolutions: ['720p'],
  takesResolution: false,
  audio: false,
  lastFrame: false,
  references: 0,
  negativePrompt: true,
};
const VEO_3: ModelFamily = {
  seconds: [4, 6, 8],
  resolutions: ['720p', '1080p'],
  takesResolution: true,
  audio: true,
  lastFrame: false,
  references: 0,
  negativePrompt: true,
};
/** Extensions: docs.cloud.google.com/gemini-enterprise-agent-platform/models/video/extend-videos (2026-11-28). */
const VEO_3_1_LITE: ModelFamily = { ...VEO_3, lastFrame: true, extension: 7 };
const VEO_3_1: ModelFamily = { ...VEO_3_1_LITE, resolutions: ['720p', '1080p', '4k'], references: 3 };

/** Gemini Omni, which has no negative prompt and no seed; the first generation supports up to ten seconds. */
const OMNI_1_1: ModelFamily = {
  seconds: range(3, 10),
  resolutions: ['360p', '720p', '1080p', '4k'],
  takesResolution: true,
  audio: true,
  lastFrame: true,
  references: 6,
  negativePrompt: false,
};
const OMNI: ModelFamily = { ...OMNI_1_1, seconds: range(3, 15) };

/**
 * Whether a model is one of the Omni models, which are only served by Interactions and are the only ones to generate
 * videos there.
 */
export const isOmni = (model: string): boolean => model.startsWith('gemini-omni-');

/** By the prefix of the name, longest first; a name newer than this list counts as the newest generation. */
const FAMILIES: readonly (readonly [prefix: string, family: ModelFamily])[] = [
  ['gemini-omni-1.1', OMNI_1_1],
  ['gemini-omni', OMNI],
  ['veo-3.1-lite', VEO_3_1_LITE],
  ['veo-3.1', VEO_3_1],
  ['veo-3.0', VEO_3],
  ['veo-2', VEO_2],
];

/** The family of a model. */
export const familyOf = (model: string): ModelFamily =>
  FAMILIES.find(([prefix]) => model.startsWith(prefix))?.[1] ?? VEO_3_1;

/** Aspect ratios of all models. */
export const VEO_RATIOS = ['16:9', '9:16'];
/** The vendor's default for every model. */
export const VEO_DEFAULT_SECONDS = 8;

/** Largest image and video sent by value, bytes. */
export const MAX_IMAGE_BYTES = 20_000_000;
export const MAX_VIDEO_BYTES = 20_000_000;
const IMAGE = { maxBytes: MAX_IMAGE_BYTES, formats: ['image/png', 'image/jpeg', 'image/webp'] };

const EIGHT = [8];

/** Longest video that Veo extends, seconds. */
const VEO_INPUT_SECONDS = 30;
const SOURCE = { maxBytes: MAX_VIDEO_BYTES, formats: ['video/mp4'] };
const HD_ONLY = ['720p'];

/** On the Gemini API only its own videos, named by URIs of its operations, can be extended, and no model is left there. */
function veoExtensions({ extension }: ModelFamily, isPreview: boolean): readonly GenerationWay[] {
  if (extension === undefined || isPreview) return [];
  const source = one('video', 'source', { ...SOURCE, maxSeconds: VEO_INPUT_SECONDS });
  return [extend([source], { seconds: [extension], resolutions: HD_ONLY, sizes: [], ratios: [] })];
}

/** On the Gemini API videos above 720p are eight seconds long; those from references are everywhere. */
function veoWays(family: ModelFamily, isPreview: boolean): readonly GenerationWay[] {
  const { resolutions, seconds, lastFrame, references } = family;
  const high = resolutions.filter((resolution) => resolution !== '720p');
  const offers: readonly Pick<GenerationWay, 'resolutions' | 'sizes' | 'seconds'>[] =
    high.length === 0 || !isPreview
      ? [{}]
      : [
          { resolutions: ['720p'], sizes: toFrames(['720p']), seconds },
          { resolutions: high, sizes: toFrames(high), seconds: EIGHT },
        ];
  const fromReferences =
    references === 0
      ? []
      : [generate([some(references, 'image', 'reference', IMAGE)], { seconds: EIGHT, ratios: ['16:9'] })];
  const framed = offers.flatMap((offer) => [
    generate([], offer),
    fromFirstFrame(IMAGE, offer),
    ...(lastFrame ? [fromBothFrames(IMAGE, offer)] : []),
  ]);
  return [...framed, ...fromReferences, ...veoExtensions(family, isPreview)];
}

/** Longest video that Omni 1.1 and 1.2 edit, longest one between two frames, and longest extension, seconds. */
export const OMNI_INPUT_SECONDS = 10;
/** Reference videos show one thing each. */
const OMNI_CLIP = { maxBytes: MAX_VIDEO_BYTES, maxSeconds: 3 };
const MAX_OMNI_CLIPS = 3;

function omniWays({ references, seconds }: ModelFamily): readonly GenerationWay[] {
  const source = { maxBytes: MAX_VIDEO_BYTES };
  const short = seconds.filter((each) => each <= OMNI_INPUT_SECONDS);
  const videos = upTo(MAX_OMNI_CLIPS, 'video', 'reference', OMNI_CLIP);
  return [
    FROM_TEXT,
    fromFirstFrame(IMAGE),
    fromBothFrames(IMAGE, { seconds: short }),
    generate([some(references, 'image', 'reference', IMAGE), videos]),
    generate([some(MAX_OMNI_CLIPS, 'video', 'reference', OMNI_CLIP)]),
    edit(
      [
        one('video', 'source', { ...source, maxSeconds: OMNI_INPUT_SECONDS }),
        upTo(references, 'image', 'reference', IMAGE),
      ],
      { seconds: [], ratios: [] },
    ),
    // The last ten seconds decide; the source may be longer.
    extend([one('video', 'source', source)], { seconds: short, ratios: [] }),
  ];
}

/** Ways of a model by its name, of which prefix and suffix tell the family and the API. */
export const waysOfName = (id: string): readonly GenerationWay[] =>
  isOmni(id) ? omniWays(familyOf(id)) : veoWays(familyOf(id), id.endsWith('-preview'));

function toCapability(id: string, title: string): ModelCapability {
  const family = familyOf(id);
  return {
    id,
    title,
    seconds: { values: family.seconds, default: VEO_DEFAULT_SECONDS },
    sizes: toFrames(family.resolutions),
    ratios: VEO_RATIOS,
    resolutions: family.resolutions,
    modes: [],
    audio: family.audio,
    negativePrompt: family.negativePrompt,
    seed: false,
    ...waysOf(waysOfName(id)),
    price: veoPrice(id),
    listed: veoPriceSource(id),
  };
}

const FRAME_SIZES: Readonly<Record<string, readonly string[]>> = {
  '360p': ['640x360', '360x640'],
  '720p': ['1280x720', '720x1280'],
  '1080p': ['1920x1080', '1080x1920'],
  '4k': ['3840x2160', '2160x3840'],
};

/** Frames in pixels of some resolutions. */
const toFrames = (resolutions: readonly string[]): readonly string[] =>
  resolutions.flatMap((resolution) => FRAME_SIZES[resolution] ?? []);

/** Names end in `-preview` on the Gemini API and in `-001` on Vertex AI (older ones on both). */
export const VEO_MODELS: readonly ModelCapability[] = [
  toCapability('gemini-omni-1.2-flash', 'Gemini Omni 1.2 Flash'),
  toCapability('gemini-omni-1.1-flash', 'Gemini Omni 1.1 Flash'),
  toCapability('veo-3.1-generate-preview', 'Veo 3.1 preview'),
  toCapability('veo-3.1-fast-generate-preview', 'Veo 3.1 fast preview'),
  toCapability('veo-3.1-lite-generate-preview', 'Veo 3.1 lite preview'),
  toCapability('veo-3.1-generate-001', 'Veo 3.1'),
  toCapability('veo-3.1-fast-generate-001', 'Veo 3.1 fast'),
  toCapability('veo-3.1-lite-generate-001', 'Veo 3.1 lite'),
  toCapability('veo-3.0-generate-001', 'Veo 3'),
  toCapability('veo-3.0-fast-generate-001', 'Veo 3 fast'),
  toCapability('veo-2.0-generate-001', 'Veo 2'),
];
