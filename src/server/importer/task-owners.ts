import type { Trx } from '../tables.ts';
import type { AccountKeyAndCodeImportStore } from './account-key-and-code-import-store.ts';
import type { SourceTask } from './mapping/read-source-task.ts';
import type { TaskPaymentImportStore } from './task-payments-and-lookups-import-store.ts';

export interface TaskOwnerDependencies {
  readonly store: AccountKeyAndCodeImportStore;
  readonly tasks: TaskPaymentImportStore;
  readonly importId: number;
}

/** What a task of the source belongs to here. */
export interface TaskOwner {
  readonly userId: number;
  /** The key that submitted it, where the source says which. */
  readonly tokenId: number | undefined;
  /** The key that finds it: that one, or the only one of its account. */
  readonly seenBy: number | undefined;
  /** Undefined: its channel did not come over. */
  readonly channelId: number | undefined;
}

/** Finds the accounts, keys and channels here of tasks whose accounts came over. */
export async function findTaskOwners<T extends SourceTask & { readonly channelIndex: number | undefined }>(
  trx: Trx,
  all: readonly T[],
  { store, tasks, importId }: TaskOwnerDependencies,
): Promise<{ readonly task: T; readonly owner: TaskOwner }[]> {
  const idsOf = (read: (task: T) => number | undefined) => [...new Set(all.flatMap((task) => read(task) ?? []))];
  const userIds = idsOf(({ userId }) => userId);
  const users = await store.targets(importId, 'user', userIds, trx);
  const tokenIds = idsOf(({ tokenId }) => tokenId);
  const keys = await store.targets(importId, 'key', tokenIds, trx);
  const accountIds = [...users.values()].flatMap(({ target }) => target ?? []);
  const onlyKeys = await tasks.onlyKeys(trx, accountIds);
  const channels = await store.channels(importId, trx);
  return all.map((task) => {
    const userId = users.get(task.userId)?.target as number;
    const tokenId = keys.get(task.tokenId ?? 0)?.target ?? undefined;
    const channel = channels.find((each) => each.sourceId === task.channelId && each.index === task.channelIndex);
    return { task, owner: { userId, tokenId, seenBy: tokenId ?? onlyKeys.get(userId), channelId: channel?.id } };
  });
}
