import { sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import type { Tables } from '../tables.ts';

/** What `charge_calls` is given: JSON lists, arrays of PostgreSQL, Unix milliseconds and quota. */
export interface CallBatch {
  readonly reservations: string;
  readonly ends: string;
  readonly log: string;
  readonly users: string;
  readonly tokens: string;
  readonly at: number;
  readonly noticeBelow: number;
  /** Milliseconds; 0: without an end. */
  readonly waitMs: number;
}

const chargeCalls = prepareQuery<Tables, { [K in keyof CallBatch]: CallBatch[K] }>()((db, p) =>
  db.selectNoFrom(
    sql<string | null>`charge_calls(${p('reservations')}::json, ${p('ends')}::json, ${p('log')}::json,
      ${p('users')}::bigint[], ${p('tokens')}::bigint[], ${p('at')}::bigint, ${p('noticeBelow')}::bigint,
      ${p('waitMs')}::integer)`.as('outcomes'),
  ),
);

/** Calls the function `charge_calls` of PostgreSQL (`postgres-charge-function.ts`). */
export class CallChargeStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** @returns a letter for each call */
  async charge(batch: CallBatch): Promise<string> {
    return (await chargeCalls.first(this.#database.kysely, { ...batch }))?.outcomes ?? '';
  }
}
