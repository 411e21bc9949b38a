import type { OutboundAnswer, OutboundRequest } from '../../platform/outbound/outbound.ts';
import type { QueryOutcome, SubmitOutcome, VendorCall, VendorError, VideoRequest, VideoVendor } from '../vendor.ts';
import { asId, asObject, asText, asUrl, entryOf, toRaw } from '../vendor-answer.ts';
import { applyExtra, compact, ratioOf, readSeconds, refuse, type VendorBody } from '../vendor-body.ts';
import {
  failedTask,
  type Meaning,
  notAnAnswer,
  refusedPoll,
  toVendorError,
  unreadable,
  withoutArtifact,
} from '../vendor-errors.ts';
import { toUrlOrDataUrl } from '../vendor-media.ts';
import { H3_RATIOS } from './hailuo-models.ts';

/** The second protocol of MiniMax, of MiniMax-H3 alone: a content array, real HTTP statuses, the address in the answer. */
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

const RESOLUTIONS = ['768P', '2K'];
const DEFAULT_RESOLUTION = '2K';

function toPicture(size: string | undefined, metadata: Metadata, hasPictures: boolean) {
  const named = size?.toUpperCase();
  const isClass = named !== undefined && RESOLUTIONS.includes(named);
  const ratio = size === undefined || isClass ? undefined : ratioOf(size, H3_RATIOS);
  if (size !== undefined && !isClass && ratio === undefined) {
    refuse('size', `must be ${RESOLUTIONS.join(', ')}, or width x height of ${H3_RATIOS.join(', ')}`);
  }
  return {
    resolution: metadata.resolution?.toUpperCase() ?? (isClass ? named : DEFAULT_RESOLUTION),
    ratio: ratio ?? (hasPictures ? 'adaptive' : '16:9'),
  };
}

/** One picture is the first frame, two are the first and the last, more are references. */
function toFrames(request: VideoRequest, metadata: Metadata) {
  const given = request.images.map(toUrlOrDataUrl);
  if (given.length > 9) refuse('images', 'cannot be used: MiniMax-H3 takes 9 pictures');
  const { first_frame_image: first, last_frame_image: last } = metadata;
  if (first !== undefined && given.length > 0 && given[0] !== first) {
    refuse('image', 'and metadata.first_frame_image are two different first frames');
  }
  if (last !== undefined && given.length > 1) refuse('images', 'and metadata.last_frame_image name too many pictures');
  const item = (url: string, role: string) => ({ type: 'image_url', image_url: { url }, role });
  if (given.length > 2) return given.map((url) => item(url, 'reference_image'));
  const [start, end] = [first ?? given[0], last ?? given[1]];
  return [
    ...(start === undefined ? [] : [item(start, 'first_frame')]),
    ...(end === undefined ? [] : [item(end, 'last_frame')]),
  ];
}

const ABSENT = ['prompt_optimizer', 'fast_pretreatment', 'subject_reference'] as const;

export function toBodyH3(request: VideoRequest, metadata: Metadata): VendorBody {
  const { model, prompt, seconds = 5, size, mode } = request;
  if (mode !== undefined) refuse('mode', 'is not a field of Hailuo models');
  if (seconds < 4 || seconds > 15) refuse('duration', 'must be 4 to 15 seconds for MiniMax-H3');
  for (const key of ABSENT) {
    if (metadata[key] !== undefined) refuse(`metadata.${key}`, 'is not a field of MiniMax-H3');
  }
  const pictures = toFrames(request, metadata);
  const text = prompt === '' ? [] : [{ type: 'text', text: prompt }];
  const body = compact({
    model,
    content: [...text, ...pictures],
    duration: seconds,
    ...toPicture(size, metadata, pictures.length > 0),
    aigc_watermark: metadata.aigc_watermark,
  });
  return applyExtra(body, request.extra);
}

export function meterH3(request: VideoRequest, metadata: Metadata): ReturnType<VideoVendor['meter']> {
  const { duration, resolution } = toBodyH3(request, metadata);
  return {
    seconds: readSeconds(duration, 'duration'),
    factors: { resolution: asText(resolution) ?? DEFAULT_RESOLUTION },
  };
}

// --- Status mapping ---

export const STATES_H3: Readonly<Record<string, QueryOutcome['state']>> = {
  queued: 'QUEUED',
  running: 'IN_PROGRESS',
  succeeded: 'SUCCESS',
  failed: 'FAILURE',
  cancelled: 'FAILURE',
  expired: 'FAILURE',
};

