import { type Json, VendorRefusal, type VideoRequest } from './vendor.ts';

/** A vendor's request body while it is put together. */
export type VendorBody = { [key: string]: Json };

/** Names that reach into prototypes, wherever they stand in a path. */
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);
const INDEX = /^\d{1,3}$/;

const isContainer = (value: unknown): value is VendorBody | Json[] => typeof value === 'object' && value !== null;

function child(parent: VendorBody | Json[], key: string): Json | undefined {
  if (Array.isArray(parent)) return INDEX.test(key) ? parent[Number(key)] : undefined;
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

function put(parent: VendorBody | Json[], key: string, value: Json, path: string): void {
  if (!Array.isArray(parent)) parent[key] = value;
  else if (INDEX.test(key) && Number(key) <= parent.length) parent[Number(key)] = value;
  else throw new VendorRefusal(`${path} does not lead into the upstream's request.`, path);
}

/**
 * Sets `value` at a dotted path (`parameters.seed`, `content.0.text`), making the objects on its way; numbers index arrays
 * that are there already. Refuses paths through prototypes and through values that are no containers. Containers on the
 * way are copied before they are written to, so that nothing but `body` itself changes.
 */
export function setPath(body: VendorBody, path: string, value: Json): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  if (last === '' || keys.includes('') || FORBIDDEN.has(last) || keys.some((key) => FORBIDDEN.has(key))) {
    throw new VendorRefusal(`${path} is no path into the upstream's request.`, path);
  }
  let parent: VendorBody | Json[] = body;
  for (const key of keys) {
    const found = child(parent, key);
    if (found !== undefined && !isContainer(found)) throw new VendorRefusal(`${path} leads through a value.`, path);
    const next: VendorBody | Json[] = Array.isArray(found) ? [...found] : { ...found };
    put(parent, key, next, path);
    parent = next;
  }
  put(parent, last, value, path);
}

/** Writes the arguments of the model's media schema over the body; they win, since an administrator declared them. */
export function applyExtra(body: VendorBody, extra: VideoRequest['extra']): VendorBody {
  for (const { path, value } of extra) setPath(body, path, value);
  return body;
}

/** Keeps what is there: `{a: 1, b: undefined}` → `{a: 1}`. */
export function compact(fields: Readonly<Record<string, Json | undefined>>): VendorBody {
  const body: VendorBody = {};
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (value !== undefined) body[key] = value;
  }
  return body;
}

const MAX_SECONDS = 3_600;

/** Whole seconds out of a vendor's body, where they may stand as a number or as text; they set the price. */
export function readSeconds(value: unknown, param: string): number {
  const seconds = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value;
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_SECONDS)
    return seconds;
  throw new VendorRefusal(`${param} must be whole seconds, from 1 to ${MAX_SECONDS}.`, param);
}

/** Frames are rounded to whole macroblocks: OpenAI's own 1792x1024 is 1.6 % off 16:9. */
const TOLERANCE = 0.02;

/** `16:9` from `1280x720` or `1280*720`, if it is one of `ratios` (within 2 %); undefined otherwise. */
export function ratioOf(size: string, ratios: readonly string[]): string | undefined {
  const match = /^(\d{1,5})\s*[x*×]\s*(\d{1,5})$/i.exec(size);
  const asked = match ? Number(match[1]) / Number(match[2]) : Number.NaN;
  return ratios.find((ratio) => {
    const [width = 0, height = 1] = ratio.split(':').map(Number);
    return Math.abs(asked / (width / height) - 1) < TOLERANCE;
  });
}

/** Refuses a common field this vendor has no place for. */
export function refuse(param: string, why: string): never {
  throw new VendorRefusal(`${param} ${why}.`, param);
}
