import type { Static } from 'typebox';
import type { InputRole } from '../../contract/generation-ways.ts';
import { defined, isObject } from '../../contract/objects.ts';
import type { CallFacts } from '../../contract/pricing.ts';
import {
  isTerminal,
  OPENAI_STATUS,
  type OpenAiVideoStatus,
  TASK_STATUS,
  type TaskStatus,
} from '../../contract/task-states.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { UnifiedTask, VideoRow } from '../../contract/video.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import { Base64Text, stripDataUrlPrefix } from '../platform/base64.ts';
import { type BodyImages, NO_IMAGES } from '../platform/json.ts';
import { assertNoPrivateUrls } from '../platform/outbound/guard.ts';
import type { Json, TaskPresentation, VendorAdapter } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import type { GenerationRequest } from './generation-request.ts';
import { type GivenInput, type InputSource, parseMedia, parseUrl, withImages } from './request-media.ts';
import { isImportedEndedTask } from './tables.ts';
import {
  openAiStatusOf,
  parseTaskArtifact,
  parseTerms,
  reservedQuota,
  type ShownTask,
  type SubmitResult,
  type Task,
} from './task-store.ts';

/** Renders tasks in the formats of the contract, by the presentation rules of their vendors. */
export class TaskRenderer {
  readonly #vendors: VendorRegistry;
  readonly #baseUrl: string;

  /** @param baseUrl base URL of this service, for content URLs */
  constructor(vendors: VendorRegistry, baseUrl: string) {
    this.#vendors = vendors;
    this.#baseUrl = baseUrl;
  }

