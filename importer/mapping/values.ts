import type { SourceDatabase, SourceRow } from '../source.ts';

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

/** An exact decimal: `value` × 10^-`places`. */
export interface Decimal {
  readonly value: bigint;
  readonly places: number;
}

/** A JavaScript number as the decimal it is written as: 0.1 is one tenth. Undefined for what is no finite number. */
export function toDecimal(number: number): Decimal | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number));
  if (match === null) return undefined;
  const [, sign, whole = '0', decimals = '', exponent = '0'] = match;
  const value = BigInt(`${sign}${whole}${decimals}`);
  const places = decimals.length - Number(exponent);
  return places >= 0 ? { value, places } : { value: value * 10n ** BigInt(-places), places: 0 };
}

export const multiply = (...factors: readonly Decimal[]): Decimal => ({
  value: factors.reduce((product, { value }) => product * value, 1n),
  places: factors.reduce((sum, { places }) => sum + places, 0),
});

/** Rounded half away from zero. `exact`: nothing was rounded. */
export function round({ value, places }: Decimal): { readonly quota: bigint; readonly exact: boolean } {
  const unit = 10n ** BigInt(places);
  const negative = value < 0n;
  const size = negative ? -value : value;
  const quota = (size * 2n + unit) / (unit * 2n);
  return { quota: negative ? -quota : quota, exact: size % unit === 0n };
}

/** What becomes of a row of the source: a value with remarks on what differs, or nothing, with the reason. */
export type Outcome<T> =
  | { readonly kind: 'mapped'; readonly value: T; readonly remarks: readonly string[] }
  | { readonly kind: 'skipped'; readonly reason: string };

export const mapped = <T>(value: T, remarks: readonly string[] = []): Outcome<T> => ({
  kind: 'mapped',
  value,
  remarks,
});
export const skipped = (reason: string): Outcome<never> => ({ kind: 'skipped', reason });

/** The stored options. What was never changed is not stored, and has the program's own default. */
export async function readOptions(source: SourceDatabase): Promise<ReadonlyMap<string, string>> {
  const rows = await source.query('select [key], [value] from [options]');
  return new Map(rows.map((row) => [textOf(row, 'key'), row.value ?? '']));
}
