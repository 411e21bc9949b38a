import type { ModelCapability } from '../adapter-types.ts';
import { undatedModel } from '../undated-model.ts';
import { isByteplusId, seedancePrice, seedancePriceSource } from './prices.ts';

/** The capabilities of a series of models, whatever date its id ends with and whichever of the two companies sells it. */
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
  /** How many reference pictures. */
  readonly references: number;
  readonly audio: boolean;
}

const SD_TO_HD = ['480p', '720p', '1080p'];
const GENERATION_1 = { resolutions: SD_TO_HD, min: 2, max: 12, auto: false, references: 0, audio: false } as const;
const GENERATION_2 = {
  resolution: '720p',
  min: 4,
  max: 15,
  auto: true,
  frames: 2,
  references: 9,
  audio: true,
} as const;

/** By the id without maker and date: `doubao-seedance-1-0-pro-250528` is `seedance-1-0-pro`. */
export const FAMILIES: Readonly<Record<string, ModelFamily>> = {
  'seedance-1-0-pro': { ...GENERATION_1, resolution: '1080p', frames: 2 },
  'seedance-1-0-pro-fast': { ...GENERATION_1, resolution: '1080p', frames: 1 },
  'seedance-1-0-lite-t2v': { ...GENERATION_1, resolution: '720p', frames: 0 },
  'seedance-1-0-lite-i2v': { ...GENERATION_1, resolution: '720p', frames: 2, references: 4 },
  'seedance-1-5-pro': { ...GENERATION_2, resolutions: SD_TO_HD, max: 12, references: 0 },
  'seedance-2-0': { ...GENERATION_2, resolutions: [...SD_TO_HD, '4k'] },
  'seedance-2-0-fast': { ...GENERATION_2, resolutions: ['480p', '720p'] },
  'seedance-2-0-mini': { ...GENERATION_2, resolutions: ['480p', '720p'] },
  'seedance-2-5': { ...GENERATION_2, resolutions: SD_TO_HD, max: 30 },
};

const familyName = (model: string): string => undatedModel(model.replace(/^(doubao|dreamina)-/, ''));

/** Undefined for endpoint ids (`ep-…`) and newer models: those are checked by the vendor only. */
export function familyOf(model: string): ModelFamily | undefined {
  const name = familyName(model);
  return Object.hasOwn(FAMILIES, name) ? FAMILIES[name] : undefined;
}

export const SEEDANCE_RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9'];

/** `doubao-seedance-1-0-pro-250528` is Seedance 1.0-pro; the same by BytePlus says so. */
function toTitle(id: string): string {
  const title = id.replace(/^.*seedance-/, 'Seedance ').replace('-', '.');
  return isByteplusId(id) ? `${title} (BytePlus)` : title;
}

function toCapability(id: string): ModelCapability {
  const family = familyOf(id);
  if (!family) throw new Error(`no family of models has ${id}`);
  const { frames, references } = family;
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
    images: {
      min: id.includes('i2v') ? 1 : 0,
      max: Math.max(frames, references),
      roles: [
        ...(['first_frame', 'last_frame'] as const).slice(0, frames),
        ...(references > 0 ? (['reference'] as const) : []),
      ],
    },
    price: seedancePrice(id, familyName(id)),
    listed: seedancePriceSource(id),
  };
}

/** Volcengine Ark in China sells them under `doubao-…`, BytePlus ModelArk elsewhere under the other names. */
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
].map(toCapability);
