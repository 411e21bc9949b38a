import { isObject } from '../../../contract/objects.ts';
import { DRAFT_KEY_PREFIX } from '../../data/browser-storage.ts';
import type { UsableModel } from '../../data/models.ts';
import type { VideoBody } from '../../data/videos.ts';

/** An image given by link, or as a data URL after a drop, paste or file selection. */
export interface ImageInput {
  readonly src: string;
  readonly name: string;
}

/** Values of the studio form. Empty texts and undefined select the model's default. */
export interface Draft {
  readonly model: string;
  /** Further models to generate the same video with, for comparison. */
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
  readonly images: readonly ImageInput[];
  /** Additional parameters as JSON text, by the vendor's names. */
  readonly metadata: string;
  /** Values of the model's media schema. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** A draft with every default. */
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
  images: [],
  metadata: '',
  extra: {},
};

/** Name of a field of the form. */
export type DraftField = keyof Draft;

/** Durations a model accepts, in whole seconds. */
export type DurationRange =
  | { readonly values: readonly number[]; readonly default: number }
  | { readonly min: number; readonly max: number; readonly default: number };

/** The controls shown for a model: its capabilities, as far as its vendor's requests have a field for them. */
export interface AvailableControls {
  readonly seconds: DurationRange | undefined;
  readonly ratios: readonly string[];
  readonly resolutions: readonly string[];
  readonly sizes: readonly string[];
  readonly modes: readonly string[];
  readonly audio: boolean;
  readonly negative: boolean;
  readonly seed: boolean;
  readonly images: { readonly min: number; readonly max: number; readonly roles: readonly string[] };
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
  images: { min: 0, max: 2, roles: ['first_frame', 'last_frame'] },
};

/** Controls of a model; common ones if the model is unknown. */
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
    images: capability.images,
  };
}

/** Adapts a draft to a model: keeps supported values, and lists the fields that were dropped or changed. */
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
    images: keep('images', draft.images.length <= controls.images.max, draft.images.slice(0, controls.images.max)),
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

/** Form fields by the names the server uses for them in `fields`. */
const FIELD_NAMES = {
  seconds: 'seconds',
  size: 'size',
  mode: 'mode',
  ratio: 'ratio',
  resolution: 'resolution',
  audio: 'audio',
  seed: 'seed',
  negative: 'negative_prompt',
} as const;
type FormField = keyof typeof FIELD_NAMES;

/** Dotted paths in a request body by form field; fields the vendor does not support are missing and not offered. */
type RequestPaths = Readonly<Partial<Record<FormField, string>>>;

const COMMON_PATHS: RequestPaths = { seconds: 'duration', size: 'size', mode: 'mode' };

/** Request paths of the form's fields for a model; the common paths for a model that is no longer available. */
export function requestPathsFor(model: Pick<UsableModel, 'fields'> | undefined): RequestPaths {
  if (model === undefined) return COMMON_PATHS;
  const entries = Object.entries(FIELD_NAMES).map(([field, name]) => [field, model.fields[name]] as const);
  return Object.fromEntries(entries.filter(([, path]) => path !== undefined));
}

type Json = Record<string, unknown>;

/** Request body of a draft. @throws SyntaxError if the additional parameters are not a JSON object */
function toBody(draft: Draft, paths: RequestPaths): Json & { model: string } {
  const body: Json & { model: string } = { model: draft.model };
  if (draft.prompt.trim() !== '') body.prompt = draft.prompt.trim();
  if (draft.metadata.trim() !== '') body.metadata = parseJsonObject(draft.metadata);
  for (const [field, path] of Object.entries(paths)) {
    const value = toRequestValue(draft, field as FormField, path);
    if (value !== undefined) setAtPath(body, path, value);
  }
  const [first, ...others] = draft.images;
  if (first !== undefined && others.length === 0) body.image = first.src;
  if (others.length > 0) body.images = draft.images.map(({ src }) => src);
  return { ...body, ...draft.extra };
}

function toRequestValue(draft: Draft, field: FormField, path: string): unknown {
  const value = draft[field];
  if (value === undefined || value === '') return undefined;
  if (path === 'seconds') return `${draft.seconds}`;
  return field === 'seed' ? Number(value) : value;
}

function parseJsonObject(text: string): Json {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new SyntaxError('not an object');
  return value;
}

function setAtPath(body: Json, path: string, value: unknown): void {
  const keys = path.split('.');
  const last = keys.pop();
  let at = body;
  for (const key of keys) {
    const next = at[key];
    const copy = isObject(next) ? { ...next } : {};
    at[key] = copy;
    at = copy;
  }
  if (last !== undefined) at[last] = value;
}

function removeAtPath(body: Json, path: string): unknown {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let at: Json = body;
  for (const key of keys) {
    const next = at[key];
    if (!isObject(next)) return undefined;
    at = next;
  }
  const value = at[last];
  delete at[last];
  return value;
}

