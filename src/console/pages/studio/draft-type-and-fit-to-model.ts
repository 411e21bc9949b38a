import type { UsableModel } from '../../data/usable-models-query.ts';
import { type FormField, requestPathsFor } from './form-field-request-paths.ts';

/** A picture given by link, or as a data URL after it was dropped, pasted or picked. */
export interface ImageInput {
  readonly src: string;
  readonly name: string;
}

/** The values of the form. Empty texts and undefined mean the default of the model. */
export interface Draft {
  readonly model: string;
  /** Further models the same video is made with, beside each other. */
  readonly compare: readonly string[];
  readonly prompt: string;
  readonly negative: string;
  readonly seconds: number | undefined;
  readonly ratio: string;
  readonly resolution: string;
  readonly size: string;
  readonly mode: string;
  readonly audio: boolean | undefined;
  readonly seed: string;
  readonly pictures: readonly ImageInput[];
  /** Further parameters, as JSON text of the vendor's own words. */
  readonly metadata: string;
  /** Values of the model's media schema. */
  readonly extra: Readonly<Record<string, unknown>>;
}

export const EMPTY_DRAFT: Draft = {
  model: '',
  compare: [],
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

/** The durations a model accepts, in whole seconds. */
export type DurationRange =
  | { readonly values: readonly number[]; readonly default: number }
  | { readonly min: number; readonly max: number; readonly default: number };

/** The controls a model has: what it can do, as far as its vendor's requests have a word for it. */
export interface AvailableControls {
  readonly seconds: DurationRange | undefined;
  readonly ratios: readonly string[];
  readonly resolutions: readonly string[];
  readonly sizes: readonly string[];
  readonly modes: readonly string[];
  readonly audio: boolean;
  readonly negative: boolean;
  readonly seed: boolean;
  readonly pictures: { readonly min: number; readonly max: number; readonly roles: readonly string[] };
}

const DEFAULT_CONTROLS: AvailableControls = {
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

export function controlsFor(model: UsableModel | undefined): AvailableControls {
  const capability = model?.capability;
  if (model === undefined || capability == null) return DEFAULT_CONTROLS;
  const fields = requestPathsFor(model);
  const has = (field: FormField): boolean => field in fields;
  // An exact size already determines ratio and resolution.
  const exact = has('size') && capability.sizes.some((size) => /\d[x*]\d/.test(size));
  return {
    seconds: capability.seconds as DurationRange,
    ratios: !exact && has('ratio') ? capability.ratios : [],
    resolutions: !exact && has('resolution') && capability.resolutions.length > 1 ? capability.resolutions : [],
    sizes: exact ? capability.sizes : [],
    modes: capability.modes,
    audio: capability.audio && has('audio'),
    negative: capability.negative_prompt && has('negative'),
    seed: capability.seed && has('seed'),
    pictures: capability.images,
  };
}

/** Makes a draft fit a model: keeps what fits, and names what had to be dropped or changed. */
export function fitDraftToModel(
  draft: Draft,
  model: UsableModel,
): { readonly draft: Draft; readonly dropped: readonly DraftField[] } {
  const controls = controlsFor(model);
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
    compare: draft.compare.filter((id) => id !== model.id),
    seconds: keep('seconds', isAllowedDuration(draft.seconds, controls.seconds), controls.seconds?.default),
    ratio: one('ratio', controls.ratios),
    resolution: one('resolution', controls.resolutions),
    size: one('size', controls.sizes),
    mode: keep('mode', controls.modes.includes(draft.mode), controls.modes[0] ?? ''),
    audio: keep('audio', controls.audio, undefined),
    negative: keep('negative', controls.negative, ''),
    seed: keep('seed', controls.seed, ''),
    pictures: keep(
      'pictures',
      draft.pictures.length <= controls.pictures.max,
      draft.pictures.slice(0, controls.pictures.max),
    ),
    extra: keep('extra', draft.model === model.id, {}),
    metadata: keep('metadata', draft.model === model.id, ''),
  };
  return { draft: fitted, dropped: dropped.filter((field) => field !== 'mode' && field !== 'extra') };
}

function isAllowedDuration(seconds: number | undefined, can: DurationRange | undefined): boolean {
  if (can === undefined) return true;
  if (seconds === undefined) return false;
  return 'values' in can ? can.values.includes(seconds) : seconds >= can.min && seconds <= can.max;
}