  submitted(submitted: SubmitResult): Json {
    return toSubmitResponse(submitted, this.#vendors.get(submitted.task.vendor));
  }

  unified(task: ShownTask) {
    const contentUrl = `${this.#baseUrl}/v1/videos/${encodeURIComponent(task.public_id)}/content`;
    return {
      code: 'success' as const,
      message: '',
      data: toUnifiedTask(task, contentUrl, this.#vendors.get(task.vendor)),
    };
  }

  /** @param source public id of the video that was edited or extended */
  video(task: ShownTask, source?: string): Json {
    const object = toVideoObject(task, this.#vendors.get(task.vendor));
    return source === undefined ? object : withSource(object, source);
  }

  /** OpenAI's complete Video object, for OpenAI's own clients. */
  complete(task: ShownTask, remixedFrom: string | undefined): Json {
    return toCompleteVideo(task, this.#vendors.get(task.vendor), remixedFrom);
  }

  listItem(task: ShownTask): Json {
    return toVideoListItem(task, this.#vendors.get(task.vendor));
  }
}

/** The object with the id of its parent in `metadata`. */
function withSource(object: Json, source: string): Json {
  const { metadata, ...rest } = object as Fields;
  return { ...rest, metadata: { ...(metadata as Fields | undefined), source_video_id: source } };
}

type Fields = { [key: string]: Json };

const failureOf = (task: Task) => ({ message: task.fail_reason, code: task.error_code });

/**
 * The OpenAI-style object of a task, rendered by its vendor's rules; the upstream's own object where the vendor passes
 * it through.
 */
function toVideoObject(task: ShownTask, { passthrough, presentation = {} }: VendorAdapter): Json {
  if (passthrough) return toPassthrough(task);
  const object: Fields = {
    id: task.public_id,
    object: 'video',
    model: presentation.hidesModel ? '' : task.model,
    status: openAiStatusOf(task),
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
  return task.queue === undefined ? object : { ...object, queue: { ...task.queue } };
}

/**
 * A task in a list, which has what readers tell videos apart by: the prompt, and always the model, which the contract
 * leaves empty in single objects only.
 */
const toVideoListItem = (task: ShownTask, adapter: VendorAdapter): Json =>
  defined({
    prompt: task.prompt || undefined,
    ...(toVideoObject(task, adapter) as Fields),
    model: task.model,
  });

/** Time of the last change; where the vendor reports its own completion time, that time, and only after success. */
function completedAtOf(task: Task, { completedAt }: TaskPresentation): number | undefined {
  if (completedAt === undefined) return toSeconds(task.updated_at);
  return task.status === 'SUCCESS' ? completedAt(JSON.parse(task.data)) : undefined;
}

/** Upstream status words that callers may see: OpenAI's words for a video that has not ended. */
const OPEN_WORDS: readonly unknown[] = ['queued', 'in_progress'] satisfies OpenAiVideoStatus[];

/**
 * The upstream's status word while the video has not ended, if it is one of OpenAI's; otherwise this service's word.
 */
const statusOf = ({ status }: Pick<Task, 'status'>, word: Json | undefined, own: OpenAiVideoStatus): Json =>
  !isTerminal(status) && status !== 'NOT_START' && OPEN_WORDS.includes(word) ? (word ?? null) : own;

/** `45`, `45.5`, `"45"` and `"45%"` are 45. */
function wholePercent(value: Json | undefined): number | undefined {
  const text = typeof value === 'string' ? /^\s*(-?\d{1,9}(?:\.\d{1,9})?)\s*%?\s*$/.exec(value)?.[1] : undefined;
  const figure = text === undefined ? value : Number(text);
  return typeof figure === 'number' && Number.isFinite(figure)
    ? Math.min(100, Math.max(0, Math.floor(figure)))
    : undefined;
}

/**
 * The upstream's progress as a whole percentage; the stored progress if the upstream reports none or the video has
 * ended here.
 */
function progressOf({ status, progress }: Pick<Task, 'status' | 'progress'>, data: Fields): number {
  const endedHere = isTerminal(status) && (status === 'SUCCESS' || OPEN_WORDS.includes(data.status));
  return endedHere ? progress : (wholePercent(data.progress) ?? progress);
}

/**
 * The upstream's own object with normalized state, progress and failure reason, because clients branch on these fields.
 */
function toPassthrough(task: ShownTask): Json {
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
    status: statusOf(task, data.status, openAiStatusOf(task)),
    progress: progressOf(task, data),
    ...(error !== undefined && { error }),
    queue: task.queue === undefined ? undefined : { ...task.queue },
  });
}

/**
 * The upstream's own error for a failed video, or the reason it failed here; undefined leaves the object's error
 * unchanged.
 */
function reasonOf(task: Task, error: Json | undefined): Json | undefined {
  if (task.status !== 'FAILURE' || (isObject(error) && typeof error.message === 'string')) return undefined;
  return typeof error === 'string' && error !== '' ? { message: error, code: task.error_code } : failureOf(task);
}

/**
 * OpenAI's complete Video object for any vendor's task, for OpenAI's own clients: every member of its schema, null
 * where the value is unknown, plus the members of the vendor's object.
 *
 * @param remixedFrom public id of the video it was remixed from
 */
function toCompleteVideo(task: ShownTask, adapter: VendorAdapter, remixedFrom: string | undefined): Json {
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

/**
 * OpenAI's clients keep polling in the first two states; any status they do not know makes them poll without a pause.
 */
const COMPLETE_STATUS = { ...OPENAI_STATUS, NOT_START: 'queued', UNKNOWN: 'queued' } as const;

function toCompleteError(task: Task, error: Json | undefined): Json {
  const { code, message, ...more } = isObject(error) ? (error as Fields) : failureOf(task);
  const cause = firstText(code, task.error_code, task.fail_cause) ?? 'failed';
  return { ...more, code: cause, message: firstText(message, task.fail_reason) ?? cause };
}

const firstNumber = (value: Json | undefined): number | undefined => (typeof value === 'number' ? value : undefined);

/** The first non-empty string or number, as a string. */
function firstText(...values: readonly (Json | undefined)[]): string | null {
  for (const value of values) {
    if (typeof value === 'string' && value !== '') return value;
    if (typeof value === 'number') return String(value);
  }
  return null;
}

/**
 * The response to a submit, by the vendor's rules: an outline of the task, its id alone, or the upstream's own object.
 */
function toSubmitResponse({ task, raw, queue }: SubmitResult, adapter: VendorAdapter): Json {
  const outline = {
    id: task.public_id,
    task_id: task.public_id,
    object: 'video',
    model: task.model,
    status: queue === undefined ? OPENAI_STATUS[task.status] : 'queued',
    progress: 0,
    created_at: toSeconds(task.created_at),
  };
  if (isOpaque(task, adapter)) return { task_id: task.public_id };
  if (adapter.passthrough && isObject(raw))
    return {
      ...raw,
      id: task.public_id,
      ...('task_id' in raw && { task_id: task.public_id }),
      ...('status' in raw && { status: statusOf(task, raw.status as Json, OPENAI_STATUS[task.status]) }),
      ...('progress' in raw && { progress: wholePercent(raw.progress as Json) ?? 0 }),
      ...('created_at' in raw && typeof raw.created_at !== 'number' && { created_at: toSeconds(task.created_at) }),
    };
  return queue === undefined ? outline : { ...outline, queue: { ...queue } };
}

/** The unified task, which always has every key. `contentUrl` is this service's own URL of the file. */
function toUnifiedTask(task: ShownTask, contentUrl: string, adapter: VendorAdapter): Static<typeof UnifiedTask> {
  const unified = {
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
  return task.queue === undefined ? unified : { ...unified, queue: task.queue };
}

/**
 * For a failed task the reason. For a finished one the video's URL: the public URL, or this service's where the
 * vendor's requires a key.
 */
function failReasonOrUrl(task: Task, contentUrl: string, adapter: VendorAdapter): string {
  if (task.status === TASK_STATUS.FAILURE) return task.fail_reason;
  if (task.status !== TASK_STATUS.SUCCESS) return '';
  const artifact = parseTaskArtifact(task);
  if (artifact?.kind === 'url') return artifact.url;
  return artifact?.kind === 'inline' || isOpaque(task, adapter) ? '' : contentUrl;
}

/** Whether the vendor exposes no URL for the task's file. */
function isOpaque(task: Pick<Task, 'handle'>, { presentation }: VendorAdapter): boolean {
  return task.handle !== null && presentation?.isOpaque?.(JSON.parse(task.handle)) === true;
}

/**
 * Kling's names for our states; there is none between submitted and processing. Source: its API reference, "Text to
 * Video".
 */
const TASK_STATUS_WORDS: Readonly<Record<TaskStatus, string>> = {
  NOT_START: 'submitted',
  SUBMITTED: 'submitted',
  QUEUED: 'submitted',
  UNKNOWN: 'submitted',
  IN_PROGRESS: 'processing',
  SUCCESS: 'succeed',
  FAILURE: 'failed',
};

/** Wraps data in Kling's success envelope. */
export const toKlingEnvelope = (data: Json, requestId: string) => ({
  code: 0 as const,
  message: 'SUCCEED',
  request_id: requestId,
  data,
});

const taskInfoOf = ({ external_id }: Pick<Task, 'external_id'>): Json =>
  external_id === null ? {} : { external_task_id: external_id };

/** `data` of Kling's response to a submit. */
export const toKlingSubmitData = ({ task }: SubmitResult): Json => ({
  task_id: task.public_id,
  task_info: taskInfoOf(task),
  task_status: 'submitted',
  created_at: task.created_at,
  updated_at: task.created_at,
});

/**
 * A task as Kling's query returns it, under our id. Fields that only the vendor knows are copied from its latest
 * response.
 */
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

/** Jimeng's names for our states; a failure is reported by an error code. Source: volcengine.com/docs/85621. */
const STATUS_WORDS: Readonly<Record<Exclude<TaskStatus, 'FAILURE'>, string>> = {
  NOT_START: 'in_queue',
  SUBMITTED: 'in_queue',
  QUEUED: 'in_queue',
  UNKNOWN: 'in_queue',
  IN_PROGRESS: 'generating',
  SUCCESS: 'done',
};

/** The codes that end a task by themselves: its input or its result was refused. */
const REFUSAL_CODE = /^(?:50215|50(?:41|51|52)\d)$/;

/**
 * Response to Jimeng's query for a task. A failure without a code of the vendor's content checks is `done` next to an
 * error code: clients take the code alone for an error of the query, and poll on.
 *
 * @throws AppError with the vendor's own code for a refused task
 */
export function toJimengTask(task: Task) {
  if (task.status !== 'FAILURE') {
    const artifact = parseTaskArtifact(task);
    const url = artifact?.kind === 'url' ? artifact.url : '';
    return { code: 10_000, message: 'Success', data: { status: STATUS_WORDS[task.status], video_url: url } };
  }
  const { fail_reason: message, error_code: publicCode } = task;
  if (REFUSAL_CODE.test(publicCode)) throw new AppError('upstream_refused', { message, publicCode });
  const code = /^50\d{3}$/.test(publicCode) ? Number(publicCode) : 50_500;
  return { code, message, data: { status: STATUS_WORDS.SUCCESS, video_url: '' } };
}

type Body = { readonly [key: string]: unknown };

/** Kling's endpoints that generate videos. */
export type KlingOperation = 'text2video' | 'image2video' | 'omni-video';

const MAX_EXTERNAL_ID_LENGTH = 200;

/**
 * Parses a request in Kling's own format: `model_name` (or `model`), `prompt`, `image`, `duration` as a string, and so
 * on. Its media become typed inputs; all other fields reach the vendor unchanged.
 */
export function parseKlingRequest(
  given: Body,
  operation: KlingOperation,
  bodyImages: BodyImages = NO_IMAGES,
): GenerationRequest {
  const body = toStrictBody(given, KLING_FIELDS);
  assertNoPrivateUrls({ ...body, callback_url: undefined });
  const image = optionalText(body, 'image');
  if (operation === 'image2video' && image === undefined && optionalText(body, 'image_tail') === undefined)
    throw invalidRequest('image is required.', 'image');
  const seconds = optionalText(body, 'duration') ?? '5';
  if (!/^[1-9]\d{0,2}$/.test(seconds)) throw invalidRequest('duration must be whole seconds, as a string.', 'duration');
  const model = klingModelOf(body, operation);
  const { inputs, others } = operation === 'omni-video' ? omniInputs(body) : frameInputs(body, operation, bodyImages);
  const { model_name: _, model: __, ...rest } = others;
  const isEdit = inputs.some(({ role }) => role === 'source');
  return {
    model,
    prompt: optionalText(body, 'prompt') ?? '',
    // The omni endpoint accepts a prompt per shot instead.
    isPromptOptional: operation === 'image2video' || (operation === 'omni-video' && body.multi_shot === true),
    inputs,
    operation: isEdit ? 'edit' : 'generate',
    // An edited video keeps its length.
    seconds: isEdit ? undefined : Number(seconds),
    mode: optionalText(body, 'mode') ?? 'std',
    metadata: {},
    body,
    bodyImages,
    officialBody: { ...toOfficialBody(rest, bodyImages), model_name: model },
    officialVendor: 'kling',
    officialOperation: operation,
    callbackUrl: callbackUrlOf(body),
  };
}

/** The media of a body, and its other fields. */
interface NativeInputs {
  readonly inputs: readonly GivenInput[];
  readonly others: Body;
}

/** A last frame alone, which only some models take, is left to the vendor. */
function frameInputs(body: Body, operation: KlingOperation, bodyImages: BodyImages): NativeInputs {
  if (operation !== 'image2video' || body.image === undefined) return { inputs: [], others: body };
  const { image: _, image_tail: __, ...others } = body;
  const inputs = Object.entries(FRAME_ROLES).flatMap(([field, role]): readonly GivenInput[] => {
    const text = optionalText(body, field);
    return text === undefined ? [] : [imageInput(bodyImages.get(field) ?? text, field, role)];
  });
  return { inputs, others };
}
const FRAME_ROLES = { image: 'first_frame', image_tail: 'last_frame' } as const;

/** The lists of the omni endpoint; their other members stay in the body, element by element. */
function omniInputs(body: Body): NativeInputs {
  const [images, videos] = [listOf(body, 'image_list'), listOf(body, 'video_list')];
  const inputs = [
    ...images.map(({ image_url: text, type }, index) => {
      const role = typeof type === 'string' && Object.hasOwn(OMNI_ROLES, type) ? OMNI_ROLES[type] : undefined;
      return imageInput(text, `image_list.${index}.image_url`, role ?? 'reference');
    }),
    ...videos.map(({ video_url: text, refer_type: type }, index) =>
      videoInput(text, `video_list.${index}.video_url`, type === 'feature' ? 'reference' : 'source'),
    ),
  ];
  const { image_list: _, video_list: __, ...others } = body;
  const without = (key: string, list: readonly Body[]) => list.map(({ [key]: ___, ...entry }) => entry);
  return {
    inputs,
    others: {
      ...others,
      ...(images.length > 0 && { image_list: without('image_url', images) }),
      ...(videos.length > 0 && { video_list: without('video_url', videos) }),
    },
  };
}
/** An image without a type is a reference. */
const OMNI_ROLES: Readonly<Record<string, InputRole>> = { first_frame: 'first_frame', end_frame: 'last_frame' };

function listOf(body: Body, key: string): readonly Body[] {
  const value = body[key] ?? [];
  if (!Array.isArray(value) || !value.every(isObject)) throw invalidRequest(`${key} must be a list of objects.`, key);
  return value as readonly Body[];
}

/** Ids of uploaded files and of videos, which may stand for a URL in the vendors' formats too. */
const FILE_ID = /^(?:file-|video_|task_)[\w-]{8,100}$/;

function imageInput(given: unknown, param: string, role: InputRole): GivenInput {
  const isText = typeof given === 'string' || given instanceof Base64Text;
  if (!isText) throw invalidRequest(`${param} must be a string.`, param);
  const isId = typeof given === 'string' && FILE_ID.test(given);
  return { param, type: 'image', role, source: isId ? { fileId: given } : parseMedia(given, param) };
}

function videoInput(given: unknown, param: string, role: InputRole): GivenInput {
  const text = typeof given === 'string' ? given.trim() : '';
  const isId = FILE_ID.test(text);
  if (!isId && !/^https?:/i.test(text))
    throw invalidRequest(`${param} must be an http(s) address, or the id of a file or video.`, param);
  const source: InputSource = isId ? { fileId: text } : { url: parseUrl(text, param) };
  return { param, type: 'video', role, source };
}

/** The default model of each of Kling's endpoints. */
function klingModelOf(body: Body, operation: KlingOperation): string {
  const [modelName, model] = [optionalText(body, 'model_name'), optionalText(body, 'model')];
  if (modelName !== undefined && model !== undefined && modelName !== model)
    throw invalidRequest('model and model_name contradict each other.', 'model');
  return modelName ?? model ?? (operation === 'omni-video' ? 'kling-video-o1' : 'kling-v1');
}

/**
 * The caller's own id for a task, by which the task can be queried later.
 * @throws AppError `invalid_request`
 */
export function externalIdOf(body: Body): string | undefined {
  const id = optionalText(withoutNulls(body), 'external_task_id');
  if (id !== undefined && id.length > MAX_EXTERNAL_ID_LENGTH)
    throw invalidRequest(
      `external_task_id must have at most ${MAX_EXTERNAL_ID_LENGTH} characters.`,
      'external_task_id',
    );
  return id || undefined;
}

/** Parses a request in Jimeng's own format, where `req_key` names the model. */
export function parseJimengRequest(given: Body, bodyImages: BodyImages = NO_IMAGES): GenerationRequest {
  const body = toStrictBody(given, JIMENG_FIELDS);
  const model = optionalText(body, 'req_key');
  if (model === undefined) throw invalidRequest('req_key is required.', 'req_key');
  assertNoPrivateUrls({ ...body, callback_url: undefined });
  const { image_urls: _, binary_data_base64: __, ...others } = body;
  const images = [...textsOf(body, 'image_urls'), ...textsOf(body, 'binary_data_base64')];
  return {
    model,
    prompt: optionalText(body, 'prompt') ?? '',
    inputs: images.map(({ text, param }, index) =>
      imageInput(bodyImages.get(param) ?? text, param, JIMENG_ROLES[index] ?? 'reference'),
    ),
    metadata: {},
    body,
    bodyImages,
    officialBody: toOfficialBody(others, bodyImages),
    officialVendor: 'jimeng',
    callbackUrl: callbackUrlOf(body),
  };
}

/** Roles of its images, in their order. */
const JIMENG_ROLES: readonly InputRole[] = ['first_frame', 'last_frame'];

/** The body sent to the vendor, with bare Base64. */
const toOfficialBody = (body: Body, bodyImages: BodyImages): NonNullable<GenerationRequest['officialBody']> =>
  withImages(body, bodyImages, ({ bytes }) => new Base64Text(bytes)) as NonNullable<GenerationRequest['officialBody']>;

/** The vendors' official clients send null for omitted fields. */
const withoutNulls = (body: Body): Body =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));

/** The form in which a vendor documents fields that clients send as strings or numbers, and its media fields. */
interface NativeFields {
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
  readonly media: readonly string[];
}
const KLING_FIELDS: NativeFields = {
  texts: ['duration', 'external_task_id'],
  numbers: ['cfg_scale'],
  media: ['image', 'image_tail', 'static_mask', 'image_list', 'video_list'],
};
const JIMENG_FIELDS: NativeFields = {
  texts: ['task_id'],
  numbers: ['seed', 'frames'],
  media: ['image_urls', 'binary_data_base64'],
};

const bareOf = (value: unknown): unknown => (typeof value === 'string' ? stripDataUrlPrefix(value) : value);

/**
 * The body in its documented form: null and empty media are dropped, Base64 is bare, and numbers have the vendor's
 * type.
 */
function toStrictBody(given: Body, { texts, numbers, media }: NativeFields): Body {
  const body: Record<string, unknown> = withoutNulls(given);
  for (const field of media) {
    const value = body[field];
    if (value === '' || (Array.isArray(value) && value.every((each) => each === null || each === '')))
      delete body[field];
    else if (value !== undefined) body[field] = Array.isArray(value) ? value.map(bareOf) : bareOf(value);
  }
  for (const field of texts) if (Number.isSafeInteger(body[field])) body[field] = String(body[field]);
  for (const field of numbers) {
    const value = body[field];
    if (typeof value === 'string' && /^ *-?\d{1,15}(\.\d{1,15})? *$/.test(value)) body[field] = Number(value);
  }
  return body;
}

/** The caller's callback URL; an empty string counts as absent. The submit validates the address. */
function callbackUrlOf(body: Body): string | undefined {
  const url = optionalText(body, 'callback_url') || undefined;
  if (url !== undefined && url.length > 2_000) throw invalidRequest('callback_url is too long.', 'callback_url');
  return url;
}

function optionalText(body: Body, key: string): string | undefined {
  const value = body[key];
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw invalidRequest(`${key} must be a string.`, key);
  return value;
}

function textsOf(body: Body, key: string): readonly { readonly text: string; readonly param: string }[] {
  const value = body[key] ?? [];
  if (!Array.isArray(value)) throw invalidRequest(`${key} must be a list of strings.`, key);
  return value.map((text: unknown, index) => {
    if (typeof text !== 'string') throw invalidRequest(`${key} must be a list of strings.`, key);
    return { text, param: `${key}.${index}` };
  });
}

/** @param posterUrl empty if the video has no poster or the row is not the reader's own */
export function toVideoRow(task: ShownTask, posterUrl = ''): Static<typeof VideoRow> {
  const reserved = reservedQuota(task);
  return defined({
    task_id: task.public_id,
    model: task.model,
    prompt: task.prompt,
    status: task.status,
    progress: `${task.progress}%`,
    fail_cause: task.fail_cause,
    fail_reason: task.fail_reason,
    error_code: task.error_code,
    quota: task.price,
    reserved: reserved > task.price ? reserved : undefined,
    imported: isImportedEndedTask(task),
    poster_url: posterUrl,
    submit_time: toSeconds(task.submit_time),
    finish_time: toSeconds(task.finish_time),
    queue: task.queue,
  });
}
