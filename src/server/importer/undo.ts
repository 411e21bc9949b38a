import type { ModelImportAndChannelRemovalStore, StoredModel } from './model-import-and-channel-removal-store.ts';
import type { PlansFromGroupsImportStore, StoredGroupPlan } from './plans-from-groups-import-store.ts';
import type { ImportKind } from './tables.ts';
import type { TaskPaymentImportStore } from './task-payments-and-lookups-import-store.ts';
import type { UndoRow, UndoStore } from './undo-store.ts';

export interface UndoDependencies {
  readonly store: UndoStore;
  readonly catalog: ModelImportAndChannelRemovalStore;
  readonly groups: PlansFromGroupsImportStore;
  readonly tasks: TaskPaymentImportStore;
  readonly importId: number;
  readonly now: number;
}

export interface UndoReport {
  readonly removed: Readonly<Record<string, number>>;
  /** What stays because it was used or changed since. */
  readonly kept: readonly { readonly kind: ImportKind; readonly source: string; readonly name: string }[];
}

const PAGE = 500;

/** Takes back what no later use has touched. Each page is one transaction: an undo that is killed is repeated. */
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
  /** Videos that had ended in the source, which go with their accounts. */
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
  // Whoever charges one of these wallets has done so, or waits until the account is gone.
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

export const isSameModel = (one: StoredModel, other: StoredModel): boolean =>
  JSON.stringify(ordered(one)) === JSON.stringify(ordered(other));

const ordered = ({ vendor, kind, price, alias_of, enabled }: StoredModel) => [vendor, kind, price, alias_of, enabled];
