import type { Static } from 'typebox';
import { TASK_STATUS } from '../../../contract/task-states.ts';
import { toSeconds } from '../../../contract/time-units.ts';
import type { UnifiedTask } from '../../../contract/video.ts';
import type { VendorAdapter } from '../../vendors/adapter.ts';
import { parseTaskArtifact } from '../parse-task-artifact.ts';
import type { Task } from '../task-store.ts';

/** The unified task; it always has every key. `contentUrl` is this service's own URL of the file. */
export function toUnifiedTask(task: Task, contentUrl: string, adapter: VendorAdapter): Static<typeof UnifiedTask> {
  return {
    task_id: task.public_id,
    action: task.action,
    status: adapter.presentation?.statusWords?.[task.status] ?? task.status,
    fail_reason: failReasonOrUrl(task, contentUrl, adapter),
    submit_time: toSeconds(task.submit_time),
    start_time: toSeconds(task.start_time),
    finish_time: toSeconds(task.finish_time),
    progress: `${task.progress}%`,
    data: JSON.parse(task.data),
  };
}

/** On failure the reason, on success the video's URL: a public one, or our own where the vendor's needs a key. */
function failReasonOrUrl(task: Task, contentUrl: string, adapter: VendorAdapter): string {
  if (task.status === TASK_STATUS.FAILURE) return task.fail_reason;
  if (task.status !== TASK_STATUS.SUCCESS) return '';
  const artifact = parseTaskArtifact(task);
  if (artifact?.kind === 'url') return artifact.url;
  return artifact?.kind === 'inline' || isOpaque(task, adapter) ? '' : contentUrl;
}

/** Whether the task's vendor gives its file no URL anywhere. */
export function isOpaque(task: Pick<Task, 'handle'>, { presentation }: VendorAdapter): boolean {
  return task.handle !== null && presentation?.isOpaque?.(JSON.parse(task.handle)) === true;
}
