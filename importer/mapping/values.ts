import { toWellFormedText } from '../../src/server/platform/text.ts';
import type { SourceDatabase, SourceRow } from '../source.ts';

/**
 * Text of a column without the blanks some engines pad it with, and without what PostgreSQL cannot store, which SQLite
 * can contain; empty if null or missing.
 */
export const textOf = (row: SourceRow, column: string): string => toWellFormedText(row[column] ?? '').trim();

/** Reads a whole number; `otherwise` if there is none. */
export function integerOf(row: SourceRow, column: string, otherwise = 0n): bigint {
  const text = textOf(row, column);
  if (/^-?\d+$/.test(text)) return BigInt(text);
  // Engines without strict types keep values as written, such as 5e+06 and 12.0.
  const value = text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? BigInt(Math.trunc(value)) : otherwise;
}

/** Reads a whole number within JavaScript's exact range. */
export function smallIntegerOf(row: SourceRow, column: string, otherwise = 0): number {
  const value = integerOf(row, column, BigInt(otherwise));
  const most = BigInt(Number.MAX_SAFE_INTEGER);
  return Number(value > most ? most : value < -most ? -most : value);
}

/** Notations of engines for `true`; MySQL writes a `bit` as a byte. */
const TRUE: ReadonlySet<string> = new Set(['1', '1.0', 't', 'true', '\u0001']);

/** Reads a boolean, in the notation of any engine. */
export const flagOf = (row: SourceRow, column: string): boolean => TRUE.has(textOf(row, column).toLowerCase());

/** Soft-deleted rows contain the time of deletion. */
export const isDeleted = (row: SourceRow): boolean => textOf(row, 'deleted_at') !== '';

/** Reads a JSON object; undefined if the column is empty or contains no object. */
export function objectOf(row: SourceRow, column: string): Readonly<Record<string, unknown>> | undefined {
  return parseObject(textOf(row, column));
}

/** Parses a JSON object; undefined if the text is no object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text === '') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Parses a JSON list; undefined if the text is none. */
export function parseList(text: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Entries of a list separated by commas or line breaks. */
export const splitList = (text: string): string[] =>
  text
    .split(/[,\n\r]+/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/** Sanitizes a text for display and cuts it to a length in code points. */
export const toPlainText = (text: string, most: number): string =>
  [...text.replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu, ' ').trim()].slice(0, most).join('');

/** Unix milliseconds from a column of Unix seconds; undefined for 0, -1 and other values that are no time. */
export function timeOf(row: SourceRow, column: string): number | undefined {
  const seconds = smallIntegerOf(row, column);
  return seconds > 0 && seconds < 253_402_300_800 ? seconds * 1000 : undefined;
}

/** An exact decimal: `value` × 10^-`places`. */
export interface Decimal {
  readonly value: bigint;
  readonly places: number;
}

/**
 * Converts a JavaScript number to the decimal it is written as: 0.1 is one tenth. Undefined for values that are not
 * finite.
 */
export function toDecimal(number: number): Decimal | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number));
  if (match === null) return undefined;
  const [, sign, whole = '0', decimals = '', exponent = '0'] = match;
  const value = BigInt(`${sign}${whole}${decimals}`);
  const places = decimals.length - Number(exponent);
  return places >= 0 ? { value, places } : { value: value * 10n ** BigInt(-places), places: 0 };
}

/** The exact product of decimals. */
export const multiply = (...factors: readonly Decimal[]): Decimal => ({
  value: factors.reduce((product, { value }) => product * value, 1n),
  places: factors.reduce((sum, { places }) => sum + places, 0),
});

/** Rounds half away from zero. `exact`: nothing was rounded. */
export function round({ value, places }: Decimal): { readonly quota: bigint; readonly exact: boolean } {
  const unit = 10n ** BigInt(places);
  const negative = value < 0n;
  const size = negative ? -value : value;
  const quota = (size * 2n + unit) / (unit * 2n);
  return { quota: negative ? -quota : quota, exact: size % unit === 0n };
}

/** The outcome of a source row: a value with remarks on differences, or nothing, with the reason. */
export type Outcome<T> =
  | { readonly kind: 'mapped'; readonly value: T; readonly remarks: readonly string[] }
  | { readonly kind: 'skipped'; readonly reason: string };

/** The outcome of an imported row. */
export const mapped = <T>(value: T, remarks: readonly string[] = []): Outcome<T> => ({
  kind: 'mapped',
  value,
  remarks,
});
/** The outcome of a row that is not imported. */
export const skipped = (reason: string): Outcome<never> => ({ kind: 'skipped', reason });

/** The stored options. An option that was never changed is not stored and has the program's default. */
export async function readOptions(source: SourceDatabase): Promise<ReadonlyMap<string, string>> {
  const rows = await source.query('select [key], [value] from [options]');
  return new Map(rows.map((row) => [textOf(row, 'key'), row.value ?? '']));
}
