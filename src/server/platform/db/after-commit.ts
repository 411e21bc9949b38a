import type { Transaction } from 'kysely';

const pendingActions = new WeakMap<object, (() => void)[]>();
const NONE: readonly (() => void)[] = [];

/**
 * Runs an action once the transaction is on the disk; never after a rollback. For notifications of changes: nothing
 * that must happen may depend on it, since the process can die in between.
 */
export function afterCommit<T>(trx: Transaction<T>, action: () => void): void {
  const actions = pendingActions.get(trx);
  if (actions === undefined) pendingActions.set(trx, [action]);
  else actions.push(action);
}

/** Wraps the way a transaction is executed, so that actions of the attempt that was committed run after it. */
export async function runAfterCommitActions<T, R>(
  execute: (work: (trx: Transaction<T>) => Promise<R>) => Promise<R>,
  work: (trx: Transaction<T>) => Promise<R>,
): Promise<R> {
  let committed: Transaction<T> | undefined;
  const result = await execute((trx) => {
    committed = trx;
    return work(trx);
  });
  if (committed === undefined) return result;
  const actions = pendingActions.get(committed) ?? NONE;
  // Left in the map, they and what they refer to would be kept, as they lead to their own key, until all memory is gone through.
  pendingActions.delete(committed);
  for (const action of actions) action();
  return result;
}
