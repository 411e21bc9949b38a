import { type SqlBool, sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import { keysOf, newestFirst } from './request-list-sort-and-cursor-store.ts';
import { applyFilter, type RequestFilter } from './request-store.ts';

/** What figures can be grouped by: columns of `requests`. */
export type StatisticsColumn = 'model' | 'token_id' | 'channel_id' | 'user_id';

export interface GroupFigures {
  readonly key: string | number;
  /** Of the token, channel or account; null where it was deleted. */
  readonly name: string | null;
  readonly requests: number;
  readonly succeeded: number;
  readonly cancelled: number;
  readonly quota: number;
  /** Milliseconds; null where nothing succeeded, or nothing was streamed. */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly firstP50: number | null;
  readonly firstP95: number | null;
}

/** Rows that are read for one answer: on SQLite everybody waits for it, some tens of milliseconds. */
const MAX_ROWS = 20_000;
const MAX_GROUPS = 200;

/** Figures over the request log. */
export class StatisticsStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Groups of the newest rows that fit, the most frequent first. Percentiles are the value at the rank (nearest rank). */
  async read(filter: RequestFilter, by: StatisticsColumn): Promise<GroupFigures[]> {
    const { kysely } = this.#database;
    const matching = applyFilter(
      kysely.selectFrom('requests').leftJoin('tokens', 'tokens.id', 'requests.token_id').select(['requests.status']),
      filter,
      await keysOf(kysely, filter),
    ).select([`requests.${by} as key`, 'requests.duration_ms', 'requests.first_token_ms', 'requests.quota']);
    const newest = newestFirst(kysely, matching).limit(MAX_ROWS);
    const ranked = kysely
      .selectFrom(newest.as('newest'))
      .select(['key', 'status', 'quota', 'duration_ms', 'first_token_ms'])
      .select([
        // Only successes have a rank among durations; the others come behind them and are left out below.
        sql<number>`row_number() over (partition by key, status order by duration_ms)`.as('place'),
        sql<number>`count(*) over (partition by key, status)`.as('size'),
        sql<number>`row_number() over (partition by key, status, first_token_ms is null order by first_token_ms)`.as(
          'first_place',
        ),
        sql<number>`count(first_token_ms) over (partition by key, status)`.as('first_size'),
      ]);
    const at = (column: string, place: string, size: string, percent: number, also = sql<SqlBool>`true`) =>
      // The smallest rank with at least so many per cent at or below it.
      sql<number | null>`max(case when status = 'ok' and ${also}
        and ${sql.ref(place)} = (${sql.ref(size)} * ${sql.lit(percent)} + 99) / 100 then ${sql.ref(column)} end)`;
    const streamed = sql<SqlBool>`first_token_ms is not null`;
    const groups = await kysely
      .selectFrom(ranked.as('ranked'))
      .groupBy('key')
      .select([
        'key',
        sql<number>`count(*)`.as('requests'),
        sql<number>`sum(case when status = 'ok' then 1 else 0 end)`.as('succeeded'),
        sql<number>`sum(case when status = 'cancelled' then 1 else 0 end)`.as('cancelled'),
        sql<number>`sum(quota)`.as('quota'),
        at('duration_ms', 'place', 'size', 50).as('p50'),
        at('duration_ms', 'place', 'size', 95).as('p95'),
        at('first_token_ms', 'first_place', 'first_size', 50, streamed).as('firstP50'),
        at('first_token_ms', 'first_place', 'first_size', 95, streamed).as('firstP95'),
      ])
      .orderBy('requests', 'desc')
      .limit(MAX_GROUPS)
      .execute();
    const names = await this.#names(
      by,
      groups.map(({ key }) => Number(key)),
    );
    // PostgreSQL sums bigints to a numeric, which arrives as text.
    return groups.map((group) => ({
      ...group,
      name: names?.get(Number(group.key)) ?? null,
      quota: Number(group.quota),
      requests: Number(group.requests),
      succeeded: Number(group.succeeded),
      cancelled: Number(group.cancelled),
    }));
  }

  async #names(by: StatisticsColumn, ids: readonly number[]): Promise<ReadonlyMap<number, string | null> | undefined> {
    if (by === 'model' || ids.length === 0) return undefined;
    const { kysely } = this.#database;
    const rows =
      by === 'user_id'
        ? await kysely.selectFrom('accounts').select(['id', 'username as name']).where('id', 'in', ids).execute()
        : await kysely
            .selectFrom(by === 'token_id' ? 'tokens' : 'channels')
            .select(['id', 'name'])
            .where('id', 'in', ids)
            .execute();
    return new Map(rows.map(({ id, name }) => [id, name]));
  }
}
