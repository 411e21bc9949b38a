import { isObject } from '../../contract/is-object.ts';
import { OPENAI_STATUS } from '../../contract/task-states.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { NewEvent } from '../event-log/event-writer.ts';
import type { Task, TaskChange } from './task-store.ts';

/** Longer metadata is left out: a payload stays below 20 KB, which Standard Webhooks recommends. */
const MAX_METADATA_LENGTH = 4_096;
const MAX_MESSAGE_LENGTH = 2_000;

/** The event written when a task ends; `webhooks.unwrap` of OpenAI's client knows it as `video.completed` or `video.failed`. */
export function toVideoEvent(
  task: Pick<Task, 'id' | 'user_id' | 'public_id' | 'model' | 'created_at' | 'callback_url' | 'request'>,
  { status, failure }: Pick<TaskChange, 'status' | 'failure'>,
  now: number,
): NewEvent {
  const hasFailed = status === 'FAILURE';
  const { code = '', message = '' } = failure ?? {};
  return {
    type: hasFailed ? 'video.failed' : 'video.completed',
    userId: task.user_id,
    subject: toSubject(task),
    callbackUrl: task.callback_url,
    data: {
      ...toVideoData(task, status, now),
      error: hasFailed ? { code, message: message.slice(0, MAX_MESSAGE_LENGTH) } : null,
    },
  };
}

export const toSubject = ({ id }: Pick<Task, 'id'>): string => `video:${id}`;

/** What every event of a video has. @param endedAt Unix milliseconds */
export function toVideoData(
  { public_id, model, created_at, request }: Pick<Task, 'public_id' | 'model' | 'created_at' | 'request'>,
  status: TaskChange['status'],
  endedAt: number,
) {
  return {
    id: public_id,
    object: 'video',
    status: OPENAI_STATUS[status],
    model,
    created_at: toSeconds(created_at),
    completed_at: toSeconds(endedAt),
    error: null,
    metadata: metadataOf(request),
  };
}

/** What the caller gave as `metadata`, to recognize the video by; null where there is none. */
function metadataOf(request: string): object | null {
  const body: unknown = JSON.parse(request);
  const metadata = isObject(body) ? body.metadata : undefined;
  return isObject(metadata) && JSON.stringify(metadata).length <= MAX_METADATA_LENGTH ? metadata : null;
}
