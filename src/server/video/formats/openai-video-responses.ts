import { isObject } from '../../../contract/is-object.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import { OPENAI_STATUS } from '../../../contract/task-states.ts';
import { toSeconds } from '../../../contract/time-units.ts';
import type { Json, TaskPresentation, VendorAdapter } from '../../vendors/adapter-types.ts';
import { parseTaskArtifact } from '../parse-task-artifact.ts';
import type { SubmitResult } from '../submit/submitted-task-and-vendor-response.ts';
import type { Task } from '../task-store.ts';
import { isOpaque } from './unified-task-response.ts';

type Fields = { [key: string]: Json };

const failureOf = (task: Task) => ({ message: task.fail_reason, code: task.error_code });

/** The OpenAI-style object of a task, by its vendor's rules; the upstream's own object where the vendor passes it through. */
export function toVideoObject(task: Task, { passthrough, presentation = {} }: VendorAdapter): Json {
  if (passthrough) return toPassthrough(task);
  const object: Fields = {
    id: task.public_id,
    object: 'video',
    model: presentation.hidesModel ? '' : task.model,
    status: OPENAI_STATUS[task.status],
    progress: task.progress,
    created_at: toSeconds(task.created_at),
  };
  if (presentation.repeatsId) object.task_id = task.public_id;
  const completedAt = completedAtOf(task, presentation);
  if (completedAt !== undefined) object.completed_at = completedAt;
  const artifact = parseTaskArtifact(task);
  const url = task.status === 'SUCCESS' && artifact?.kind === 'url' ? artifact.url : '';
  const { url: shows = 'always' } = presentation;
  if (shows === 'always' || (shows === 'known' && url !== '')) object.metadata = { url };
  const seconds = presentation.seconds?.(JSON.parse(task.data));
  if (seconds !== undefined) object.seconds = seconds;
  if (task.status === 'FAILURE') {
    const failure = failureOf(task);
    const error = presentation.error === undefined ? failure : presentation.error(failure);
    if (error !== undefined) object.error = { ...error };
  }
  return object;
}

/** The same in a list, where `model` is always the model's name: the contract leaves it empty for single objects only. */
export const toVideoListItem = (task: Task, adapter: VendorAdapter): Json => ({
  ...(toVideoObject(task, adapter) as Fields),
  model: task.model,
});

/** The vendor's own time only after success; absent where the vendor reports none. */
function completedAtOf(task: Task, { completedAt }: TaskPresentation): number | undefined {
  if (completedAt === undefined) return toSeconds(task.updated_at);
  return task.status === 'SUCCESS' ? completedAt(JSON.parse(task.data)) : undefined;
}

/** The upstream's object unchanged; our own state replaces it where we ended the task, or before the vendor has reported any. */
function toPassthrough(task: Task): Json {
  const data = JSON.parse(task.data) as Fields;
  const own: Fields = { id: task.public_id, object: 'video' };
  // Some OpenAI-compatible services name the id `task_id` only.
  const upstreamId = data.id ?? data.task_id;
  if (typeof upstreamId !== 'string') {
    return defined({
      ...own,
      model: task.model,
      status: OPENAI_STATUS[task.status],
      progress: task.progress,
      created_at: toSeconds(task.created_at),
      error: task.status === 'FAILURE' ? failureOf(task) : undefined,
    });
  }
  const endedHere = task.status === 'FAILURE' && data.status !== 'failed' && data.status !== 'cancelled';
  return {
    ...data,
    ...own,
    ...('task_id' in data && { task_id: task.public_id }),
    ...(endedHere && { status: 'failed', progress: 100, error: failureOf(task) }),
  };
}

/** The response to a submit: the task's outline, its id alone, or the upstream's own object, by the vendor's rules. */
export function toSubmitResponse({ task, raw }: SubmitResult, adapter: VendorAdapter): Json {
  const skeleton = {
    id: task.public_id,
    task_id: task.public_id,
    object: 'video',
    model: task.model,
    status: OPENAI_STATUS[task.status],
    progress: 0,
    created_at: toSeconds(task.created_at),
  };
  if (isOpaque(task, adapter)) return { task_id: task.public_id };
  if (adapter.passthrough && isObject(raw))
    return { ...raw, id: task.public_id, ...('task_id' in raw && { task_id: task.public_id }) };
  return skeleton;
}
