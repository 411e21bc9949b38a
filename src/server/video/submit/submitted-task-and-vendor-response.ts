import type { Json } from '../../vendors/adapter.ts';
import type { Task } from '../task-store.ts';

/** What a submit returns to its caller: the task and the vendor's response; every format renders it in its own way. It can be stored as JSON. */
export interface SubmitResult {
  readonly task: Pick<Task, 'public_id' | 'vendor' | 'model' | 'status' | 'created_at' | 'handle' | 'external_id'>;
  /** The vendor's response; null when it was lost on the way. */
  readonly raw: Json;
}

export const toSubmitResult = (
  { public_id, vendor, model, status, created_at, handle, external_id }: SubmitResult['task'],
  raw: Json,
): SubmitResult => ({ task: { public_id, vendor, model, status, created_at, handle, external_id }, raw });
