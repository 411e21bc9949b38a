import { isObject } from '../../../contract/is-object.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import type { CallFacts } from '../../../contract/price-calls-and-videos.ts';
import { isTerminal, OPENAI_STATUS, type OpenAiVideoStatus } from '../../../contract/task-states.ts';
import { toSeconds } from '../../../contract/time-units.ts';
import type { Json, TaskPresentation, VendorAdapter } from '../../vendors/adapter.ts';
import { parseTaskArtifact } from '../parse-task-artifact.ts';
import type { SubmitResult } from '../submit/submitted-task-and-vendor-response.ts';
import { parseTerms } from '../task-charge-and-log-detail.ts';
import type { Task } from '../task-store.ts';
import { isOpaque } from './unified-task-response.ts';

type Fields = { [key: string]: Json };

const failureOf = (task: Task) => ({ message: task.fail_reason, code: task.error_code });

/** The OpenAI-style object of a task, by its vendor's rules; the upstream's own where the vendor passes it through. */
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

/** Words of the upstream's own object that callers may see: those of OpenAI's API for a video that has not ended. */
const OPEN_WORDS: readonly unknown[] = ['queued', 'in_progress'] satisfies OpenAiVideoStatus[];

/** The upstream's word while the video has not ended, where it is one of OpenAI's; ours for any other, and for an end. */
const statusOf = ({ status }: Pick<Task, 'status'>, word: Json | undefined): Json =>
  !isTerminal(status) && status !== 'NOT_START' && OPEN_WORDS.includes(word) ? (word ?? null) : OPENAI_STATUS[status];

/** `45`, `45.5`, `"45"` and `"45%"` are 45. */
function wholePercent(value: Json | undefined): number | undefined {
  const text = typeof value === 'string' ? /^\s*(-?\d{1,9}(?:\.\d{1,9})?)\s*%?\s*$/.exec(value)?.[1] : undefined;
  const figure = text === undefined ? value : Number(text);
  return typeof figure === 'number' && Number.isFinite(figure)
    ? Math.min(100, Math.max(0, Math.floor(figure)))
    : undefined;
}

/** The upstream's figure as a whole percentage; ours where it has none, or where the video ended here. */
function progressOf({ status, progress }: Pick<Task, 'status' | 'progress'>, data: Fields): number {
  const endedHere = isTerminal(status) && (status === 'SUCCESS' || OPEN_WORDS.includes(data.status));
  return endedHere ? progress : (wholePercent(data.progress) ?? progress);
}

/** What clients decide by has a fixed form, whatever the upstream wrote: the state, its progress, and the reason of a failure. */
function toPassthrough(task: Task): Json {
  const data = JSON.parse(task.data) as Fields;
  const error = reasonOf(task, data.error);
  return defined({
    model: task.model,
    created_at: toSeconds(task.created_at),
    ...data,
    id: task.public_id,
    object: 'video',
    // Some OpenAI-compatible services name the id `task_id` only.
    task_id: 'task_id' in data ? task.public_id : undefined,
    status: statusOf(task, data.status),
    progress: progressOf(task, data),
    ...(error !== undefined && { error }),
  });
}

/** The upstream's own error of a failed video, or the reason it failed for here; undefined where the object's stays as it is. */
function reasonOf(task: Task, told: Json | undefined): Json | undefined {
  if (task.status !== 'FAILURE' || (isObject(told) && typeof told.message === 'string')) return undefined;
  return typeof told === 'string' && told !== '' ? { message: told, code: task.error_code } : failureOf(task);
}

/**
 * OpenAI's complete Video object of any vendor's task, for OpenAI's own clients: every member of its schema, null where the value
 * is not known, beside what the vendor's object has anyway.
 *
 * @param remixedFrom public id of the video it was remixed from
 */
export function toCompleteVideo(task: Task, adapter: VendorAdapter, remixedFrom: string | undefined): Json {
  const object = toVideoObject(task, adapter) as Fields;
  const { size, prompt } = JSON.parse(task.request) as Fields;
  const facts: CallFacts = parseTerms(task.pricing)?.facts ?? {};
  return {
    ...object,
    id: task.public_id,
    model: task.model,
    status: COMPLETE_STATUS[task.status],
    completed_at: isTerminal(task.status)
      ? (firstNumber(object.completed_at) ?? toSeconds(task.finish_time || task.updated_at))
      : null,
    seconds: firstText(object.seconds, facts.seconds),
    size: firstText(object.size, size, facts.size),
    prompt: firstText(object.prompt, task.prompt, prompt),
    error: task.status === 'FAILURE' ? toCompleteError(task, object.error) : null,
    expires_at: firstNumber(object.expires_at) ?? null,
    remixed_from_video_id: firstText(object.remixed_from_video_id, remixedFrom),
  };
}

/** OpenAI's clients wait in the first two states, and without a pause in any word they do not know. */
const COMPLETE_STATUS = { ...OPENAI_STATUS, NOT_START: 'queued', UNKNOWN: 'queued' } as const;

function toCompleteError(task: Task, told: Json | undefined): Json {
  const { code, message, ...more } = isObject(told) ? (told as Fields) : failureOf(task);
  const cause = firstText(code, task.error_code, task.fail_cause) ?? 'failed';
  return { ...more, code: cause, message: firstText(message, task.fail_reason) ?? cause };
}

const firstNumber = (value: Json | undefined): number | undefined => (typeof value === 'number' ? value : undefined);

/** The first of some values that is a text, or a number written as one. */
function firstText(...values: readonly (Json | undefined)[]): string | null {
  const found = values.find((value) => (typeof value === 'string' && value !== '') || typeof value === 'number');
  return found === undefined ? null : String(found);
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
    return {
      ...raw,
      id: task.public_id,
      ...('task_id' in raw && { task_id: task.public_id }),
      ...('status' in raw && { status: statusOf(task, raw.status as Json) }),
    };
  return skeleton;
}
