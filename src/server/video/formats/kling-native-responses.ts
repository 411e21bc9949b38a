import { isObject } from '../../../contract/is-object.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import type { TaskStatus } from '../../../contract/task-states.ts';
import type { Json } from '../../vendors/adapter.ts';
import { parseTaskArtifact } from '../parse-task-artifact.ts';
import type { SubmitResult } from '../submit/submitted-task-and-vendor-response.ts';
import type { Task } from '../task-store.ts';

/** Kling's names of our states; it has none between submitted and processing. Source: its API reference, "Text to Video". */
const TASK_STATUS_WORDS: Readonly<Record<TaskStatus, string>> = {
  NOT_START: 'submitted',
  SUBMITTED: 'submitted',
  QUEUED: 'submitted',
  UNKNOWN: 'submitted',
  IN_PROGRESS: 'processing',
  SUCCESS: 'succeed',
  FAILURE: 'failed',
};

export const toKlingEnvelope = (data: Json, requestId: string) => ({
  code: 0 as const,
  message: 'SUCCEED',
  request_id: requestId,
  data,
});

const taskInfoOf = ({ external_id }: Pick<Task, 'external_id'>): Json =>
  external_id === null ? {} : { external_task_id: external_id };

export const toKlingSubmitData = ({ task }: SubmitResult): Json => ({
  task_id: task.public_id,
  task_info: taskInfoOf(task),
  task_status: 'submitted',
  created_at: task.created_at,
  updated_at: task.created_at,
});

/** A task as Kling's query returns it, under our id. What only the vendor knows is taken from its latest response. */
export function toKlingTask(task: Task): Json {
  const response: unknown = JSON.parse(task.data);
  const data = isObject(response) && isObject(response.data) ? (response.data as { readonly [key: string]: Json }) : {};
  const { watermark_info, final_unit_deduction } = data;
  return defined({
    task_id: task.public_id,
    task_status: TASK_STATUS_WORDS[task.status],
    task_status_msg: task.fail_reason,
    task_info: taskInfoOf(task),
    watermark_info,
    final_unit_deduction,
    created_at: task.created_at,
    updated_at: task.updated_at,
    task_result: task.status === 'SUCCESS' ? (data.task_result ?? resultOf(task)) : undefined,
  });
}

function resultOf(task: Task): Json {
  const artifact = parseTaskArtifact(task);
  return { videos: artifact?.kind === 'url' ? [{ id: task.public_id, url: artifact.url }] : [] };
}
