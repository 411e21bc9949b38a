import { asObject } from '../../../contract/is-object.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import type { AdapterContext } from '../../upstreams/upstream.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import type { QueryOutcome, SubmitOutcome, VendorAdapter, VideoRequest } from '../adapter-types.ts';
import {
  type ErrorClass,
  failedTask,
  readReason,
  rejectedPoll,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
} from '../error-mapping.ts';
import {
  acceptedSubmit,
  deleteJson,
  finishedTask,
  getJson,
  postJson,
  refusedSubmit,
} from '../json-http-calls-and-outcomes.ts';
import { isSameMedia, type MediaText, toUrlOrDataUrl } from '../media-to-base64-or-url.ts';
import { matchAspectRatio, parseSeconds, rejectField } from '../parse-seconds-ratio-and-price-factors.ts';
import { classifyFailureWord, readTaskState } from '../read-task-state.ts';
import { applyExtraFields, omitUndefined, type RequestBody } from '../request-body.ts';
import { asId, asText, asUrl, isForeignId, isSuccessStatus, ownEntry, toRawResponse } from '../untrusted-json.ts';
import { H3_MODELS, H3_RATIOS, type H3Model } from './models.ts';

/** The second protocol of MiniMax, of the H3 models alone: a content array, real HTTP statuses, the video's URL in the response. */
interface Connection {
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Metadata {
  readonly resolution?: string;
  readonly first_frame_image?: string;
  readonly last_frame_image?: string;
  readonly aigc_watermark?: boolean;
  readonly prompt_optimizer?: boolean;
  readonly fast_pretreatment?: boolean;
  readonly subject_reference?: unknown;
}

// --- Request mapping ---

export const isH3 = (model: string): boolean => Object.hasOwn(H3_MODELS, model);

function limitsOf(model: string): H3Model {
  const limits = ownEntry(H3_MODELS, model);
  if (limits === undefined) throw new Error(`${model} has another protocol`);
  return limits;
}

function toFrameSize({ size, model }: VideoRequest, metadata: Metadata, hasPictures: boolean) {
  const { resolutions, defaultResolution } = limitsOf(model);
  const named = size?.toUpperCase();
  const isClass = named !== undefined && resolutions.includes(named);
  const ratio = size === undefined || isClass ? undefined : matchAspectRatio(size, H3_RATIOS);
  if (size !== undefined && !isClass && ratio === undefined) {
    rejectField('size', `must be ${resolutions.join(', ')}, or width x height of ${H3_RATIOS.join(', ')}`);
  }
  return {
    resolution: metadata.resolution?.toUpperCase() ?? (isClass ? named : defaultResolution),
    ratio: ratio ?? (hasPictures ? 'adaptive' : '16:9'),
  };
}

/** One picture is the first frame, two are the first and the last, more are references. */
function toImageContent(request: VideoRequest, metadata: Metadata) {
  const given = request.images.map(toUrlOrDataUrl);
  const { maxImages } = limitsOf(request.model);
  if (given.length > maxImages) rejectField('images', `cannot be used: ${request.model} takes ${maxImages} pictures`);
  const { first_frame_image: first, last_frame_image: last } = metadata;
  if (first !== undefined && given.length > 0 && !isSameMedia(given[0] ?? '', first)) {
    rejectField('image', 'and metadata.first_frame_image are two different first frames');
  }
  if (last !== undefined && given.length > 1)
    rejectField('images', 'and metadata.last_frame_image name too many pictures');
  const item = (url: MediaText, role: string) => ({ type: 'image_url', image_url: { url }, role });
  if (given.length > 2) return given.map((url) => item(url, 'reference_image'));
  const [start, end] = [first ?? given[0], last ?? given[1]];
  return [
    ...(start === undefined ? [] : [item(start, 'first_frame')]),
    ...(end === undefined ? [] : [item(end, 'last_frame')]),
  ];
}

const UNSUPPORTED_KEYS = ['prompt_optimizer', 'fast_pretreatment', 'subject_reference'] as const;

export function toBodyH3(request: VideoRequest, metadata: Metadata): RequestBody {
  const { model, prompt, mode } = request;
  const offered = limitsOf(model).seconds;
  const { seconds = offered.default } = request;
  if (mode !== undefined) rejectField('mode', 'is not a field of Hailuo models');
  if (seconds < offered.min || seconds > offered.max)
    rejectField('duration', `must be ${offered.min} to ${offered.max} seconds for ${model}`);
  for (const key of UNSUPPORTED_KEYS) {
    if (metadata[key] !== undefined) rejectField(`metadata.${key}`, `is not a field of ${model}`);
  }
  const pictures = toImageContent(request, metadata);
  const text = prompt === '' ? [] : [{ type: 'text', text: prompt }];
  const body = omitUndefined({
    model,
    content: [...text, ...pictures],
    duration: seconds,
    ...toFrameSize(request, metadata, pictures.length > 0),
    aigc_watermark: metadata.aigc_watermark,
  });
  return applyExtraFields(body, request.extraFields);
}

export function billingFactorsH3(
  request: VideoRequest,
  metadata: Metadata,
): ReturnType<VendorAdapter['billingFactors']> {
  const { duration, resolution } = toBodyH3(request, metadata);
  return {
    seconds: parseSeconds(duration, 'duration'),
    factors: { resolution: asText(resolution) ?? limitsOf(request.model).defaultResolution },
  };
}

// --- Status mapping ---

/** The video's URL in a response; an expired one is renewed by polling again. */
export const parseArtifactUrlH3 = (raw: unknown): string | undefined =>
  asUrl(asObject(asObject(asObject(raw)?.task)?.content)?.url);

export function parseStatusH3(response: BufferedResponse, taskId: string, nowMs: number): QueryOutcome {
  const raw = toRawResponse(response);
  if (response.status === 404 && asObject(asObject(response.json)?.error)) {
    return failedTask(raw, { ...toErrorH3(response, nowMs), reason: 'missing' });
  }
  if (!isSuccessStatus(response)) throw rejectedPoll(toErrorH3(response, nowMs));
  const task = asObject(asObject(response.json)?.task);
  if (!task || isForeignId(task.id, taskId)) throw unreadablePoll(response);
  const word = asText(task.status) ?? '';
  const state = readTaskState(word);
  if (state === 'FAILURE') {
    const { code, message } = readReason(task.error, { ...task, error: undefined });
    return failedTask(raw, {
      ...(ownEntry(CLASS_BY_MESSAGE_CODE, code) ?? classifyFailureWord(word) ?? UNKNOWN_FAILURE),
      code,
      message: message ?? `task ${word}`,
    });
  }
  if (state !== 'SUCCESS') return { state, raw };
  const isDamaged =
    (task.content ?? undefined) !== undefined && typeof (asObject(task.content)?.url ?? '') !== 'string';
  if (isDamaged || (task.content && !asObject(task.content))) throw unreadablePoll(response);
  return finishedTask(asObject(task.content)?.url, response);
}

// --- Error reading ---

export const CLASS_BY_TYPE_H3: Readonly<Record<string, ErrorClass>> = {
  bad_request_error: { reason: 'user' },
  authorized_error: { reason: 'auth' },
  insufficient_balance_error: { reason: 'billing' },
  unprocessable_entity_error: { reason: 'user' },
  rate_limit_error: { reason: 'rate' },
  server_error: { reason: 'capacity' },
  overloaded_error: { reason: 'capacity' },
};

/** Messages end with the first protocol's number in parentheses; it is more specific than the type. */
const CLASS_BY_MESSAGE_CODE: Readonly<Record<string, ErrorClass>> = {
  1026: { reason: 'policy' },
  1027: { reason: 'policy', cause: 'result_refused' },
  1008: { reason: 'billing' },
  2056: { reason: 'rate' },
  2061: { reason: 'model' },
};

export function toErrorH3(response: BufferedResponse, nowMs: number): VendorError {
  const told = asObject(asObject(response.json)?.error);
  const message = asText(told?.message) ?? '';
  const type = asText(told?.type) ?? '';
  const number = /\((\d{4,5})\)\s*$/.exec(message)?.[1] ?? '';
  return toVendorError(response, nowMs, {
    code: number || type,
    message,
    meaning: ownEntry(CLASS_BY_MESSAGE_CODE, number) ?? ownEntry(CLASS_BY_TYPE_H3, type),
  });
}

// --- The exchanges ---

const queryPath = (taskId: string) => `/v2/query/video_generation/${encodeURIComponent(taskId)}`;

export async function submitH3(
  request: VideoRequest,
  metadata: Metadata,
  connection: Connection,
  context: AdapterContext,
): Promise<SubmitOutcome> {
  const url = `${connection.origin}/v2/video_generation`;
  const response = await postJson(context, url, connection.headers, toBodyH3(request, metadata));
  if (response.status >= 400) return refusedSubmit(toErrorH3(response, context.now()), response);
  const taskId = isSuccessStatus(response) ? asId(asObject(response.json)?.task_id) : undefined;
  return acceptedSubmit(taskId, response, { taskId: taskId ?? '', version: 2 });
}

export async function queryH3(taskId: string, connection: Connection, context: AdapterContext): Promise<QueryOutcome> {
  const response = await getJson(context, `${connection.origin}${queryPath(taskId)}`, connection.headers);
  return parseStatusH3(response, taskId, context.now());
}

export async function deleteH3(taskId: string, connection: Connection, context: AdapterContext): Promise<void> {
  const url = `${connection.origin}/v2/video_generation/${encodeURIComponent(taskId)}`;
  await deleteJson(context, url, connection.headers);
}
