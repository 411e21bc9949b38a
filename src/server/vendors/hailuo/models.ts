import type { ModelCapability } from '../adapter-types.ts';
import { HAILUO_PRICES, hailuoPriceSource } from './prices.ts';

/**
 * Resolution → seconds offered, per mode; the first of each is the vendor's default. A missing mode is one the
 * model does not support. `subject` is a picture of a face to reproduce, not a frame.
 */
interface GenerationModes {
  readonly text?: DurationsByResolution;
  readonly first?: DurationsByResolution;
  readonly last?: DurationsByResolution;
  readonly subject?: DurationsByResolution;
}
export type GenerationMode = keyof GenerationModes;
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

function toCapability(id: string, ways: GenerationModes): ModelCapability {
  const offers = Object.values(ways) as DurationsByResolution[];
  const resolutions = [...new Set(offers.flatMap((offer) => Object.keys(offer)))];
  const seconds = [...new Set(offers.flatMap((offer) => Object.values(offer).flat()))].toSorted((a, b) => a - b);
  const max = ways.last ? 2 : ways.first || ways.subject ? 1 : 0;
  const roles = ways.subject ? (['reference'] as const) : (['first_frame', 'last_frame'] as const).slice(0, max);
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
    images: { min: ways.text ? 0 : 1, max, roles },
    price: HAILUO_PRICES[id] ?? {},
    listed: hailuoPriceSource(id),
  };
}

/** Limits of a model of the second protocol (platform.minimax.io/docs, "Create Video Generation Task", version 2). */
export interface H3Model {
  readonly seconds: { readonly min: number; readonly max: number; readonly default: number };
  readonly resolutions: readonly string[];
  readonly defaultResolution: string;
  /** Above two they are references, which not every model takes. */
  readonly maxImages: number;
}
export const H3_MODELS: Readonly<Record<string, H3Model>> = {
  'MiniMax-H3': {
    seconds: { min: 4, max: 15, default: 5 },
    resolutions: ['768P', '2K'],
    defaultResolution: '2K',
    maxImages: 9,
  },
  'MiniMax-H3-Max': {
    seconds: { min: 5, max: 15, default: 5 },
    resolutions: ['480P', '768P'],
    defaultResolution: '768P',
    maxImages: 2,
  },
};
export const H3_RATIOS = ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'];

const toH3Capability = (id: string, { seconds, resolutions, maxImages }: H3Model): ModelCapability => ({
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
  images: {
    min: 0,
    max: maxImages,
    roles: maxImages > 2 ? ['first_frame', 'last_frame', 'reference'] : ['first_frame', 'last_frame'],
  },
  price: HAILUO_PRICES[id] ?? {},
  listed: hailuoPriceSource(id),
});

export const HAILUO_MODELS: readonly ModelCapability[] = [
  ...Object.entries(MODES_BY_MODEL).map(([id, ways]) => toCapability(id, ways)),
  ...Object.entries(H3_MODELS).map(([id, limits]) => toH3Capability(id, limits)),
];
