import type { Trx } from '../src/server/tables.ts';
import type { ImportTarget } from './import-target.ts';
import type { ImportedEndedTask } from './mapping/tasks.ts';
import { findTaskOwners, type TaskOwnerDependencies, taskIdOf } from './task-store.ts';
import { type MappedRow, valuesOf } from './visitor.ts';

/** Inserts videos that ended in the source. They create no ledger entries, because they were paid for there. */
export async function addEndedTasks(
  trx: Trx,
  ended: readonly ImportedEndedTask[],
  dependencies: TaskOwnerDependencies & { readonly target: ImportTarget; readonly now: number },
): Promise<void> {
  const { tasks, target, importId, now } = dependencies;
  const taken = await tasks.takenPublicIds(trx, ended);
  const owned = await findTaskOwners(trx, ended, dependencies);
  await target.addEndedTasks(
    trx,
    owned.map(({ task, owner: { userId, seenBy, channelId } }) => ({
      importId,
      id: taskIdOf(importId, task.sourceId),
      publicId: task.publicId === undefined || taken.has(task.publicId) ? undefined : task.publicId,
      userId,
      tokenId: seenBy,
      channelId,
      task,
      now,
    })),
  );
}

/** Differences between videos that ended in the source and their copies here: source id and text. */
export async function findWrongEndedTasks(
  rows: readonly MappedRow<ImportedEndedTask>[],
  { store, tasks, importId }: TaskOwnerDependencies,
): Promise<{ readonly wrong: (readonly [number, string])[]; readonly rows: MappedRow<ImportedEndedTask>[] }> {
  const ended = valuesOf(rows);
  const found = await tasks.ended(
    store.kysely,
    ended.map(({ sourceId }) => taskIdOf(importId, sourceId)),
  );
  const owners = await store.targets(importId, 'user', [...new Set(ended.map(({ userId }) => userId))]);
  const wrong: (readonly [number, string])[] = [];
  const renamed = new Set<string>();
  for (const { sourceId, userId, publicId, paid, hasSucceeded } of ended) {
    const here = found.get(taskIdOf(importId, sourceId));
    const owner = owners.get(userId)?.target;
    if (here === undefined) wrong.push([sourceId, 'it is not here']);
    else if (here.user_id !== owner)
      wrong.push([sourceId, `it belongs to account ${here.user_id} and not to ${owner}`]);
    else if (here.price !== paid) wrong.push([sourceId, `${paid} was paid for it and ${here.price} is shown`]);
    else if ((here.status === 'SUCCESS') !== hasSucceeded) wrong.push([sourceId, `its state is ${here.status} here`]);
    if (publicId !== undefined && here !== undefined && here.public_id !== publicId) renamed.add(publicId);
  }
  return { wrong, rows: withIdRemarks(rows, renamed) };
}

/** Adds a remark to rows whose public id is taken here and is replaced. */
export const withIdRemarks = (
  rows: readonly MappedRow<ImportedEndedTask>[],
  taken: ReadonlySet<string>,
): MappedRow<ImportedEndedTask>[] =>
  rows.map((row) => {
    const { outcome } = row;
    if (outcome.kind === 'skipped' || !taken.has(outcome.value.publicId ?? '')) return row;
    return {
      ...row,
      outcome: { ...outcome, remarks: [...outcome.remarks, 'another video here has its id: it gets another'] },
    };
  });
