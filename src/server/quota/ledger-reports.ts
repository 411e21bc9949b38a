import { type Selectable, sql } from 'kysely';
import type { LongListPage, LongPage } from '../../contract/responses.ts';
import type { Database } from '../platform/db/database.ts';
import { hasConcurrentWriters, readLargeListPage } from '../platform/db/sql.ts';
import type { Executor, Tables } from '../tables.ts';
import type { LedgerKind } from './ledger.ts';

/** A row of the ledger. */
export type LedgerEntry = Selectable<Tables['ledger']>;

/** Which ledger entries to list; absent fields match everything. */
export interface LedgerFilter {
  readonly userId?: number;
  readonly ref?: string;
  readonly kind?: LedgerKind;
  /** Lists a call once, by the entry that closed it: leaves out its reservation, and the allowance that expired with it. */
  readonly isNet?: boolean;
}

/** Columns of `usage_daily` by which usage figures can be grouped. */
export type UsageColumn = 'day' | 'model' | 'token_id' | 'user_id' | 'channel_id';

/** Which usage to sum; absent fields match everything. */
export interface UsageFilter {
  /** Days since 1970-01-01 UTC, both inclusive. */
  readonly fromDay: number;
  readonly toDay: number;
  readonly userId?: number;
  /** Only usage of organizations. */
  readonly ofOrganizations?: boolean;
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
/** Usage figures of one group, with the values of the columns grouped by. */
export type UsageRow = Partial<Pick<Selectable<Tables['usage_daily']>, UsageColumn>> & UsageFigures;

/** Maximum groups in one result: a year of days times thirty models. More are cut by cost, so that no day is missing. */
const MAX_GROUPS = 10_000;

/**
 * Inlined into the SQL instead of passed as a parameter, so that the planner can use the partial indexes on rare kinds.
 * The other kinds have millions of entries, which are found quickly without an index. PostgreSQL derives from a rare
 * kind that the index condition holds; stating the condition explicitly would make it expect a tenth of the rows.
 */
const onlyKind = (executor: Executor, kind: LedgerKind) =>
  FREQUENT_KINDS.has(kind) || hasConcurrentWriters(executor)
    ? sql<boolean>`kind = ${sql.lit(kind)}`
    : sql<boolean>`kind = ${sql.lit(kind)} and kind not in ('reserve', 'settle')`;
const FREQUENT_KINDS: ReadonlySet<LedgerKind> = new Set(['reserve', 'settle']);

/** Read-only queries of the ledger for reports; `ledger.ts` has the queries that write. */
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
    if (filter.isNet === true)
      query = query.where(
        sql<boolean>`(kind not in ('reserve', 'expire') or not exists (select 1 from ledger closing
          where closing.ref = ledger.ref and closing.kind in ('settle', 'refund')))`,
      );
    return readLargeListPage(kysely, query, 'id', page, (each) => each.selectAll());
  }

  /**
   * Accounts that used a model on or after a day.
   * @param fromDay days since 1970-01-01 UTC
   */
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

  /** All entries of one task or request, or of several, oldest first. */
  async entriesOf(refs: string | readonly string[]): Promise<LedgerEntry[]> {
    const listed = [refs].flat();
    if (listed.length === 0) return [];
    return this.#database.kysely.selectFrom('ledger').selectAll().where('ref', 'in', listed).orderBy('id').execute();
  }

  /**
   * Usage figures of the most expensive groups: newest day first when grouped by day, otherwise most expensive first.
   */
  async usage(filter: UsageFilter, by: readonly UsageColumn[]): Promise<UsageRow[]> {
    let query = this.#database.kysely
      .selectFrom('usage_daily')
      .where('day', '>=', filter.fromDay)
      .where('day', '<=', filter.toDay);
    if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
    if (filter.ofOrganizations === true)
      query = query.where('user_id', 'in', (row) =>
        row.selectFrom('accounts').select('accounts.id').where('accounts.kind', '=', 'organization'),
      );
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
      .orderBy('quota', 'desc')
      .limit(MAX_GROUPS)
      .execute();
    // PostgreSQL returns sums of bigints as numeric, which the driver delivers as text; a sum over no rows is null.
    const groups = rows.map((row) => ({
      ...row,
      requests: Number(row.requests ?? 0),
      quota: Number(row.quota ?? 0),
      prompt_tokens: Number(row.prompt_tokens ?? 0),
      completion_tokens: Number(row.completion_tokens ?? 0),
    }));
    // The sort is stable, so groups of one day stay in the order of their costs.
    return by.includes('day') ? groups.sort((a, b) => (b.day ?? 0) - (a.day ?? 0)) : groups;
  }
}
