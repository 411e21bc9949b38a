import type { Executor, Trx } from '../src/server/tables.ts';
import type { AccountImportStore } from './import-store.ts';
import type { SourceTask } from './mapping/tasks.ts';

/** Id here of a task of the source; also the reference of its reservation. */
export const taskIdOf = (importId: number, sourceId: number): string => `task_i${importId}r${sourceId}`;
/** SQL pattern of an import's task ids, with `|` as the escape character. */
export const taskIdsLike = (importId: number): string => `task|_i${importId}r%`;
/** Reference of the ledger entry that grants the amount paid for the task in the source. */
export const taskGrantRef = (importId: number, sourceId: number): string => `import-task:${importId}:${sourceId}`;

/** The amount paid for a task in the source, held for it here. */
interface HeldPayment {
  readonly sourceId: number;
  readonly userId: number;
  readonly tokenId: number | null;
  readonly model: string;
  readonly amount: number;
}

const entry = { plan_amount: 0, charged: 0, token_id: null, model: null };

/**
 * SQL of the money of unfinished tasks: granted and reserved at once, so that wallets do not change until a task ends.
 */
export class TaskPaymentImportStore {
  async hold(trx: Trx, importId: number, payments: readonly HeldPayment[], now: number): Promise<void> {
    if (payments.length === 0) return;
    await trx
      .insertInto('reservations')
      .values(
        payments.map(({ sourceId, userId, tokenId, model, amount }) => ({
          ref: taskIdOf(importId, sourceId),
          user_id: userId,
          token_id: tokenId,
          model,
          amount,
          plan_amount: 0,
          plan_slot: null,
          created_at: now,
        })),
      )
      .execute();
    await trx
      .insertInto('ledger')
      .values(
        payments.flatMap(({ sourceId, userId, tokenId, model, amount }) => [
          {
            ...entry,
            user_id: userId,
            kind: 'grant',
            amount,
            ref: taskGrantRef(importId, sourceId),
            note: 'paid for a video before the import',
            created_at: now,
          },
          {
            ...entry,
            user_id: userId,
            kind: 'reserve',
            amount: -amount,
            ref: taskIdOf(importId, sourceId),
            token_id: tokenId,
            model,
            note: null,
            created_at: now,
          },
        ]),
      )
      .execute();
  }

  /** Reverts a task that has not ended. @returns false if it has ended, or is being settled */
  async release(trx: Trx, importId: number, sourceId: number, now: number): Promise<boolean> {
    const ref = taskIdOf(importId, sourceId);
    const held = await trx
      .deleteFrom('reservations')
      .where('ref', '=', ref)
      .returning(['user_id', 'token_id', 'model', 'amount'])
      .executeTakeFirst();
    if (held === undefined) return false;
    await trx.deleteFrom('tasks').where('id', '=', ref).execute();
    const { user_id, token_id, model, amount } = held;
    await trx
      .insertInto('ledger')
      .values([
        { ...entry, user_id, token_id, model, kind: 'refund', amount, ref, note: 'import taken back', created_at: now },
        {
          ...entry,
          user_id,
          kind: 'grant',
          amount: -amount,
          ref: `import-task-undo:${importId}:${sourceId}`,
          note: 'import taken back',
          created_at: now,
        },
      ])
      .execute();
    return true;
  }

  /** Amounts granted for tasks, by reference. */
  async grants(db: Executor, refs: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (refs.length === 0) return new Map();
    const rows = await db
      .selectFrom('ledger')
      .select(['ref', 'amount'])
      .where('kind', '=', 'grant')
      .where('ref', 'in', refs)
      .execute();
    return new Map(rows.map(({ ref, amount }) => [ref, amount]));
  }

  /** Tasks that ended in the source, by their ids here. */
  async ended(db: Executor, ids: readonly string[]) {
    if (ids.length === 0) return new Map<string, never>();
    const rows = await db
      .selectFrom('tasks')
      .select(['id', 'public_id', 'user_id', 'price', 'status'])
      .where('id', 'in', ids)
      .execute();
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** The subset of these tasks' requested public ids that is already taken. */
  async takenPublicIds(
    db: Executor,
    tasks: readonly { readonly publicId: string | undefined }[],
  ): Promise<ReadonlySet<string>> {
    const wanted = tasks.flatMap(({ publicId }) => publicId ?? []);
    if (wanted.length === 0) return new Set();
    const rows = await db.selectFrom('tasks').select('public_id').where('public_id', 'in', wanted).execute();
    return new Set(rows.map((row) => row.public_id));
  }

  /**
   * The key of each of these accounts that has exactly one. Sources that do not record which key started a video make
   * it visible to this key.
   */
  async onlyKeys(db: Executor, userIds: readonly number[]): Promise<ReadonlyMap<number, number>> {
    if (userIds.length === 0) return new Map();
    const rows = await db
      .selectFrom('tokens')
      .select(({ fn }) => ['user_id', fn.min('id').as('id')])
      .where('user_id', 'in', userIds)
      .where('revoked_at', 'is', null)
      .groupBy('user_id')
      .having(({ fn }) => fn.countAll(), '=', 1)
      .execute();
    return new Map(rows.map((row) => [row.user_id, Number(row.id)]));
  }

  /** The subset of these ids that tasks have. */
  async found(db: Executor, ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    const rows = await db.selectFrom('tasks').select('id').where('id', 'in', ids).execute();
    return new Set(rows.map(({ id }) => id));
  }
}

/** Dependencies of `findTaskOwners`. */
export interface TaskOwnerDependencies {
  readonly store: AccountImportStore;
  readonly tasks: TaskPaymentImportStore;
  readonly importId: number;
}

/** The account, key and channel of an imported task. */
interface TaskOwner {
  readonly userId: number;
  /** The key that submitted the task, if the source records it. */
  readonly tokenId: number | undefined;
  /** The key that can see the task: the submitting key, or the account's only one. */
  readonly seenBy: number | undefined;
  /** Undefined: the task's channel was not imported. */
  readonly channelId: number | undefined;
}

/** Finds the accounts, keys and channels of tasks whose accounts were imported. */
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
