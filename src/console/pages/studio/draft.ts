import {
  type GenerationWay,
  INPUT_ROLES,
  INPUT_TYPES,
  type VideoOperation,
} from '../../../contract/generation-ways.ts';
import { isObject } from '../../../contract/objects.ts';
import { randomId } from '../../../contract/random-id.ts';
import { DRAFT_KEY_PREFIX } from '../../data/browser-storage.ts';
import type { UsableModel } from '../../data/self.ts';
import type { VideoBody } from '../../data/videos.ts';
import { addInput, type DraftInput, type InputSource, possibleWays, toRequestInputs } from './inputs.ts';

/** Numbers of videos one submit can generate. */
export const COUNTS = [1, 2, 4] as const;
export type Count = (typeof COUNTS)[number];

/** The count nearest to a number, for stored forms. */
export const toCount = (value: number): Count => COUNTS.findLast((count) => count <= value) ?? 1;

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
  /** Number of videos to generate from one submit. */
  readonly count: Count;
  readonly operation: VideoOperation;
  readonly inputs: readonly DraftInput[];
  /** Additional parameters as JSON text, by the vendor's names. */
  readonly metadata: string;
  /** Values of the model's media schema. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** Changes fields of the form; a function receives the form as it is when the change is applied. */
export type ChangeDraft = (change: Partial<Draft> | ((draft: Draft) => Partial<Draft>)) => void;

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
  count: 1,
  operation: 'generate',
  inputs: [],
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
};

/** Part of a form that determines a model's options. */
type Use = Pick<Draft, 'operation' | 'inputs' | 'resolution'>;

/**
 * Controls of a model for the inputs of a form, because a combination of inputs may offer less; common ones if the
 * model is unknown.
 */
export function controlsFor(model: UsableModel | undefined, use: Use = EMPTY_DRAFT): AvailableControls {
  const capability = model?.capability;
  if (model === undefined || capability == null) return DEFAULT_CONTROLS;
  const fields = requestPathsFor(model);
  const ways = possibleWays(model, use.operation, use.inputs);
  const { resolutions, ratios } = capability;
  const offered = (name: 'resolutions' | 'ratios', all: readonly string[]): readonly string[] =>
    ways.length === 0 ? all : all.filter((each) => ways.some((way) => (way[name] ?? all).includes(each)));
  const has = (field: FormField): boolean => field in fields;
  // An exact size already determines ratio and resolution.
  const exact = has('size') && capability.sizes.some((size) => /\d[x*]\d/.test(size));
  return {
    seconds: durationsFor(capability.seconds as DurationRange, ways, use.resolution),
    ratios: !exact && has('ratio') ? offered('ratios', ratios) : [],
    resolutions: !exact && has('resolution') && resolutions.length > 1 ? offered('resolutions', resolutions) : [],
    sizes: exact ? capability.sizes : [],
    modes: capability.modes,
    audio: capability.audio && has('audio'),
    negative: capability.negative_prompt && has('negative'),
    seed: capability.seed && has('seed'),
  };
}

/** Durations of the ways that have the resolution; undefined where the inputs determine the duration. */
function durationsFor(
  all: DurationRange,
  ways: readonly GenerationWay[],
  resolution: string,
): DurationRange | undefined {
  const offering = ways.filter((way) => resolution === '' || (way.resolutions ?? [resolution]).includes(resolution));
  const values = [...new Set(offering.flatMap(({ seconds }) => seconds ?? []))].sort((one, other) => one - other);
  const [first] = values;
  if (offering.length === 0 || offering.some(({ seconds }) => seconds === undefined)) return all;
  if (first === undefined) return undefined;
  const usual = values.includes(all.default) ? all.default : first;
  const isRange = 'min' in all && values.length > 2 && values.every((each, index) => each === first + index);
  return isRange ? { min: first, max: first + values.length - 1, default: usual } : { values, default: usual };
}

