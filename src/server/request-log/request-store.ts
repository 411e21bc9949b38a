import { type Selectable, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { RequestKind, RequestStatus } from '../../contract/request-kinds-and-statuses.ts';
import type { Database } from '../platform/db/database.ts';
import { defaultPartitionOf, MonthlyPartitions } from '../platform/db/monthly-partitions.ts';
import { prepareInsert } from '../platform/db/prepared-query.ts';
import { deleteOldRows, hasConcurrentWriters, type KeyRange } from '../platform/db/sql.ts';
import type { Tables, Trx } from '../tables.ts';
import type { NewRequestRow } from './call-to-request-row.ts';
import {
  keysOf,
  newestFirst,
  olderThan,
  REQUEST_ROWS,
  type RequestCursor,
} from './request-list-sort-and-cursor-store.ts';

export type RequestRow = Selectable<Tables['requests']>;
/** A row as it is listed, with the name of its token; null where that was deleted or there is none. */
export type ListedRequest = RequestRow & { readonly token_name: string | null };

export interface RequestFilter {
  readonly userId?: number | undefined;
  readonly channelId?: number | undefined;
  readonly tokenId?: number | undefined;
  readonly model?: string | undefined;
  readonly status?: RequestStatus | undefined;
  readonly kind?: RequestKind | undefined;
  /** Unix milliseconds; `to` is not included. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

const insertRows = prepareInsert<Tables, NewRequestRow>('requests', [
  'ref',
  'user_id',
  'token_id',
  'channel_id',
  'kind',
  'model',
  'served_model',
  'status',
  'error_code',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'seconds',
  'quota',
  'reserved',
  'duration_ms',
  'first_token_ms',
  'stream',
  'client',
  'price',
  'facts',
  'created_at',
]);

/** In the words of the index, which is used only by them. */
const NOTHING_RESERVED = sql<SqlBool>`reserved = 0`;

/** SQL of the request log. */
export class RequestStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  insert(trx: Trx, rows: readonly NewRequestRow[]): Promise<void> {
    return insertRows(trx, rows);
  }

  /** Newest first. */
  async list(filter: RequestFilter, after: RequestCursor | undefined, limit: number): Promise<ListedRequest[]> {
    const { kysely } = this.#database;
    const rows = this.#rows(filter, await keysOf(kysely, filter));
    const page = after === undefined ? rows : olderThan(kysely, rows, after);
    return (await newestFirst(kysely, page).limit(limit).execute()) as ListedRequest[];
  }

  /** Rows written after `seq`, in their order. */
  listWrittenAfter(seq: number, limit: number): Promise<ListedRequest[]> {
    return this.#rows({}, {}).where('requests.seq', '>', seq).orderBy('requests.seq').limit(limit).execute() as Promise<
      ListedRequest[]
    >;
  }

  /** 0: there are no rows. */
  async newestSeq(): Promise<number> {
    const row = await this.#database.kysely
      .selectFrom('requests')
      .select('seq')
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row?.seq ?? 0;
  }

  /**
   * By the reference in the ledger. On SQLite only calls for which nothing was reserved have an index on it, as it would cost all
   * others: those have entries in the ledger, which are found by it and have the time of the row.
   *
   * @param endedAt time of the entry that closed it, Unix milliseconds; undefined: there is none
   */
  async findByRef(ref: string, endedAt: number | undefined): Promise<RequestRow | undefined> {
    const { kysely } = this.#database;
    const rows = kysely.selectFrom('requests').selectAll().where('ref', '=', ref);
    if (hasConcurrentWriters(kysely)) return rows.executeTakeFirst();
    if (endedAt !== undefined) {
      const { first = 0, before = 0 } = await keysOf(kysely, { from: endedAt, to: endedAt + 1 });
      const row = await rows.where('seq', '>=', first).where('seq', '<', before).executeTakeFirst();
      if (row !== undefined) return row;
    }
    return rows.where(NOTHING_RESERVED).executeTakeFirst();
  }

  /**
   * The newest call whose caller chose this id for its request: its reference is the id and one of ours behind a dot.
   *
   * @param userId undefined: anybody's
   */
  async findByRequestId(id: string, userId: number | undefined): Promise<RequestRow | undefined> {
    const { kysely } = this.#database;
    const rows = kysely
      .selectFrom('requests')
      .selectAll()
      .where('ref', '>', `req_${id}.`)
      // The character after the dot.
      .where('ref', '<', `req_${id}/`)
      .$if(userId !== undefined, (query) => query.where('user_id', '=', userId ?? 0))
      .orderBy('created_at', 'desc')
      .limit(1);
    if (hasConcurrentWriters(kysely)) return rows.executeTakeFirst();
    const entry = await kysely
      .selectFrom('ledger')
      .select(['ref', 'created_at'])
      .where('ref', '>', `req_${id}.`)
      .where('ref', '<', `req_${id}/`)
      .where('kind', 'in', ['settle', 'refund'])
      .$if(userId !== undefined, (query) => query.where('user_id', '=', userId ?? 0))
      .orderBy('created_at', 'desc')
      .limit(1)
      .executeTakeFirst();
    const refused = await rows.where(NOTHING_RESERVED).executeTakeFirst();
    const closed = entry && (await this.findByRef(entry.ref, entry.created_at));
    return closed === undefined || (refused !== undefined && refused.seq > closed.seq) ? refused : closed;
  }

  /**
   * Deletes at most `limit` rows of calls that ended before a time. On PostgreSQL a month goes as a whole, once all of it is before
   * that, and single rows only where they belong to no month. @returns how many rows
   */
  async deleteBefore(before: number, limit: number): Promise<number> {
    const { kysely } = this.#database;
    const isPartitioned = hasConcurrentWriters(kysely);
    if (!isPartitioned) return deleteOldRows(kysely, { ...REQUEST_ROWS, keysAscendWithTime: true }, before, limit);
    await new MonthlyPartitions(this.#database, 'requests').dropBefore(before);
    return deleteOldRows(kysely, { ...REQUEST_ROWS, table: defaultPartitionOf('requests') }, before, limit);
  }

  #rows(filter: RequestFilter, range: KeyRange) {
    const rows = this.#database.kysely
      .selectFrom('requests')
      .leftJoin('tokens', 'tokens.id', 'requests.token_id')
      .selectAll('requests')
      .select('tokens.name as token_name');
    return applyFilter(rows, filter, range);
  }
}

/**
 * Undefined members filter nothing.
 *
 * @param range of the filter's period
 */
export function applyFilter<O>(
  query: SelectQueryBuilder<Tables & { tokens: Tables['tokens'] | null }, 'requests', O>,
  filter: RequestFilter,
  { first, before }: KeyRange,
) {
  const { userId, channelId, tokenId, model, status, kind, from, to } = filter;
  let filtered = query;
  if (userId !== undefined) filtered = filtered.where('requests.user_id', '=', userId);
  if (channelId !== undefined) filtered = filtered.where('requests.channel_id', '=', channelId);
  if (tokenId !== undefined) filtered = filtered.where('requests.token_id', '=', tokenId);
  if (model !== undefined) filtered = filtered.where('requests.model', '=', model);
  if (status !== undefined) filtered = filtered.where('requests.status', '=', status);
  if (kind !== undefined) filtered = filtered.where('requests.kind', '=', kind);
  if (from !== undefined) filtered = filtered.where('requests.created_at', '>=', from);
  if (to !== undefined) filtered = filtered.where('requests.created_at', '<', to);
  if (first !== undefined) filtered = filtered.where('requests.seq', '>=', first);
  if (before !== undefined) filtered = filtered.where('requests.seq', '<', before);
  return filtered;
}
