import type { ModelCapability } from '../adapter-types.ts';
import { veoPrice, veoPriceSource } from './prices.ts';

/** The capabilities of one generation of Veo or Omni, whatever the suffix of a model's name (speed, preview). */
export interface ModelFamily {
  readonly seconds: readonly number[];
  readonly resolutions: readonly string[];
  /** False where `resolution` is no field of the request: the only one is made. */
  readonly takesResolution: boolean;
  readonly audio: boolean;
  readonly lastFrame: boolean;
  readonly references: number;
  readonly negativePrompt: boolean;
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
const VEO_3_1_LITE: ModelFamily = { ...VEO_3, lastFrame: true };
const VEO_3_1: ModelFamily = { ...VEO_3_1_LITE, resolutions: ['720p', '1080p', '4k'], references: 3 };

const range = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** Gemini Omni, which has no negative prompt and no seed; the first generation makes up to ten seconds. */
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

/** These are served by Interactions alone, and no other model makes videos there. */
export const isOmni = (model: string): boolean => model.startsWith('gemini-omni-');

/** By the beginning of the name, longest first; a name newer than this list counts as the newest generation. */
const FAMILIES: readonly (readonly [prefix: string, family: ModelFamily])[] = [
  ['gemini-omni-1.1', OMNI_1_1],
  ['gemini-omni', OMNI],
  ['veo-3.1-lite', VEO_3_1_LITE],
  ['veo-3.1', VEO_3_1],
  ['veo-3.0', VEO_3],
  ['veo-2', VEO_2],
];

export const familyOf = (model: string): ModelFamily =>
  FAMILIES.find(([prefix]) => model.startsWith(prefix))?.[1] ?? VEO_3_1;

export const VEO_RATIOS = ['16:9', '9:16'];
/** Eight seconds for every model: the vendor's default. */
export const VEO_DEFAULT_SECONDS = 8;

function toCapability(id: string, title: string): ModelCapability {
  const family = familyOf(id);
  return {
    id,
    title,
    seconds: { values: family.seconds, default: VEO_DEFAULT_SECONDS },
    sizes: family.resolutions.flatMap((resolution) => FRAME_SIZES[resolution] ?? []),
    ratios: VEO_RATIOS,
    resolutions: family.resolutions,
    modes: [],
    audio: family.audio,
    negativePrompt: family.negativePrompt,
    seed: false,
    images: {
      min: 0,
      max: family.references > 0 ? family.references : family.lastFrame ? 2 : 1,
      roles: [
        'first_frame',
        ...(family.lastFrame ? ['last_frame' as const] : []),
        ...(family.references ? ['reference' as const] : []),
      ],
    },
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

/** Names end in `-preview` where the Gemini API serves them, in `-001` on Vertex AI (and the older ones on both). */
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
