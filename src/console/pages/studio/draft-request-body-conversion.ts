import { isObject } from '../../../contract/objects.ts';
import type { Draft } from './draft-type-and-fit-to-model.ts';
import type { FormField, RequestPaths } from './form-field-request-paths.ts';

type Json = Record<string, unknown>;

/** The request of a draft. @throws SyntaxError where the further parameters are not a JSON object */
export function toBody(draft: Draft, paths: RequestPaths): Json & { model: string } {
  const body: Json & { model: string } = { model: draft.model };
  if (draft.prompt.trim() !== '') body.prompt = draft.prompt.trim();
  if (draft.metadata.trim() !== '') body.metadata = parseJsonObject(draft.metadata);
  for (const [field, path] of Object.entries(paths)) {
    const value = toRequestValue(draft, field as FormField, path);
    if (value !== undefined) setAtPath(body, path, value);
  }
  const [first, ...others] = draft.pictures;
  if (first !== undefined && others.length === 0) body.image = first.src;
  if (others.length > 0) body.images = draft.pictures.map(({ src }) => src);
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

/** The draft a kept request came from, for using it again. Pictures that were uploaded are not kept with requests. */
export function fromBody(request: unknown, paths: RequestPaths, empty: Draft): { draft: Draft; lostPictures: number } {
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
  draft.pictures = links.map((src) => ({ src, name: src }));
  const rest = omitEmptyObjects(body.metadata);
  draft.metadata = rest === undefined ? '' : JSON.stringify(rest, null, 2);
  return { draft, lostPictures: given.length - links.length };
}

/** Without the objects that have become empty. */
function omitEmptyObjects(value: unknown): unknown {
  if (!isObject(value)) return value;
  const kept = Object.entries(value)
    .map(([key, each]) => [key, omitEmptyObjects(each)] as const)
    .filter(([, each]) => each !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
