import type { SourceRow } from '../source/source-database.ts';

/** Text of a column without the blanks some engines pad it with; empty where it is null or missing. */
export const textOf = (row: SourceRow, column: string): string => (row[column] ?? '').trim();

/** A whole number; `otherwise` where there is none. */
export function integerOf(row: SourceRow, column: string, otherwise = 0n): bigint {
  const text = textOf(row, column);
  if (/^-?\d+$/.test(text)) return BigInt(text);
  // Engines without strict types keep what a program wrote, 5e+06 and 12.0 among it.
  const value = text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? BigInt(Math.trunc(value)) : otherwise;
}

/** The same as a number, within what JavaScript counts exactly. */
export function smallIntegerOf(row: SourceRow, column: string, otherwise = 0): number {
  const value = integerOf(row, column, BigInt(otherwise));
  const most = BigInt(Number.MAX_SAFE_INTEGER);
  return Number(value > most ? most : value < -most ? -most : value);
}

export const flagOf = (row: SourceRow, column: string): boolean => /^(1|t|true)$/i.test(textOf(row, column));

/** Soft-deleted rows have the time of it. */
export const isDeleted = (row: SourceRow): boolean => textOf(row, 'deleted_at') !== '';

/** A JSON object in a column; undefined where it is empty or none. */
export function objectOf(row: SourceRow, column: string): Readonly<Record<string, unknown>> | undefined {
  return parseObject(textOf(row, column));
}

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

/** Entries of a list that is written with commas or line ends. */
export const splitList = (text: string): string[] =>
  text
    .split(/[,\n\r]+/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/** Text that may be shown next to the text of others, cut to a length in code points. */
export const toPlainText = (text: string, most: number): string =>
  [...text.replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu, ' ').trim()].slice(0, most).join('');

/** Unix milliseconds from a column of Unix seconds; undefined for 0, -1 and other values that are no time. */
export function timeOf(row: SourceRow, column: string): number | undefined {
  const seconds = smallIntegerOf(row, column);
  return seconds > 0 && seconds < 253_402_300_800 ? seconds * 1000 : undefined;
}