/** The address in an answer; a link is renewed by asking again. */
export const readAddressH3 = (raw: unknown): string | undefined =>
  asUrl(asObject(asObject(asObject(raw)?.task)?.content)?.url);

export function readStatusH3(answer: OutboundAnswer, taskId: string, nowMs: number): QueryOutcome {
  const raw = toRaw(answer);
  if (answer.status === 404 && asObject(asObject(answer.json)?.error)) {
    return failedTask(raw, { ...toErrorH3(answer, nowMs), reason: 'missing' });
  }
  if (answer.status !== 200) throw refusedPoll(toErrorH3(answer, nowMs));
  const task = asObject(asObject(answer.json)?.task);
  if (!task || (task.id !== undefined && asId(task.id) !== taskId)) throw notAnAnswer(answer);
  const word = asText(task.status) ?? '';
  const state = entryOf(STATES_H3, word) ?? 'UNKNOWN';
  if (state === 'FAILURE') {
    const told = asObject(task.error);
    const code = asId(told?.code) ?? '';
    return failedTask(raw, {
      reason: entryOf(CODES_IN_TEXT, code)?.reason ?? 'other',
      code,
      message: asText(told?.message) ?? `task ${word}`,
    });
  }
  if (state !== 'SUCCESS') return { state, raw };
  const given = task.content === undefined ? undefined : asObject(task.content)?.url;
  const url = asUrl(given);
  if (url !== undefined) return { state, artifact: { kind: 'url', url }, raw };
  // Garbage where the address should be is not the vendor's word that there is none.
  if (task.content !== undefined && typeof given !== 'string') throw notAnAnswer(answer);
  return withoutArtifact(raw);
}

// --- Error reading ---

export const TYPES_H3: Readonly<Record<string, Meaning>> = {
  bad_request_error: { reason: 'user' },
  authorized_error: { reason: 'auth' },
  insufficient_balance_error: { reason: 'billing' },
  unprocessable_entity_error: { reason: 'user' },
  rate_limit_error: { reason: 'rate' },
  server_error: { reason: 'capacity' },
  overloaded_error: { reason: 'capacity' },
};

/** Messages end with the first protocol's number in parentheses; these say more than the type does. */
const CODES_IN_TEXT: Readonly<Record<string, Meaning>> = {
  1026: { reason: 'policy' },
  1027: { reason: 'policy' },
  1008: { reason: 'billing' },
  2056: { reason: 'rate' },
  2061: { reason: 'model' },
};

export function toErrorH3(answer: OutboundAnswer, nowMs: number): VendorError {
  const told = asObject(asObject(answer.json)?.error);
  const message = asText(told?.message) ?? '';
  const type = asText(told?.type) ?? '';
  const number = /\((\d{4,5})\)\s*$/.exec(message)?.[1] ?? '';
  return toVendorError(answer, nowMs, {
    code: number || type,
    message,
    meaning: entryOf(CODES_IN_TEXT, number) ?? entryOf(TYPES_H3, type),
  });
}

// --- The exchanges ---

const path = (taskId: string) => `/v2/query/video_generation/${encodeURIComponent(taskId)}`;

export async function submitH3(
  request: VideoRequest,
  metadata: Metadata,
  connection: Connection,
  call: VendorCall,
): Promise<SubmitOutcome> {
  const answer = await call.json({
    method: 'POST',
    url: `${connection.origin}/v2/video_generation`,
    headers: { ...connection.headers, 'content-type': 'application/json' },
    body: JSON.stringify(toBodyH3(request, metadata)),
    signal: call.signal,
  });
  const raw = toRaw(answer);
  if (answer.status >= 400) return { kind: 'refused', error: toErrorH3(answer, call.now()), raw };
  const taskId = asId(asObject(answer.json)?.task_id);
  if (taskId === undefined) throw unreadable(answer);
  return { kind: 'accepted', handle: { taskId, version: 2 }, upstreamId: taskId, raw };
}

export async function queryH3(taskId: string, connection: Connection, call: VendorCall): Promise<QueryOutcome> {
  const url = `${connection.origin}${path(taskId)}`;
  const request: OutboundRequest = { method: 'GET', url, headers: connection.headers, signal: call.signal };
  return readStatusH3(await call.json(request), taskId, call.now());
}

export async function deleteH3(taskId: string, connection: Connection, call: VendorCall): Promise<void> {
  const url = `${connection.origin}/v2/video_generation/${encodeURIComponent(taskId)}`;
  await call.json({ method: 'DELETE', url, headers: connection.headers, signal: call.signal });
}
