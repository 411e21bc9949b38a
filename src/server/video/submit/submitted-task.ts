import type { Trx } from '../../tables.ts';
import type { Json } from '../../vendors/adapter.ts';
import type { Task } from '../task-store.ts';

/** A submitted task as returned to its caller; every format renders it in its own way. It can be stored as JSON. */
export interface SubmittedTask {
  readonly task: Pick<Task, 'public_id' | 'vendor' | 'model' | 'status' | 'created_at' | 'handle' | 'external_id'>;
  /** The vendor's response; null when it was lost on the way. */
  readonly raw: Json;
}

export const toSubmittedTask = (
  { public_id, vendor, model, status, created_at, handle, external_id }: SubmittedTask['task'],
  raw: Json,
): SubmittedTask => ({ task: { public_id, vendor, model, status, created_at, handle, external_id }, raw });

/** Work inside the transaction that reserves the quota and inserts the task, such as claiming an idempotency key. */
export type InTransaction = (trx: Trx, taskId: string) => Promise<void>;
