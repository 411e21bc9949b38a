import type { UntrustedObject } from '../../../contract/is-object.ts';
import { invalidRequest } from '../../platform/app-error.ts';
import type { DroppedFields } from './dropped-fields.ts';
import type { Setting } from './neutral-form.ts';
import { notExpressibleError } from './not-expressible-error.ts';

/** Members of a request by what a conversion does with them: those it reads, and those it leaves out. All others are refused. */
export interface FieldTable {
  readonly read: ReadonlySet<string>;
  readonly dropped: ReadonlySet<string>;
}

export const fieldTable = (read: string, dropped: string): FieldTable => ({
  read: new Set(read.split(' ')),
  dropped: new Set(dropped.split(' ')),
});

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

/** @throws AppError `invalid_request` for a member that no other dialect has */
export function checkMembers(
  object: UntrustedObject,
  { read, dropped }: FieldTable,
  notes: DroppedFields,
  prefix = '',
): void {
  for (const key of Object.keys(object)) {
    if (read.has(key) || isNothing(object[key])) continue;
    if (!dropped.has(key)) throw notExpressibleError(prefix + key);
    notes.drop(prefix + key);
  }
}

export const fieldSet = (names: string): ReadonlySet<string> => new Set(names.split(' '));

/** Names the members of a part that are not read, whatever they are. */
export function dropOthers(
  object: UntrustedObject,
  read: ReadonlySet<string>,
  notes: DroppedFields,
  prefix: string,
): void {
  for (const key of Object.keys(object)) if (!read.has(key) && !isNothing(object[key])) notes.drop(`${prefix}.${key}`);
}

export function numberAt(object: UntrustedObject, key: string, prefix = ''): Setting<number> | undefined {
  const value = object[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw invalidRequest(`${prefix}${key} must be a number.`, prefix + key);
  return { value, path: prefix + key };
}

/** A text or a list of texts. */
export function textsAt(object: UntrustedObject, key: string, prefix = ''): Setting<readonly string[]> | undefined {
  const value = object[key];
  if (isNothing(value)) return undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!list.every((each) => typeof each === 'string'))
    throw invalidRequest(`${prefix}${key} must be texts.`, prefix + key);
  return { value: list, path: prefix + key };
}

/** @throws AppError `invalid_request` */
export function objectAt(value: unknown, path: string): UntrustedObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidRequest(`${path} must be an object.`, path);
  return value as UntrustedObject;
}

/** @throws AppError `invalid_request` */
export function listAt(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalidRequest(`${path} must be a list.`, path);
  return value;
}

/** @throws AppError `invalid_request` */
export function textAt(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalidRequest(`${path} must be a text.`, path);
  return value;
}

/** The arguments of a call as an object; a model that had none to give may have left the text empty. */
export function parseArguments(args: string, path: string): object {
  if (args.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(args);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Reported below.
  }
  throw invalidRequest(`${path} must be the JSON of an object.`, path);
}

/** Whether a tool requires arguments that follow its schema exactly. */
export const strictAt = ({ strict }: UntrustedObject, prefix: string): Setting<boolean> | undefined =>
  typeof strict === 'boolean' ? { value: strict, path: `${prefix}.strict` } : undefined;

/** The level of detail at which a picture is processed; `auto` is the default of upstreams. */
export const detailAt = ({ detail }: UntrustedObject, prefix: string): Setting<string> | undefined =>
  typeof detail === 'string' && detail !== 'auto' ? { value: detail, path: `${prefix}.detail` } : undefined;

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,/i;

/** Base64 out of a data URL, or the URL itself. */
export function sourceOf(url: string): { mediaType: string; data: string } | { url: string } {
  const found = DATA_URL.exec(url.slice(0, 200));
  return found === null ? { url } : { mediaType: (found[1] ?? '').toLowerCase(), data: url.slice(found[0].length) };
}

export const toDataUrl = ({ mediaType, data }: { mediaType: string; data: string }): string =>
  `data:${mediaType};base64,${data}`;