/** Restores the draft of a stored request, for reuse. Stored requests do not contain uploaded images. */
export function fromBody(request: unknown, paths: RequestPaths, empty: Draft): { draft: Draft; lostImages: number } {
  const body: Json = isObject(request) ? structuredClone(request) : {};
  const draft: { -readonly [Field in keyof Draft]: Draft[Field] } = { ...empty };
  draft.model = typeof body.model === 'string' ? body.model : '';
  draft.prompt = typeof body.prompt === 'string' ? body.prompt : '';
  for (const [field, path] of Object.entries(paths)) {
    const value = removeAtPath(body, path);
    if (value === undefined) continue;
    if (field === 'seconds') draft.seconds = Number(value);
    else if (field === 'audio') draft.audio = value === true;
    else if (typeof value === 'string' || typeof value === 'number') Object.assign(draft, { [field]: String(value) });
  }
  const given = [body.image, ...(Array.isArray(body.images) ? body.images : []), body.input_reference].filter(
    (each): each is string => typeof each === 'string',
  );
  const links = given.filter((each) => /^https?:\/\//i.test(each));
  draft.images = links.map((src) => ({ src, name: src }));
  const rest = omitEmptyObjects(body.metadata);
  draft.metadata = rest === undefined ? '' : JSON.stringify(rest, null, 2);
  return { draft, lostImages: given.length - links.length };
}

/** Omits objects that have become empty. */
function omitEmptyObjects(value: unknown): unknown {
  if (!isObject(value)) return value;
  const kept = Object.entries(value)
    .map(([key, each]) => [key, omitEmptyObjects(each)] as const)
    .filter(([, each]) => each !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Maximum number of models in a comparison. */
export const MAX_COMPARED = 4;

/** Models of a draft, starting with the form's own; models that are no longer available are omitted. */
export function modelsOfDraft(draft: Draft, models: readonly UsableModel[]): readonly UsableModel[] {
  const ids = [...new Set([draft.model, ...draft.compare])];
  return ids.flatMap((id) => models.find((model) => model.id === id && model.permitted) ?? []).slice(0, MAX_COMPARED);
}

/**
 * Requests of a draft, one per model, each adapted to the model's capabilities; undefined if the draft is not a valid
 * request.
 */
export function bodiesFor(draft: Draft, models: readonly UsableModel[]): readonly VideoBody[] | undefined {
  try {
    return models.map((model) => toModelBody(draft, model));
  } catch {
    return undefined;
  }
}

/**
 * Request body of a draft, adapted to the model. @throws SyntaxError if the additional parameters are not a JSON object
 */
export function toModelBody(draft: Draft, model: UsableModel): VideoBody {
  const fitted = model.id === draft.model ? draft : fitDraftToModel(draft, model).draft;
  return toBody(fitted, requestPathsFor(model)) as VideoBody;
}

/** Adds a model to the comparison or removes it; the first model stays the form's model. */
export function toggleCompared(draft: Draft, id: string): Draft['compare'] {
  if (draft.compare.includes(id)) return draft.compare.filter((each) => each !== id);
  return id === draft.model || draft.compare.length >= MAX_COMPARED - 1 ? draft.compare : [...draft.compare, id];
}

/** A form stored in this browser, named by the user (template) or by its prompt (draft). */
export interface SavedDraft {
  readonly name: string;
  readonly draft: Draft;
}

/** `templates` are kept until deleted; `drafts` are the most recently replaced forms. */
export type SavedFormList = 'templates' | 'drafts';
const CAPACITY: Readonly<Record<SavedFormList, number>> = { templates: 50, drafts: 8 };
const MAX_NAME_LENGTH = 60;

const keyOf = (list: SavedFormList): string => `${DRAFT_KEY_PREFIX}.${list}`;

/** Completes a form from browser storage. Earlier versions stored `images` as `pictures`. */
export function restoreDraft(stored: Partial<Draft> & { readonly pictures?: Draft['images'] }): Draft {
  const { pictures = [], ...draft } = stored;
  return { ...EMPTY_DRAFT, images: pictures, ...draft };
}

/** Reads a list of stored forms; empty if it is missing or unreadable. */
export function readSavedForms(list: SavedFormList): readonly SavedDraft[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(list)) ?? '[]');
    return Array.isArray(kept)
      ? kept.map(({ name, draft }: SavedDraft) => ({ name: String(name), draft: restoreDraft(draft) }))
      : [];
  } catch {
    return [];
  }
}

/**
 * Adds a form to a list, replacing one of the same name. Uploaded images are omitted, because browser storage is small.
 */
export function saveDraft(list: SavedFormList, draft: Draft, name = draft.prompt.trim()): void {
  const label = name.slice(0, MAX_NAME_LENGTH);
  if (label === '') return;
  const links = { ...draft, images: draft.images.filter(({ src }) => !src.startsWith('data:')) };
  const others = readSavedForms(list).filter((each) => each.name !== label);
  write(list, [{ name: label, draft: links }, ...others].slice(0, CAPACITY[list]));
}

/** Removes a form from a list. */
export function removeSavedForm(list: SavedFormList, name: string): void {
  write(
    list,
    readSavedForms(list).filter((each) => each.name !== name),
  );
}

const write = (list: SavedFormList, saved: readonly SavedDraft[]): void =>
  localStorage.setItem(keyOf(list), JSON.stringify(saved));
