import type { Static } from 'typebox';
import { TASK_STATUS, type TaskStatus } from '../../../contract/states.ts';
import type { UnifiedTask } from '../../../contract/video.ts';
import type { Task } from '../store.ts';

/** Veo-style tasks answer the unified query with words of their own. */
const VEO_STATUS: Readonly<Record<TaskStatus, string>> = {
  NOT_START: 'queued',
  SUBMITTED: 'queued',
  QUEUED: 'queued',
  IN_PROGRESS: 'processing',
  UNKNOWN: 'processing',
  SUCCESS: 'succeeded',
  FAILURE: 'failed',
};

export const toSeconds = (unixMs: number): number => Math.floor(unixMs / 1000);

/** The unified task; every key always there. `contentUrl` is our own content address of this task. */
export function toUnified(task: Task, contentUrl: string): Static<typeof UnifiedTask> {
  return {
    task_id: task.public_id,
    action: task.action,
    status: task.vendor === 'veo' ? VEO_STATUS[task.status] : task.status,
    fail_reason: reasonOrAddress(task, contentUrl),
    submit_time: toSeconds(task.submit_time),
    start_time: toSeconds(task.start_time),
    finish_time: toSeconds(task.finish_time),
    progress: `${task.progress}%`,
    data: JSON.parse(task.data),
  };
}

/** On failure the reason, on success where the video is: a public address, or our own where the vendor's needs a key. */
function reasonOrAddress(task: Task, contentUrl: string): string {
  if (task.status === TASK_STATUS.FAILURE) return task.fail_reason;
  if (task.status !== TASK_STATUS.SUCCESS) return '';
  const artifact = artifactOf(task);
  if (artifact?.kind === 'url') return artifact.url;
  // The cloud-platform route of Veo names no address anywhere.
  return artifact?.kind === 'inline' || isCloudRoute(task) ? '' : contentUrl;
}

export function artifactOf(task: Task): { readonly kind: string; readonly url: string } | undefined {
  return task.artifact === null ? undefined : JSON.parse(task.artifact);
}

/** Whether a Veo task went by Vertex AI; its handle says so. */
export function isCloudRoute(task: Pick<Task, 'vendor' | 'handle'>): boolean {
  if (task.vendor !== 'veo' || task.handle === null) return false;
  const handle: unknown = JSON.parse(task.handle);
  return typeof handle === 'object' && handle !== null && 'route' in handle && handle.route === 'vertex';
}
