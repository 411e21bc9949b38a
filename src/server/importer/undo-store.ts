import { sql } from 'kysely';
import { IMPORTED_USAGE_TOKEN } from '../../contract/ledger.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { ImportKind } from './tables.ts';
import { taskIdsLike } from './task-payments-and-lookups-import-store.ts';

export interface UndoRow {
  readonly source_id: number;
  readonly name: string;
  readonly target_id: number;
  readonly detail: string | null;
}

/** SQL that takes an import back. */
export class UndoStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  transaction<R>(work: (trx: Trx) => Promise<R>): Promise<R> {
    return this.#database.transaction(work);
  }

  /** Rows of a kind that are here, after a place in their order. */
  async page(importId: number, kind: ImportKind, after: UndoRow | undefined, limit: number): Promise<UndoRow[]> {
    let query = this.#database.kysely
      .selectFrom('import_rows')
      .select(['source_id', 'name', 'target_id', 'detail'])
      .where('import_id', '=', importId)
      .where('kind', '=', kind)
      .where('target_id', 'is not', null)
      .orderBy('source_id')
      .orderBy('name')
      .limit(limit);
    if (after !== undefined)
      query = query.where(({ eb, or, and }) =>
        or([
          eb('source_id', '>', after.source_id),
          and([eb('source_id', '=', after.source_id), eb('name', '>', after.name)]),
        ]),
      );
    return (await query.execute()) as UndoRow[];
  }

  async forget(trx: Trx, importId: number, kind: ImportKind, rows: readonly UndoRow[]): Promise<void> {
    for (const { source_id, name } of rows)
      await trx
        .deleteFrom('import_rows')
        .where('import_id', '=', importId)
        .where('kind', '=', kind)
        .where('source_id', '=', source_id)
        .where('name', '=', name)
        .execute();
  }

  /** Which of these accounts were used after the import: they have entries, sign-ins, videos or keys of their own. */
  async usedAccounts(db: Executor, importId: number, ids: readonly number[]): Promise<ReadonlySet<number>> {
    const [entries, sessions, tasks, keys, passwords] = await Promise.all([
      db
        .selectFrom('ledger')
        .select('user_id')
        .where('user_id', 'in', ids)
        .where('ref', 'not like', `import:${importId}:%`)
        .where('ref', 'not like', `import-task%:${importId}:%`)
        .where(sql<boolean>`ref not like ${taskIdsLike(importId)} escape '|'`)
        .execute(),
      db.selectFrom('sessions').select('user_id').where('user_id', 'in', ids).execute(),
      db
        .selectFrom('tasks')
        .select('user_id')
        .distinct()
        .where('user_id', 'in', ids)
        .where(({ not }) => not(isUntouchedHistory(importId)))
        .execute(),
      db
        .selectFrom('tokens')
        .select('user_id')
        .where('user_id', 'in', ids)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('import_rows')
                .select('source_id')
                .where('import_id', '=', importId)
                .where('kind', '=', 'key')
                .whereRef('target_id', '=', 'tokens.id'),
            ),
          ),
        )
        .execute(),
      db
        .selectFrom('passwords')
        .select('user_id')
        .where('user_id', 'in', ids)
        .where('hash', 'not like', '$2%')
        .execute(),
    ]);
    return new Set([...entries, ...sessions, ...tasks, ...keys, ...passwords].map((row) => row.user_id));
  }

  /** Accounts with an open call, which is about to be charged. */
  async lockBalances(trx: Trx, ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
    const rows = await trx
      .selectFrom('wallets')
      .select(['user_id', 'balance'])
      .where('user_id', 'in', ids)
      .orderBy('user_id')
      .forUpdate()
      .execute();
    return new Map(rows.map((row) => [row.user_id, row.balance]));
  }

  /** Removes the videos of these accounts that had ended in the source. @returns how many */
  async removeHistory(trx: Trx, importId: number, userIds: readonly number[]): Promise<number> {
    const result = await trx
      .deleteFrom('tasks')
      .where('user_id', 'in', userIds)
      .where(isUntouchedHistory(importId))
      .executeTakeFirst();
    return Number(result.numDeletedRows);
  }

  /** Removes accounts as their deletion does, with their keys and passwords; the ledger keeps what came and went. */
  async removeAccounts(
    trx: Trx,
    importId: number,
    accounts: readonly { readonly id: number; readonly sourceId: number; readonly balance: number }[],
    now: number,
  ): Promise<void> {
    const ids = accounts.map(({ id }) => id);
    const tokens = trx.selectFrom('tokens').select('id').where('user_id', 'in', ids);
    await trx.deleteFrom('token_limits').where('token_id', 'in', tokens).execute();
    await trx.deleteFrom('tokens').where('user_id', 'in', ids).execute();
    await trx.deleteFrom('passwords').where('user_id', 'in', ids).execute();
    await trx.deleteFrom('subscriptions').where('user_id', 'in', ids).execute();
    await trx.deleteFrom('two_factors').where('user_id', 'in', ids).execute();
    await trx
      .deleteFrom('usage_daily')
      .where('user_id', 'in', ids)
      .where('token_id', '=', IMPORTED_USAGE_TOKEN)
      .execute();
    const withMoney = accounts.filter(({ balance }) => balance > 0);
    if (withMoney.length > 0)
      await trx
        .insertInto('ledger')
        .values(
          withMoney.map(({ id, sourceId, balance }) => ({
            user_id: id,
            kind: 'grant',
            amount: -balance,
            plan_amount: 0,
            charged: 0,
            ref: `import-undo:${importId}:${sourceId}`,
            token_id: null,
            model: null,
            note: 'import taken back',
            created_at: now,
          })),
        )
        .execute();
    await trx.updateTable('wallets').set({ balance: 0 }).where('user_id', 'in', ids).execute();
    await trx
      .updateTable('accounts')
      .set({ username: null, email: null, login_email: null, status: 2, removed_at: now })
      .where('id', 'in', ids)
      .execute();
  }

  /** Deletes codes that nobody used. @returns how many are gone */
  async removeCode(trx: Trx, id: number): Promise<boolean> {
    return wasChanged(
      await trx.deleteFrom('redemption_codes').where('id', '=', id).where('state', '=', 'unused').executeTakeFirst(),
    );
  }

  /** Notes of keys whose row is gone with its account. */
  async forgetRemovedKeys(importId: number): Promise<void> {
    await this.#database.kysely
      .deleteFrom('import_rows')
      .where('import_id', '=', importId)
      .where('kind', '=', 'key')
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('tokens').select('id').whereRef('tokens.id', '=', 'import_rows.target_id'))),
      )
      .execute();
  }
}

/** A video that had ended in the source and that its owner has not deleted here: of all tasks, imported ended ones alone have negative numbers. */
const isUntouchedHistory = (importId: number) =>
  sql<boolean>`(seq < 0 and deleted = 0 and id like ${taskIdsLike(importId)} escape '|')`;
