import type { Draft, DraftField } from './draft.ts';

/**
 * By vendor, the dotted place in a request where each field of the form goes (service contract, video generation). What a
 * vendor has no word for is missing here and is not offered.
 */
const BY_VENDOR: Readonly<Record<string, Partial<Record<DraftField, string>>>> = {
  kling: { seconds: 'duration', mode: 'mode', ratio: 'metadata.aspect_ratio', negative: 'metadata.negative_prompt' },
  jimeng: { seconds: 'duration', ratio: 'metadata.aspect_ratio', seed: 'metadata.seed' },
  hailuo: { seconds: 'duration', resolution: 'metadata.resolution' },
  seedance: {
    seconds: 'duration',
    ratio: 'metadata.ratio',
    resolution: 'metadata.resolution',
    audio: 'metadata.generate_audio',
    seed: 'metadata.seed',
  },
  wan: {
    seconds: 'duration',
    size: 'size',
    resolution: 'metadata.parameters.resolution',
    audio: 'metadata.parameters.audio',
    seed: 'metadata.parameters.seed',
    negative: 'metadata.input.negative_prompt',
  },
  veo: {
    seconds: 'duration',
    ratio: 'metadata.aspectRatio',
    resolution: 'metadata.resolution',
    negative: 'metadata.negativePrompt',
  },
  vidu: { seconds: 'duration', resolution: 'metadata.resolution', seed: 'metadata.seed' },
  sora: { seconds: 'seconds', size: 'size' },
};
const ANY: Partial<Record<DraftField, string>> = { seconds: 'duration', size: 'size', mode: 'mode' };

export const fieldsOf = (vendor: string): Partial<Record<DraftField, string>> => BY_VENDOR[vendor] ?? ANY;

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The request of a draft. Throws SyntaxError where its further parameters are no JSON object. */
export function toBody(draft: Draft, vendor: string): Json & { model: string } {
  const body: Json & { model: string } = { model: draft.model };
  if (draft.prompt.trim() !== '') body.prompt = draft.prompt.trim();
  if (draft.metadata.trim() !== '') body.metadata = readObject(draft.metadata);
  for (const [field, path] of Object.entries(fieldsOf(vendor))) {
    const value = toWire(draft, field as DraftField, path);
    if (value !== undefined) write(body, path, value);
  }
  const [first, ...others] = draft.pictures;
  if (first !== undefined && others.length === 0) body.image = first.src;
  if (others.length > 0) body.images = draft.pictures.map(({ src }) => src);
  return { ...body, ...draft.extra };
}

function toWire(draft: Draft, field: DraftField, path: string): unknown {
  const value = draft[field];
  if (value === undefined || value === '') return undefined;
  if (path === 'seconds') return `${draft.seconds}`;
  return field === 'seed' ? Number(value) : value;
}

function readObject(text: string): Json {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new SyntaxError('not an object');
  return value;
}

function write(body: Json, path: string, value: unknown): void {
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

function take(body: Json, path: string): unknown {
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
export function fromBody(request: unknown, vendor: string, empty: Draft): { draft: Draft; lostPictures: number } {
  const body: Json = isObject(request) ? structuredClone(request) : {};
  const draft: { -readonly [Field in DraftField]: Draft[Field] } = { ...empty };
  draft.model = typeof body.model === 'string' ? body.model : '';
  draft.prompt = typeof body.prompt === 'string' ? body.prompt : '';
  for (const [field, path] of Object.entries(fieldsOf(vendor))) {
    const value = take(body, path);
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
  const rest = prune(body.metadata);
  draft.metadata = rest === undefined ? '' : JSON.stringify(rest, null, 2);
  return { draft, lostPictures: given.length - links.length };
}

/** Without the objects that have become empty. */
function prune(value: unknown): unknown {
  if (!isObject(value)) return value;
  const kept = Object.entries(value)
    .map(([key, each]) => [key, prune(each)] as const)
    .filter(([, each]) => each !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
