import { type Selectable, sql } from 'kysely';
import type { LongListPage, LongPage } from '../../contract/responses.ts';
import type { Database } from '../platform/db/database.ts';
import { hasConcurrentWriters, readLargeListPage } from '../platform/db/sql.ts';
import type { Executor, Tables } from '../tables.ts';
import type { LedgerKind } from './ledger.ts';

export type LedgerEntry = Selectable<Tables['ledger']>;

export interface LedgerFilter {
  readonly userId?: number;
  readonly ref?: string;
  readonly kind?: LedgerKind;
}

/** What figures can be grouped by: columns of `usage_daily`. */
export type UsageColumn = 'day' | 'model' | 'token_id' | 'user_id' | 'channel_id';

export interface UsageFilter {
  /** Days since 1970 UTC, both included. */
  readonly fromDay: number;
  readonly toDay: number;
  readonly userId?: number;
  readonly model?: string;
  readonly tokenId?: number;
  readonly channelId?: number;
}

interface UsageFigures {
  readonly requests: number;
  readonly quota: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}
export type UsageRow = Partial<Pick<Selectable<Tables['usage_daily']>, UsageColumn>> & UsageFigures;

/** Maximum groups of one result: a year of days by thirty models. */
const MAX_GROUPS = 10_000;

/**
 * Written into the SQL instead of a parameter, so that the indexes of rare entries are known to fit. There are millions of the others, which are
 * found soon without one. PostgreSQL infers that a rare kind is none of those; to be told would make it expect a tenth of the rows.
 */
const onlyKind = (executor: Executor, kind: LedgerKind) =>
  FREQUENT_KINDS.has(kind) || hasConcurrentWriters(executor)
    ? sql<boolean>`kind = ${sql.lit(kind)}`
    : sql<boolean>`kind = ${sql.lit(kind)} and kind not in ('reserve', 'settle')`;
const FREQUENT_KINDS: ReadonlySet<LedgerKind> = new Set(['reserve', 'settle']);

/** Queries of the ledger for reports; everything that writes is in `reservation-and-ledger-store.ts`. */
export class LedgerReportStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Newest first. */
  entries(filter: LedgerFilter, page: LongPage): Promise<LongListPage<LedgerEntry>> {
    const { kysely } = this.#database;
    let query = kysely.selectFrom('ledger');
    if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
    if (filter.ref !== undefined) query = query.where('ref', '=', filter.ref);
    if (filter.kind !== undefined) query = query.where(onlyKind(kysely, filter.kind));
    return readLargeListPage(kysely, query, 'id', page, (each) => each.selectAll());
  }

  /** Accounts that used a model on a day or later. @param fromDay days since 1970 UTC */
  async usersOf(model: string, fromDay: number): Promise<number[]> {
    const rows = await this.#database.kysely
      .selectFrom('usage_daily')
      .select('user_id')
      .distinct()
      .where('model', '=', model)
      .where('day', '>=', fromDay)
      .execute();
    return rows.map(({ user_id }) => user_id);
  }

  /** All entries of one task or request, oldest first. */
  entriesOf(ref: string): Promise<LedgerEntry[]> {
    return this.#database.kysely.selectFrom('ledger').selectAll().where('ref', '=', ref).orderBy('id').execute();
  }

  /** Figures by group, newest day first where days are grouped by, else the most expensive first. */
  async usage(filter: UsageFilter, by: readonly UsageColumn[]): Promise<UsageRow[]> {
    let query = this.#database.kysely
      .selectFrom('usage_daily')
      .where('day', '>=', filter.fromDay)
      .where('day', '<=', filter.toDay);
    if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
    if (filter.model !== undefined) query = query.where('model', '=', filter.model);
    if (filter.tokenId !== undefined) query = query.where('token_id', '=', filter.tokenId);
    if (filter.channelId !== undefined) query = query.where('channel_id', '=', filter.channelId);
    const grouped = by.length === 0 ? query : query.groupBy(by);
    const rows = await grouped
      .select(by)
      .select(({ fn }) => [
        fn.sum<number>('requests').as('requests'),
        fn.sum<number>('quota').as('quota'),
        fn.sum<number>('prompt_tokens').as('prompt_tokens'),
        fn.sum<number>('completion_tokens').as('completion_tokens'),
      ])
      .$if(by.includes('day'), (each) => each.orderBy('day', 'desc'))
      .orderBy('quota', 'desc')
      .limit(MAX_GROUPS)
      .execute();
    // PostgreSQL sums bigints to a numeric, which arrives as text; no rows at all sum to null.
    return rows.map((row) => ({
      ...row,
      requests: Number(row.requests ?? 0),
      quota: Number(row.quota ?? 0),
      prompt_tokens: Number(row.prompt_tokens ?? 0),
      completion_tokens: Number(row.completion_tokens ?? 0),
    }));
  }
}
