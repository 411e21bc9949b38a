import { sql } from 'kysely';
import { IMPORTED_USAGE_TOKEN } from '../src/contract/ledger.ts';
import type { ImportKind } from '../src/server/imports/tables.ts';
import type { Database } from '../src/server/platform/db/database.ts';
import { wasChanged } from '../src/server/platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../src/server/tables.ts';
import type { ModelImportStore, PlanImportStore, StoredGroupPlan, StoredModel } from './model-store.ts';
import { type TaskPaymentImportStore, taskIdsLike } from './task-store.ts';

interface UndoDependencies {
  readonly store: UndoStore;
  readonly catalog: ModelImportStore;
  readonly groups: PlanImportStore;
  readonly tasks: TaskPaymentImportStore;
  readonly importId: number;
  readonly now: number;
}

/** The result of an undo. */
export interface UndoReport {
  readonly removed: Readonly<Record<string, number>>;
  /** Objects that stay because they were used or changed since. */
  readonly kept: readonly { readonly kind: ImportKind; readonly source: string; readonly name: string }[];
}

const PAGE = 500;

/**
 * Reverts an import, except for objects that were used since. Each page is one transaction, so an undo that was killed
 * can be repeated.
 */
export async function undoImport(dependencies: UndoDependencies): Promise<UndoReport> {
  const removed: Record<string, number> = {};
  const kept: { kind: ImportKind; source: string; name: string }[] = [];
  for (const kind of ['task', 'code', 'user', 'group', 'model', 'channel'] as const) {
    let after: UndoRow | undefined;
    for (;;) {
      const rows = await dependencies.store.page(dependencies.importId, kind, after, PAGE);
      if (rows.length === 0) break;
      after = rows.at(-1);
      const { gone, endedTasks } = await undoPage(dependencies, kind, rows);
      removed[kind] = (removed[kind] ?? 0) + gone.size;
      if (endedTasks > 0) removed['ended-task'] = (removed['ended-task'] ?? 0) + endedTasks;
      for (const row of rows)
        if (!gone.has(row))
          kept.push({ kind, source: row.source_id === 0 ? row.name : String(row.source_id), name: row.name });
    }
  }
  await dependencies.store.forgetRemovedKeys(dependencies.importId);
  return { removed, kept };
}

interface Removed {
  readonly gone: Set<UndoRow>;
  /** Number of removed videos that had ended in the source. */
  readonly endedTasks: number;
}

function undoPage(dependencies: UndoDependencies, kind: ImportKind, rows: readonly UndoRow[]): Promise<Removed> {
  const { store, catalog, importId } = dependencies;
  return store.transaction(async (trx) => {
    if (kind === 'model' || kind === 'channel' || kind === 'group') await catalog.bumpVersion(trx);
    const removed =
      kind === 'user' ? await removeUsers(dependencies, trx, rows) : { gone: new Set<UndoRow>(), endedTasks: 0 };
    const { gone } = removed;
    if (kind !== 'user') for (const row of rows) if (await removeOne(dependencies, trx, kind, row)) gone.add(row);
    await store.forget(trx, importId, kind, [...gone]);
    return removed;
  });
}

type UndoTrx = Parameters<Parameters<UndoStore['transaction']>[0]>[0];

async function removeUsers(
  { store, importId, now }: UndoDependencies,
  trx: UndoTrx,
  rows: readonly UndoRow[],
): Promise<Removed> {
  const ids = rows.map((row) => row.target_id);
  // Under this lock a concurrent charge of one of these wallets has either completed or waits until the account is
  // gone.
  const balances = await store.lockBalances(trx, ids);
  const used = await store.usedAccounts(trx, importId, ids);
  const unused = rows.filter((row) => !used.has(row.target_id));
  const accounts = unused.map((row) => ({
    id: row.target_id,
    sourceId: row.source_id,
    balance: balances.get(row.target_id) ?? 0,
  }));
  if (accounts.length === 0) return { gone: new Set(), endedTasks: 0 };
  const removedIds = accounts.map(({ id }) => id);
  const endedTasks = await store.removeHistory(trx, importId, removedIds);
  await store.removeAccounts(trx, importId, accounts, now);
  return { gone: new Set(unused), endedTasks };
}

async function removeOne(
  { store, catalog, groups, tasks, importId, now }: UndoDependencies,
  trx: UndoTrx,
  kind: ImportKind,
  { source_id: sourceId, name, target_id: id, detail }: UndoRow,
): Promise<boolean> {
  if (kind === 'task') return tasks.release(trx, importId, sourceId, now);
  if (kind === 'code') return store.removeCode(trx, id);
  if (kind === 'channel') return catalog.removeChannel(trx, id, Number(detail));
  if (kind === 'group') return groups.removePlan(trx, id, JSON.parse(detail ?? '{}') as StoredGroupPlan);
  const { before, after } = JSON.parse(detail ?? '{}') as { before: StoredModel | null; after: StoredModel };
  const current = await catalog.model(trx, name);
  if (current === undefined) return true;
  if (!isSameModel(current, after)) return false;
  await catalog.restoreModel(trx, name, before, now);
  return true;
}

/** Whether two rows of a model are equal. */
export const isSameModel = (one: StoredModel, other: StoredModel): boolean =>
  JSON.stringify(ordered(one)) === JSON.stringify(ordered(other));

const ordered = ({ vendor, kind, price, alias_of, enabled }: StoredModel) => [vendor, kind, price, alias_of, enabled];

interface UndoRow {
  readonly source_id: number;
  readonly name: string;
  readonly target_id: number;
  readonly detail: string | null;
}

/** SQL that reverts an import. */
export class UndoStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  transaction<R>(work: (trx: Trx) => Promise<R>): Promise<R> {
    return this.#database.transaction(work);
  }

  /** A page of rows of one kind that exist here, after a position in their order. */
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

  /**
   * The subset of these accounts that was used after the import: they have entries, sign-ins, videos or keys of their
   * own.
   */
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

  /** Locks and reads the wallets of accounts, so that no open call is charged before the commit. */
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

  /** Removes ended videos imported for these accounts. @returns the number of removed videos */
  async removeHistory(trx: Trx, importId: number, userIds: readonly number[]): Promise<number> {
    const result = await trx
      .deleteFrom('tasks')
      .where('user_id', 'in', userIds)
      .where(isUntouchedHistory(importId))
      .executeTakeFirst();
    return Number(result.numDeletedRows);
  }

  /**
   * Removes accounts like an ordinary deletion, with their keys and passwords; the ledger keeps the grant and its
   * reversal.
   */
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

  /** Deletes a code that was not used. @returns whether the code was deleted */
  async removeCode(trx: Trx, id: number): Promise<boolean> {
    return wasChanged(
      await trx.deleteFrom('redemption_codes').where('id', '=', id).where('state', '=', 'unused').executeTakeFirst(),
    );
  }

  /** Deletes the records of keys that were removed with their account. */
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

/**
 * An ended video of the source that its owner has not deleted here. Only imported ended tasks have negative numbers.
 */
const isUntouchedHistory = (importId: number) =>
  sql<boolean>`(seq < 0 and deleted = 0 and id like ${taskIdsLike(importId)} escape '|')`;
