import type { TaskStatus } from '../../../contract/task-states.ts';
import { AppError } from '../../platform/app-error.ts';
import type { Json } from '../../vendors/adapter.ts';
import { parseTaskArtifact } from '../parse-task-artifact.ts';
import type { Task } from '../task-store.ts';

/** Jimeng's names of our states; a failure is reported by an error code. Source: volcengine.com/docs/85621. */
const STATUS_WORDS: Readonly<Record<Exclude<TaskStatus, 'FAILURE'>, string>> = {
  NOT_START: 'in_queue',
  SUBMITTED: 'in_queue',
  QUEUED: 'in_queue',
  UNKNOWN: 'in_queue',
  IN_PROGRESS: 'generating',
  SUCCESS: 'done',
};

/**
 * `data` of Jimeng's query for a task.
 * @throws AppError with the vendor's own code for a failed task, `50500` where it failed for another reason
 */
export function toJimengTask(task: Task): Record<string, Json> {
  if (task.status === 'FAILURE')
    throw new AppError('upstream_refused', {
      message: task.fail_reason,
      publicCode: /^50\d{3}$/.test(task.error_code) ? task.error_code : '50500',
    });
  const artifact = parseTaskArtifact(task);
  return { status: STATUS_WORDS[task.status], video_url: artifact?.kind === 'url' ? artifact.url : '' };
}
