import type { types as PgTypes } from 'pg';
import { loadPg } from './load-pg.ts';

const BOOL = 16;
const INT8 = 20;
const NUMERIC = 1700;

/** `sum` over int64 columns returns numeric, so both are read as numbers; a value that would lose precision throws. */
function toNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new RangeError(`the integer ${text} is too large for a JavaScript number`);
  }
  return value;
}

const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [BOOL, (text) => (text === 't' ? 1 : 0)],
  [INT8, toNumber],
  [NUMERIC, toNumber],
]);

/** Reads values as SQLite gives them: integers as numbers, the outcome of a comparison as 0 or 1. */
export function postgresTypes(): typeof PgTypes {
  const { types } = loadPg();
  return {
    ...types,
    getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
      (format !== 'binary' && PARSERS.get(oid)) || types.getTypeParser(oid, format)) as typeof types.getTypeParser,
  };
}

/** A condition handed over as a value is 0 or 1, as our columns have it. */
export function toPostgresValue(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value;
}
