import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import { hasConcurrentWriters, type KeyRange, type Period, type TimedRows, toKeyRange } from '../platform/db/sql.ts';
import type { Tables } from '../tables.ts';

/** Position in a list: that of the last row of a page. */
export interface RequestCursor {
  readonly createdAt: number;
  readonly seq: number;
}

export const REQUEST_ROWS: TimedRows = { table: 'requests', key: 'seq', time: 'created_at' };

export const keysOf = (kysely: Kysely<Tables>, period: Period): Promise<KeyRange> =>
  toKeyRange(kysely, REQUEST_ROWS, period);

type Rows<O> = SelectQueryBuilder<Tables & { tokens: Tables['tokens'] | null }, 'requests', O>;

/** Newest first, in the order the engine has an index for. */
export const newestFirst = <O>(kysely: Kysely<Tables>, query: Rows<O>): Rows<O> =>
  hasConcurrentWriters(kysely)
    ? query.orderBy('requests.created_at', 'desc').orderBy('requests.seq', 'desc')
    : query.orderBy('requests.seq', 'desc');

/** What comes after a row in that order. */
export const olderThan = <O>(kysely: Kysely<Tables>, query: Rows<O>, { createdAt, seq }: RequestCursor): Rows<O> =>
  hasConcurrentWriters(kysely)
    ? query.where(sql<boolean>`(requests.created_at, requests.seq) < (${createdAt}, ${seq})`)
    : query.where('requests.seq', '<', seq);
