import type { Trx } from '../tables.ts';
import type { ImportedTask } from './mapping/unfinished-tasks.ts';
import type { ImportTarget } from './service-functions-for-import-types.ts';
import { findTaskOwners, type TaskOwnerDependencies } from './task-owners.ts';
import { taskIdOf } from './task-payments-and-lookups-import-store.ts';

/** Writes videos that go on here, with what was paid for them held until they end. */
export async function addUnfinishedTasks(
  trx: Trx,
  unfinished: readonly ImportedTask[],
  dependencies: TaskOwnerDependencies & { readonly target: ImportTarget; readonly now: number },
): Promise<void> {
  const { store, tasks, target, importId, now } = dependencies;
  const owned = await findTaskOwners(trx, unfinished, dependencies);
  const payments = owned.map(({ task, owner: { userId, tokenId = null } }) => ({
    sourceId: task.sourceId,
    userId,
    tokenId,
    model: task.model,
    amount: task.paid,
  }));
  await tasks.hold(trx, importId, payments, now);
  for (const { task, owner } of owned) {
    const target_id = await target.addTask(trx, {
      id: taskIdOf(importId, task.sourceId),
      userId: owner.userId,
      tokenId: owner.seenBy,
      channelId: owner.channelId ?? 0,
      task,
      now,
    });
    const note = { import_id: importId, kind: 'task' as const, source_id: task.sourceId, name: '' };
    await store.note(trx, [{ ...note, target_id, detail: null }]);
  }
}
