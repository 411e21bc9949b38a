import type { BufferedResponse } from '../platform/outbound/outbound-types.ts';
import type { Json } from './adapter-types.ts';

/** Undefined for everything that is no array. */
export const asArray = (value: unknown): readonly unknown[] | undefined => (Array.isArray(value) ? value : undefined);

/** Text, or undefined for other types and for the empty string. */
export const asText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** A table's own entry for an untrusted key, never an inherited one (`constructor`). */
export const ownEntry = <T>(table: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined;

const ID = /^[\x21-\x7e]{1,255}$/;

/** An upstream's id: text or a whole number that JSON represents exactly, without blanks, of bounded length. */
export function asId(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  return typeof value === 'string' && ID.test(value) ? value : undefined;
}

/** An http(s) URL. */
export function asUrl(value: unknown): string | undefined {
  return typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value) ? value : undefined;
}

/** A whole percentage, cut to 0–100. */
export function asPercent(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value)
    ? Math.min(100, Math.max(0, Math.floor(value)))
    : undefined;
}

/** The response as it is stored: its JSON, else the beginning of its text. */
export const toRawResponse = (response: BufferedResponse): Json =>
  response.json === undefined ? response.text.slice(0, 2_000) : (response.json as Json);