/** Adapts a draft to a model: keeps supported values, and lists the fields that were dropped or changed. */
export function fitDraftToModel(
  draft: Draft,
  model: UsableModel,
): { readonly draft: Draft; readonly dropped: readonly DraftField[] } {
  const controls = controlsFor(model, draft);
  const dropped: DraftField[] = [];
  const keep = <F extends DraftField>(field: F, fits: boolean, instead: Draft[F]): Draft[F] => {
    if (fits) return draft[field];
    if (draft[field] !== instead && draft[field] !== EMPTY_DRAFT[field]) dropped.push(field);
    return instead;
  };
  // Inputs are kept, and the form names those the model cannot use.
  const one = (field: 'ratio' | 'resolution' | 'size', values: readonly string[]): string =>
    keep(field, values.includes(draft[field]), '');
  const fitted: Draft = {
    ...draft,
    model: model.id,
    compare: draft.compare.filter((id) => id !== model.id),
    seconds:
      controls.seconds === undefined && draft.operation !== 'generate'
        ? undefined
        : keep('seconds', isAllowedDuration(draft.seconds, controls.seconds), controls.seconds?.default),
    ratio: one('ratio', controls.ratios),
    resolution: one('resolution', controls.resolutions),
    size: one('size', controls.sizes),
    mode: keep('mode', controls.modes.includes(draft.mode), controls.modes[0] ?? ''),
    audio: keep('audio', controls.audio, undefined),
    negative: keep('negative', controls.negative, ''),
    seed: keep('seed', controls.seed, ''),
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
  if (draft.operation !== 'generate') body.operation = draft.operation;
  if (draft.inputs.length > 0) body.inputs = toRequestInputs(draft.inputs);
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

/** Restores the draft of a stored request, for reuse. Stored requests do not contain images sent by value. */
export function fromBody(request: unknown, paths: RequestPaths, empty: Draft): { draft: Draft; lostInputs: number } {
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
  if (body.operation === 'edit' || body.operation === 'extend') draft.operation = body.operation;
  const images = [body.image, body.images, body.input_reference].flat().filter((each) => typeof each === 'string');
  const typed = Array.isArray(body.inputs) ? (body.inputs as unknown[]).map(toDraftInput) : [];
  draft.inputs = [...typed.filter((each) => each !== undefined), ...toImageInputs(images.filter(isUrl))];
  const lostInputs = typed.length + images.length - draft.inputs.length;
  const rest = omitEmptyObjects(body.metadata);
  draft.metadata = rest === undefined ? '' : JSON.stringify(rest, null, 2);
  return { draft, lostInputs };
}

const isUrl = (text: string): boolean => /^https?:\/\//i.test(text);

/** Images of the older request fields and of earlier versions, whose role depends on their number. */
const toImageInputs = (links: readonly string[]): readonly DraftInput[] =>
  links.reduce<readonly DraftInput[]>(
    (inputs, link) =>
      addInput(
        inputs,
        { key: randomId(), type: 'image', name: isUrl(link) ? link : '', source: toImageSource(link) },
        undefined,
        'generate',
      ),
    [],
  );

const toImageSource = (link: string): InputSource => (isUrl(link) ? { url: link } : { data: link });

/** An input of a stored request; undefined for one whose content was not stored. */
function toDraftInput(given: unknown): DraftInput | undefined {
  if (!isObject(given)) return undefined;
  const source =
    typeof given.file_id === 'string'
      ? { file_id: given.file_id }
      : typeof given.url === 'string'
        ? { url: given.url }
        : undefined;
  if (source === undefined) return undefined;
  const type = INPUT_TYPES.find((each) => each === given.type) ?? 'image';
  return {
    key: randomId(),
    type,
    at: typeof given.at === 'number' ? given.at : undefined,
    role: INPUT_ROLES.find((each) => each === given.role) ?? (type === 'image' ? 'first_frame' : 'reference'),
    name: source.url ?? '',
    source,
  };
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
 * Requests of a draft: one per compared model, or several of a single model, each adapted to the model's capabilities;
 * undefined if the draft is not a valid request. A chosen seed is counted up, so that no two videos are the same.
 */
export function bodiesFor(draft: Draft, models: readonly UsableModel[]): readonly VideoBody[] | undefined {
  const copies = models.length === 1 ? draft.count : 1;
  const withSeed = (index: number): Draft =>
    draft.seed === '' || index === 0 ? draft : { ...draft, seed: String(Number(draft.seed) + index) };
  try {
    return models.flatMap((model) => Array.from({ length: copies }, (_, index) => toModelBody(withSeed(index), model)));
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

/** A form as stored by this and earlier versions, which had `images`, and before that `pictures`. */
type StoredDraft = Partial<Draft> &
  Readonly<Partial<Record<'images' | 'pictures', readonly { readonly src: string }[]>>>;

/** Completes a form from browser storage; uploads that a reload interrupted are dropped. */
export function restoreDraft({ pictures = [], images = pictures, inputs = [], ...draft }: StoredDraft): Draft {
  const kept = inputs.filter(({ source }) => source !== undefined);
  return {
    ...EMPTY_DRAFT,
    ...draft,
    inputs: [...kept, ...toImageInputs(images.map(({ src }) => src))],
    count: toCount(draft.count ?? 1),
  };
}

/** The form without files of this page, for the small storage of a browser. */
export const withoutData = (draft: Draft): Draft => ({
  ...draft,
  inputs: draft.inputs.filter(({ source }) => source !== undefined && !('data' in source)),
});

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

/** Adds a form to a list, replacing one of the same name. */
export function saveDraft(list: SavedFormList, draft: Draft, name = draft.prompt.trim()): void {
  const label = name.slice(0, MAX_NAME_LENGTH);
  if (label === '') return;
  const others = readSavedForms(list).filter((each) => each.name !== label);
  write(list, [{ name: label, draft: withoutData(draft) }, ...others].slice(0, CAPACITY[list]));
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
