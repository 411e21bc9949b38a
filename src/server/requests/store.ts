import { type Selectable, type SelectQueryBuilder, sql } from 'kysely';
import type { RequestKind, RequestStatus } from '../../contract/request-kinds.ts';
import type { Database } from '../platform/db/database.ts';
import { deleteOldRows } from '../platform/db/delete-old-rows.ts';
import { hasConcurrentWriters } from '../platform/db/dialect.ts';
import { MonthlyPartitions, restOf } from '../platform/db/monthly-partitions.ts';
import { prepareInsert } from '../platform/db/prepared-query.ts';
import type { Tables, Trx } from '../tables.ts';
import type { NewRequestRow } from './request-row.ts';

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

/** Position in a list: that of the last row of a page. */
export interface RequestCursor {
  readonly createdAt: number;
  readonly seq: number;
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
  list(filter: RequestFilter, after: RequestCursor | undefined, limit: number): Promise<ListedRequest[]> {
    const ofPage = this.#rows(filter).$if(after !== undefined, (query) =>
      query.where(sql<boolean>`(requests.created_at, requests.seq) < (${after?.createdAt ?? 0}, ${after?.seq ?? 0})`),
    );
    return ofPage
      .orderBy('requests.created_at', 'desc')
      .orderBy('requests.seq', 'desc')
      .limit(limit)
      .execute() as Promise<ListedRequest[]>;
  }

  /** Rows written after `seq`, in their order. */
  listWrittenAfter(seq: number, limit: number): Promise<ListedRequest[]> {
    return this.#rows({}).where('requests.seq', '>', seq).orderBy('requests.seq').limit(limit).execute() as Promise<
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

  /** By the reference in the ledger. */
  findByRef(ref: string): Promise<RequestRow | undefined> {
    return this.#database.kysely.selectFrom('requests').selectAll().where('ref', '=', ref).executeTakeFirst();
  }

  /**
   * The newest call whose caller chose this id for its request: its reference is the id and one of ours behind a dot.
   *
   * @param userId undefined: anybody's
   */
  findByRequestId(id: string, userId: number | undefined): Promise<RequestRow | undefined> {
    return (
      this.#database.kysely
        .selectFrom('requests')
        .selectAll()
        .where('ref', '>', `req_${id}.`)
        // The character after the dot.
        .where('ref', '<', `req_${id}/`)
        .$if(userId !== undefined, (query) => query.where('user_id', '=', userId ?? 0))
        .orderBy('created_at', 'desc')
        .limit(1)
        .executeTakeFirst()
    );
  }

  /**
   * Deletes at most `limit` rows of calls that began before a time. On PostgreSQL a month goes as a whole, once all of it is before
   * that, and single rows only where they belong to no month. @returns how many rows
   */
  async deleteBefore(before: number, limit: number): Promise<number> {
    const { kysely } = this.#database;
    const isPartitioned = hasConcurrentWriters(kysely);
    if (isPartitioned) await new MonthlyPartitions(this.#database, 'requests').dropBefore(before);
    const table = isPartitioned ? restOf('requests') : 'requests';
    return deleteOldRows(kysely, { table, key: 'seq', time: 'created_at' }, before, limit);
  }

  #rows(filter: RequestFilter) {
    const rows = this.#database.kysely
      .selectFrom('requests')
      .leftJoin('tokens', 'tokens.id', 'requests.token_id')
      .selectAll('requests')
      .select('tokens.name as token_name');
    return applyFilter(rows, filter);
  }
}

/** Undefined members filter nothing. */
export function applyFilter<O>(
  query: SelectQueryBuilder<Tables & { tokens: Tables['tokens'] | null }, 'requests', O>,
  filter: RequestFilter,
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
  return filtered;
}
