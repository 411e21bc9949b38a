import { defined } from '../../contract/omit-undefined.ts';
import { LongText } from '../platform/long-text.ts';
import { UnsupportedRequestError } from '../upstreams/vendor-errors.ts';
import type { RequestJson, VideoRequest } from './adapter-types.ts';

/** A vendor's request body while it is being built. */
export type RequestBody = { [key: string]: RequestJson };

/** Names that reach into prototypes, anywhere in a path. */
const PROTOTYPE_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

const ARRAY_INDEX = /^\d{1,3}$/;

const isContainer = (value: unknown): value is RequestBody | RequestJson[] =>
  typeof value === 'object' && value !== null && !(value instanceof LongText);

function getChild(parent: RequestBody | RequestJson[], key: string): RequestJson | undefined {
  if (Array.isArray(parent)) return ARRAY_INDEX.test(key) ? parent[Number(key)] : undefined;
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

function setChild(parent: RequestBody | RequestJson[], key: string, value: RequestJson, path: string): void {
  if (!Array.isArray(parent)) parent[key] = value;
  else if (ARRAY_INDEX.test(key) && Number(key) <= parent.length) parent[Number(key)] = value;
  else throw new UnsupportedRequestError(`${path} does not lead into the upstream's request.`, path);
}

/**
 * Sets `value` at a dotted path (`parameters.seed`, `content.0.text`), creating missing objects; numbers index arrays
 * that exist already. Refuses paths through prototypes and through values that are no containers. Containers on the
 * path are copied before they are written to, so that nothing but `body` itself changes.
 */
export function setPath(body: RequestBody, path: string, value: RequestJson): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  if (last === '' || keys.includes('') || PROTOTYPE_KEYS.has(last) || keys.some((key) => PROTOTYPE_KEYS.has(key))) {
    throw new UnsupportedRequestError(`${path} is no path into the upstream's request.`, path);
  }
  let parent: RequestBody | RequestJson[] = body;
  for (const key of keys) {
    const found = getChild(parent, key);
    if (found !== undefined && !isContainer(found))
      throw new UnsupportedRequestError(`${path} leads through a value.`, path);
    const next: RequestBody | RequestJson[] = Array.isArray(found) ? [...found] : { ...found };
    setChild(parent, key, next, path);
    parent = next;
  }
  setChild(parent, last, value, path);
}

/** Writes the arguments of the model's media schema over the body; they take precedence, since an administrator declared them. */
export function applyExtraFields(body: RequestBody, extra: VideoRequest['extraFields']): RequestBody {
  for (const { path, value } of extra) setPath(body, path, value);
  return body;
}

/** Drops undefined values: `{a: 1, b: undefined}` → `{a: 1}`. */
export const omitUndefined = <Value extends RequestJson>(
  fields: Readonly<Record<string, Value | undefined>>,
): { [key: string]: Value } => defined(fields) as { [key: string]: Value };
