import { type Selectable, sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';

type Entry = Selectable<Tables['ledger']>;

/** Sums of combined entries of one account and month. */
export interface ClosingEntry {
  readonly id: number;
  readonly user_id: number;
  readonly ref: string;
  readonly amount: number;
  readonly plan_amount: number;
  readonly charged: number;
  readonly settlements: number;
  readonly created_at: number;
}

/** SQL of the compaction. */
export class LedgerCompactionStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Entries that the audit has passed, oldest first, from the one after an id. */
  listAfter(id: number, limit: number): Promise<Pick<Entry, 'id' | 'kind' | 'ref' | 'created_at'>[]> {
    const passed = this.#database.kysely
      .selectFrom('ledger_generations')
      .select('position')
      .where('is_current', '=', 1);
    return this.#database.kysely
      .selectFrom('ledger')
      .select(['id', 'kind', 'ref', 'created_at'])
      .where('id', '>', id)
      .where('id', '<=', passed)
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  /**
   * Deletes the entries of these references that the audit has passed, and adds what `close` makes of exactly those to the
   * closing entries, in one transaction. @returns how many were deleted
   */
  replace(
    refs: readonly string[],
    before: number,
    close: (entries: readonly Entry[]) => ClosingEntry[],
  ): Promise<number> {
    return this.#database.transaction(async (trx) => {
      const entries = await trx
        .deleteFrom('ledger')
        .where('ref', 'in', refs)
        .where('kind', '<>', 'closing')
        .where('created_at', '<', before)
        .where('id', '<=', trx.selectFrom('ledger_generations').select('position').where('is_current', '=', 1))
        .returningAll()
        .execute();
      for (const closing of close(entries))
        await trx
          .insertInto('ledger')
          .values({ ...closing, kind: 'closing', token_id: null, model: null, note: null })
          .onConflict((conflict) =>
            conflict.columns(['ref', 'kind']).doUpdateSet({
              amount: sql`ledger.amount + excluded.amount`,
              plan_amount: sql`ledger.plan_amount + excluded.plan_amount`,
              charged: sql`ledger.charged + excluded.charged`,
              settlements: sql`ledger.settlements + excluded.settlements`,
              created_at: sql`case when excluded.created_at > ledger.created_at then excluded.created_at else ledger.created_at end`,
            }),
          )
          .execute();
      return entries.length;
    });
  }
}
