import type { UsableModel } from '../../data/models.ts';
import { fieldsOf } from './wire-fields.ts';

/** A picture given by link, or as a data URL after it was dropped, pasted or picked. */
export interface Picture {
  readonly src: string;
  readonly name: string;
}

/** What stands in the form. Empty texts and undefined mean "as the model likes". */
export interface Draft {
  readonly model: string;
  readonly prompt: string;
  readonly negative: string;
  readonly seconds: number | undefined;
  readonly ratio: string;
  readonly resolution: string;
  readonly size: string;
  readonly mode: string;
  readonly audio: boolean | undefined;
  readonly seed: string;
  readonly pictures: readonly Picture[];
  /** Further parameters, as JSON text of the vendor's own words. */
  readonly metadata: string;
  /** Values of the model's media schema. */
  readonly extra: Readonly<Record<string, unknown>>;
}

export const EMPTY_DRAFT: Draft = {
  model: '',
  prompt: '',
  negative: '',
  seconds: undefined,
  ratio: '',
  resolution: '',
  size: '',
  mode: '',
  audio: undefined,
  seed: '',
  pictures: [],
  metadata: '',
  extra: {},
};

export type DraftField = keyof Draft;

/** Whole seconds a model can be asked for. */
export type Seconds =
  | { readonly values: readonly number[]; readonly default: number }
  | { readonly min: number; readonly max: number; readonly default: number };

/** The controls a model has: what it can do, as far as its vendor's requests have a word for it. */
export interface Controls {
  readonly seconds: Seconds | undefined;
  readonly ratios: readonly string[];
  readonly resolutions: readonly string[];
  readonly sizes: readonly string[];
  readonly modes: readonly string[];
  readonly audio: boolean;
  readonly negative: boolean;
  readonly seed: boolean;
  readonly pictures: { readonly min: number; readonly max: number; readonly roles: readonly string[] };
}

const ANY: Controls = {
  seconds: undefined,
  ratios: [],
  resolutions: [],
  sizes: [],
  modes: [],
  audio: false,
  negative: false,
  seed: false,
  pictures: { min: 0, max: 2, roles: ['first_frame', 'last_frame'] },
};

export function controlsOf(model: UsableModel | undefined): Controls {
  const capability = model?.capability;
  if (model === undefined || capability == null) return ANY;
  const fields = fieldsOf(model.vendor);
  const has = (field: DraftField): boolean => field in fields;
  // Exact sizes say everything that ratio and resolution say.
  const exact = has('size') && capability.sizes.some((size) => /\d[x*]\d/.test(size));
  const multipliers = 'multipliers' in model.price ? model.price.multipliers : undefined;
  return {
    seconds: capability.seconds as Seconds,
    ratios: !exact && has('ratio') ? capability.ratios : [],
    resolutions: !exact && has('resolution') && capability.resolutions.length > 1 ? capability.resolutions : [],
    sizes: exact ? capability.sizes : [],
    modes: capability.modes,
    audio: capability.audio && has('audio') && (model.vendor !== 'wan' || multipliers?.audio !== undefined),
    negative: capability.negative_prompt && has('negative'),
    seed: capability.seed && has('seed'),
    pictures: capability.images,
  };
}

/** Makes a draft fit a model: keeps what fits, and names what had to be dropped or changed. */
export function fit(
  draft: Draft,
  model: UsableModel,
): { readonly draft: Draft; readonly dropped: readonly DraftField[] } {
  const can = controlsOf(model);
  const dropped: DraftField[] = [];
  const keep = <F extends DraftField>(field: F, fits: boolean, instead: Draft[F]): Draft[F] => {
    if (fits) return draft[field];
    if (draft[field] !== instead && draft[field] !== EMPTY_DRAFT[field]) dropped.push(field);
    return instead;
  };
  const one = (field: 'ratio' | 'resolution' | 'size', values: readonly string[]): string =>
    keep(field, values.includes(draft[field]), '');
  const fitted: Draft = {
    ...draft,
    model: model.id,
    seconds: keep('seconds', fitsSeconds(draft.seconds, can.seconds), can.seconds?.default),
    ratio: one('ratio', can.ratios),
    resolution: one('resolution', can.resolutions),
    size: one('size', can.sizes),
    mode: keep('mode', can.modes.includes(draft.mode), can.modes[0] ?? ''),
    audio: keep('audio', can.audio, undefined),
    negative: keep('negative', can.negative, ''),
    seed: keep('seed', can.seed, ''),
    pictures: keep('pictures', draft.pictures.length <= can.pictures.max, draft.pictures.slice(0, can.pictures.max)),
    extra: keep('extra', draft.model === model.id, {}),
    metadata: keep('metadata', draft.model === model.id, ''),
  };
  return { draft: fitted, dropped: dropped.filter((field) => field !== 'mode' && field !== 'extra') };
}

function fitsSeconds(seconds: number | undefined, can: Seconds | undefined): boolean {
  if (can === undefined) return true;
  if (seconds === undefined) return false;
  return 'values' in can ? can.values.includes(seconds) : seconds >= can.min && seconds <= can.max;
}
