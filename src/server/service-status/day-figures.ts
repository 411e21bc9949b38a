import type { Database } from '../platform/db/database.ts';
import { toKeyRange } from '../platform/db/sql.ts';
import type { Tables } from '../tables.ts';

interface DayFigures {
  readonly requests: number;
  readonly failed: number;
  readonly quota: number;
}

/** Errors that persist until the account or an administrator changes something. */
const BLOCKING_CODES = ['quota_not_enough', 'model_not_allowed', 'upstream_unavailable'];
const MAX_BLOCKED = 20;
const REQUESTS = { table: 'requests', key: 'seq', time: 'created_at' } as const;

/** SQL of the request log figures in the administrators' overview. */
export class DayFiguresStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Counts calls that ended within a period; `to` is exclusive. */
  async figures(from: number, to: number): Promise<DayFigures> {
    const { kysely } = this.#database;
    const { first = 0, before = Number.MAX_SAFE_INTEGER } = await toKeyRange(kysely, REQUESTS, { from, to });
    const row = await kysely
      .selectFrom('requests')
      .where('seq', '>=', first)
      .where('seq', '<', before)
      .where('created_at', '>=', from)
      .where('created_at', '<', to)
      .select(({ fn, eb }) => [
        fn.countAll<number>().as('requests'),
        fn.sum<number>(eb.case().when('status', '=', 'failed').then(1).else(0).end()).as('failed'),
        fn.sum<number>('quota').as('quota'),
      ])
      .executeTakeFirst();
    // PostgreSQL sums bigints to a numeric, which arrives as a string; no rows sum to null.
    return {
      requests: Number(row?.requests ?? 0),
      failed: Number(row?.failed ?? 0),
      quota: Number(row?.quota ?? 0),
    };
  }

  /** Accounts with refused calls since a time, most frequent first. */
  async blocked(from: number) {
    const { kysely } = this.#database;
    const { first = 0 } = await toKeyRange(kysely, REQUESTS, { from });
    const rows = await kysely
      .selectFrom('requests')
      .innerJoin('accounts', 'accounts.id', 'requests.user_id')
      .where('requests.seq', '>=', first)
      .where('requests.created_at', '>=', from)
      .where('requests.status', '=', 'failed')
      .where('requests.error_code', 'in', BLOCKING_CODES)
      .groupBy(['requests.user_id', 'accounts.username', 'requests.error_code'])
      .select(['requests.user_id', 'accounts.username', 'requests.error_code'])
      .select(({ fn }) => [fn.countAll<number>().as('requests'), fn.max<number>('requests.created_at').as('last_time')])
      .orderBy('requests', 'desc')
      .limit(MAX_BLOCKED)
      .execute();
    return rows.map((row) => ({ ...row, requests: Number(row.requests) }));
  }
}
