import { OPENAI_STATUS, type VendorName } from '../../../contract/states.ts';
import type { Task } from '../store.ts';
import type { Submitted } from '../submit.ts';
import type { Json } from '../vendor.ts';
import { artifactOf, isCloudRoute, toSeconds } from './unified.ts';

type Fields = { [key: string]: Json };

/** What differs from vendor to vendor in the OpenAI-style object (service contract, video object). */
interface VendorRules {
  /** Value of `model`; `''` for A, B and G. */
  readonly model: 'name' | 'empty';
  readonly taskId: boolean;
  /** `own`: our record's time. `upstream`: read from the vendor's answer, may be missing. */
  readonly completedAt: 'own' | 'upstream';
  /** `always`: present even when empty. `known`: only with an address. `never`. */
  readonly url: 'always' | 'known' | 'never';
  /** `error` of a failed task. */
  readonly error: (task: Task) => { readonly message: string; readonly code: string } | undefined;
}

const upstreamError = (task: Task) => ({ message: task.fail_reason, code: task.error_code });

const RULES: Readonly<Record<Exclude<VendorName, 'sora'>, VendorRules>> = {
  kling: {
    model: 'empty',
    taskId: false,
    completedAt: 'upstream',
    url: 'known',
    error: (task) => ({ message: task.fail_reason, code: task.error_code === '0' ? '' : task.error_code }),
  },
  jimeng: { model: 'empty', taskId: false, completedAt: 'own', url: 'always', error: upstreamError },
  // A task that failed under a business code of success carries no error object.
  hailuo: {
    model: 'name',
    taskId: false,
    completedAt: 'own',
    url: 'known',
    error: (task) => (task.error_code === '0' || task.error_code === '' ? undefined : upstreamError(task)),
  },
  seedance: {
    model: 'name',
    taskId: true,
    completedAt: 'own',
    url: 'always',
    error: () => ({ message: 'task failed', code: 'failed' }),
  },
  wan: { model: 'name', taskId: false, completedAt: 'own', url: 'always', error: upstreamError },
  veo: { model: 'name', taskId: false, completedAt: 'own', url: 'never', error: upstreamError },
  vidu: {
    model: 'empty',
    taskId: false,
    completedAt: 'own',
    url: 'known',
    error: ({ error_code, fail_reason }) => ({ message: error_code || fail_reason, code: error_code || fail_reason }),
  },
};

/** The OpenAI-style object of a task, by its vendor's rules; Sora-style ones are the upstream's own object. */
export function toVideoObject(task: Task): Json {
  if (task.vendor === 'sora') return toPassthrough(task);
  const rules = RULES[task.vendor];
  const object: Fields = {
    id: task.public_id,
    object: 'video',
    model: rules.model === 'empty' ? '' : task.model,
    status: OPENAI_STATUS[task.status],
    progress: task.progress,
    created_at: toSeconds(task.created_at),
  };
  if (rules.taskId) object.task_id = task.public_id;
  const completedAt = rules.completedAt === 'own' ? toSeconds(task.updated_at) : upstreamTime(task);
  if (completedAt !== undefined) object.completed_at = completedAt;
  const artifact = artifactOf(task);
  const url = task.status === 'SUCCESS' && artifact?.kind === 'url' ? artifact.url : '';
  if (rules.url === 'always' || (rules.url === 'known' && url !== '')) object.metadata = { url };
  if (task.vendor === 'kling') {
    const seconds = klingVideo(task)?.duration;
    if (typeof seconds === 'string') object.seconds = seconds;
  }
  if (task.status === 'FAILURE') {
    const error = rules.error(task);
    if (error !== undefined) object.error = error;
  }
  return object;
}

interface KlingData {
  readonly updated_at?: unknown;
  readonly task_status?: unknown;
  readonly task_result?: { readonly videos?: readonly { readonly duration?: unknown }[] };
}

const klingData = (task: Task): KlingData | undefined =>
  (JSON.parse(task.data) as { data?: KlingData | null }).data ?? undefined;
const klingVideo = (task: Task) => klingData(task)?.task_result?.videos?.[0];

/** Kling tells when it was done in milliseconds; nothing is made up where it does not. */
function upstreamTime(task: Task): number | undefined {
  const updatedAt = klingData(task)?.updated_at;
  return task.status === 'SUCCESS' && typeof updatedAt === 'number' && Number.isFinite(updatedAt)
    ? toSeconds(updatedAt)
    : undefined;
}

/** The upstream's object unchanged, with our truth where the task ended on our side, or before it has said anything. */
function toPassthrough(task: Task): Json {
  const data = JSON.parse(task.data) as Fields;
  const own: Fields = { id: task.public_id, object: 'video' };
  // Some imitators call it task_id alone.
  const upstreamId = data.id ?? data.task_id;
  if (typeof upstreamId !== 'string') {
    return {
      ...own,
      model: task.model,
      status: OPENAI_STATUS[task.status],
      progress: task.progress,
      created_at: toSeconds(task.created_at),
      ...(task.status === 'FAILURE' ? { error: upstreamError(task) } : {}),
    };
  }
  const endedHere = task.status === 'FAILURE' && data.status !== 'failed' && data.status !== 'cancelled';
  return {
    ...data,
    ...own,
    ...('task_id' in data ? { task_id: task.public_id } : {}),
    ...(endedHere ? { status: 'failed', progress: 100, error: upstreamError(task) } : {}),
  };
}

/** The answer to a submit: the skeleton, only `{task_id}` for Veo's cloud route, the upstream's object for Sora-style. */
export function toSubmitAnswer({ task, raw }: Submitted): Json {
  const skeleton = {
    id: task.public_id,
    task_id: task.public_id,
    object: 'video',
    model: task.model,
    status: OPENAI_STATUS[task.status],
    progress: 0,
    created_at: toSeconds(task.created_at),
  };
  if (isCloudRoute(task)) return { task_id: task.public_id };
  if (task.vendor === 'sora' && typeof raw === 'object' && raw !== null && !Array.isArray(raw))
    return { ...raw, id: task.public_id, ...('task_id' in raw ? { task_id: task.public_id } : {}) };
  return skeleton;
}
