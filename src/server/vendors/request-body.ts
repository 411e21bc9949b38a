import { defined } from '../../contract/omit-undefined.ts';
import { UnsupportedRequestError } from '../upstreams/error.ts';
import type { Json, VideoRequest } from './adapter.ts';
import { asText } from './untrusted-json.ts';

/** A vendor's request body while it is being built. */
export type RequestBody = { [key: string]: Json };

/** Names that reach into prototypes, anywhere in a path. */
const PROTOTYPE_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const ARRAY_INDEX = /^\d{1,3}$/;

const isContainer = (value: unknown): value is RequestBody | Json[] => typeof value === 'object' && value !== null;

function getChild(parent: RequestBody | Json[], key: string): Json | undefined {
  if (Array.isArray(parent)) return ARRAY_INDEX.test(key) ? parent[Number(key)] : undefined;
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

function setChild(parent: RequestBody | Json[], key: string, value: Json, path: string): void {
  if (!Array.isArray(parent)) parent[key] = value;
  else if (ARRAY_INDEX.test(key) && Number(key) <= parent.length) parent[Number(key)] = value;
  else throw new UnsupportedRequestError(`${path} does not lead into the upstream's request.`, path);
}

/**
 * Sets `value` at a dotted path (`parameters.seed`, `content.0.text`), creating missing objects; numbers index arrays
 * that exist already. Refuses paths through prototypes and through values that are no containers. Containers on the
 * path are copied before they are written to, so that nothing but `body` itself changes.
 */
export function setPath(body: RequestBody, path: string, value: Json): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  if (last === '' || keys.includes('') || PROTOTYPE_KEYS.has(last) || keys.some((key) => PROTOTYPE_KEYS.has(key))) {
    throw new UnsupportedRequestError(`${path} is no path into the upstream's request.`, path);
  }
  let parent: RequestBody | Json[] = body;
  for (const key of keys) {
    const found = getChild(parent, key);
    if (found !== undefined && !isContainer(found))
      throw new UnsupportedRequestError(`${path} leads through a value.`, path);
    const next: RequestBody | Json[] = Array.isArray(found) ? [...found] : { ...found };
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
export const omitUndefined = (fields: Readonly<Record<string, Json | undefined>>): RequestBody =>
  defined(fields) as RequestBody;

/**
 * Price factors from a vendor's body; what is not known is left out. Sound counts where it is said either way.
 *
 * @param factors As read from the body, so a value may have any type: media schemas of administrators write into it.
 */
export const knownFactors = (factors: {
  readonly resolution?: unknown;
  readonly size?: string | undefined;
  readonly audio?: unknown;
}): { readonly [factor: string]: string } =>
  defined({
    resolution: asText(factors.resolution),
    size: factors.size,
    audio: typeof factors.audio === 'boolean' ? String(factors.audio) : undefined,
  });

const MAX_SECONDS = 3_600;

/** Whole seconds from a vendor's body, where they may be a number or a text; the price depends on them. */
export function parseSeconds(value: unknown, param: string): number {
  const seconds = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value;
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_SECONDS)
    return seconds;
  throw new UnsupportedRequestError(`${param} must be whole seconds, from 1 to ${MAX_SECONDS}.`, param);
}

/** Frames are rounded to whole macroblocks: OpenAI's own 1792x1024 is 1.6 % off 16:9. */
const RATIO_TOLERANCE = 0.02;

/** `16:9` from `1280x720` or `1280*720`, if it is one of `ratios` (within 2 %); undefined otherwise. */
export function matchAspectRatio(size: string, ratios: readonly string[]): string | undefined {
  const match = /^(\d{1,5})\s*[x*×]\s*(\d{1,5})$/i.exec(size);
  const asked = match ? Number(match[1]) / Number(match[2]) : Number.NaN;
  return ratios.find((ratio) => {
    const [width = 0, height = 1] = ratio.split(':').map(Number);
    return Math.abs(asked / (width / height) - 1) < RATIO_TOLERANCE;
  });
}

/** Refuses a common field that this vendor does not have. */
export function rejectField(param: string, why: string): never {
  throw new UnsupportedRequestError(`${param} ${why}.`, param);
}
