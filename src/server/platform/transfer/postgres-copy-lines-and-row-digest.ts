import { hash } from 'node:crypto';
import type { CellValue } from './sqlite-source.ts';

/** What COPY's text format cannot have as it is (PostgreSQL's manual, "COPY", "Text Format"). */
const SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** One value in the text format of PostgreSQL's COPY. @throws Error for text with U+0000, which PostgreSQL cannot store */
export function toCopyField(value: CellValue): string {
  if (value === null) return '\\N';
  if (typeof value === 'bigint' || typeof value === 'number') return String(value);
  if (typeof value !== 'string') return `\\\\x${Buffer.from(value).toString('hex')}`;
  if (value.includes('\0')) throw new Error('it has a character U+0000, which PostgreSQL cannot store');
  return value.replace(SPECIAL, (character) => ESCAPES[character] ?? character);
}

/** One row in the text format of COPY, without the line end. */
export const toCopyLine = (row: readonly CellValue[]): string => row.map(toCopyField).join('\t');

/**
 * A checksum over rows that does not depend on their order: the sum of the first 64 bits of each line's SHA-1. It tells a copy
 * from its original; it is no protection against somebody who forges rows.
 */
export class RowDigest {
  #sum = 0n;
  #rows = 0;

  add(line: string): void {
    this.#sum = (this.#sum + hash('sha1', line, 'buffer').readBigUInt64BE()) & 0xffff_ffff_ffff_ffffn;
    this.#rows += 1;
  }

  get rows(): number {
    return this.#rows;
  }

  toString(): string {
    return this.#sum.toString(16).padStart(16, '0');
  }
}
