import type { Transaction } from 'kysely';

const pendingActions = new WeakMap<object, (() => void)[]>();

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
  for (const action of (committed && pendingActions.get(committed)) ?? []) action();
  return result;
}
