import type { Static } from 'typebox';
import type { VideoRow } from '../../contract/own-video-row-and-detail.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { isImportedEndedTask } from './seq-of-imported-ended-tasks.ts';
import type { Task } from './task-store.ts';

/** @param posterUrl empty: it has no poster, or the row is not its owner's */
export function toVideoRow(task: Task, posterUrl = ''): Static<typeof VideoRow> {
  return {
    task_id: task.public_id,
    model: task.model,
    prompt: task.prompt,
    status: task.status,
    progress: `${task.progress}%`,
    fail_cause: task.fail_cause,
    fail_reason: task.fail_reason,
    error_code: task.error_code,
    quota: task.price,
    imported: isImportedEndedTask(task),
    poster_url: posterUrl,
    submit_time: toSeconds(task.submit_time),
    finish_time: toSeconds(task.finish_time),
  };
}
