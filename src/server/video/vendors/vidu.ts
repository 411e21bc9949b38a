import { Type } from 'typebox';
import type { TaskStatus } from '../../../contract/states.ts';
import type { OutboundAnswer } from '../../platform/outbound/outbound.ts';
import {
  type Json,
  type QueryOutcome,
  type VendorCall,
  type VendorError,
  VendorRefusal,
  type VideoRequest,
  type VideoVendor,
} from '../vendor.ts';
import { asArray, asId, asObject, asText, asUrl, toRaw } from '../vendor-answer.ts';
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
import { metadataReader } from '../vendor-metadata.ts';
import { VIDU_MODELS, VIDU_RATIOS } from './vidu-models.ts';

/** Vidu's enterprise API `/ent/v2` (platform.vidu.com/docs): four ways in by the number of pictures, one poll. */

// ── Request mapping ─────────────────────────────────────────────────────────────────────────────────────────────────

const readMetadata = metadataReader(
  Type.Object({
    resolution: Type.Optional(Type.String({ minLength: 1, maxLength: 16 })),
    movement_amplitude: Type.Optional(Type.Enum(['auto', 'small', 'medium', 'large'])),
    bgm: Type.Optional(Type.Boolean()),
    seed: Type.Optional(Type.Integer()),
  }),
);

export type ViduPath = 'text2video' | 'img2video' | 'start-end2video' | 'reference2video';
const PATH_BY_IMAGES: readonly ViduPath[] = ['text2video', 'img2video', 'start-end2video'];

/** One picture moves, two are the first and the last frame, three or more are references. */
export const pathOf = (imageCount: number): ViduPath => PATH_BY_IMAGES[imageCount] ?? 'reference2video';

/** A frame's shorter side to the vendor's nearest word. */
const LADDER: readonly (readonly [side: number, word: string])[] = [
  [360, '360p'],
  [540, '540p'],
  [720, '720p'],
  [1080, '1080p'],
];

/** `720P`, or a frame such as `1280x720`, into the vendor's resolution and, for frames, its ratio. */
function readSize(size: string): { readonly resolution: string; readonly ratio?: string } {
  if (/^\d{3,4}p$/i.test(size)) return { resolution: size.toLowerCase() };
  const frame = /^(\d{2,5})\s*[x*×]\s*(\d{2,5})$/i.exec(size);
  const ratio = ratioOf(size, VIDU_RATIOS);
  if (!frame || ratio === undefined) {
    return refuse(
      'size',
      `must be a resolution such as 720p, or a frame such as 1280x720 of ${VIDU_RATIOS.join(', ')}`,
    );
  }
  const side = Math.min(Number(frame[1]), Number(frame[2]));
  const nearest = LADDER.reduce((best, step) => (Math.abs(step[0] - side) < Math.abs(best[0] - side) ? step : best));
  return { resolution: nearest[1], ratio };
}

const DEFAULT_RESOLUTION = '1080p';

/** 1080p, save where vidu2.0 cannot: its eight-second and its reference videos end at 720p. */
function defaultResolution(request: VideoRequest, seconds: number): string {
  const ends = request.model === 'vidu2.0' && (seconds === 8 || request.images.length > 2);
  return ends ? '720p' : DEFAULT_RESOLUTION;
}

const secondsOf = (request: VideoRequest): number =>
  request.seconds ?? VIDU_MODELS.find(({ id }) => id === request.model)?.seconds.default ?? 5;

/** The body and the path of one submit; our task id travels as `payload`, which the vendor gives back untouched. */
export function toViduRequest(request: VideoRequest): { readonly path: ViduPath; readonly body: VendorBody } {
  if (request.mode !== undefined) refuse('mode', 'is not known to Vidu');
  if (request.images.length > 7) refuse('images', 'may be seven at most');
  const path = pathOf(request.images.length);
  const metadata = readMetadata(request.metadata);
  const size = request.size === undefined ? undefined : readSize(request.size);
  const duration = secondsOf(request);
  const body = compact({
    model: request.model,
    prompt: request.prompt,
    images: request.images.length === 0 ? undefined : request.images.map(toUrlOrDataUrl),
    duration,
    // Where a picture is given the frame is the picture's, and the vendor takes no ratio.
    aspect_ratio: path === 'text2video' || path === 'reference2video' ? size?.ratio : undefined,
    resolution: metadata.resolution?.toLowerCase() ?? size?.resolution ?? defaultResolution(request, duration),
    movement_amplitude: metadata.movement_amplitude,
    bgm: metadata.bgm,
    seed: metadata.seed,
    payload: request.taskId,
  });
  return { path, body: applyExtra(body, request.extra) };
}

function meter(request: VideoRequest): ReturnType<VideoVendor['meter']> {
  const { body } = toViduRequest(request);
  const factors: Record<string, string> = {};
  if (typeof body.resolution === 'string') factors.resolution = body.resolution;
  if (request.size !== undefined) factors.size = request.size;
  return { seconds: readSeconds(body.duration ?? secondsOf(request), 'duration'), factors };
}

// ── Status mapping ──────────────────────────────────────────────────────────────────────────────────────────────────

export const VIDU_STATE: Readonly<Record<string, TaskStatus>> = {
  created: 'SUBMITTED',
  queueing: 'QUEUED',
  processing: 'IN_PROGRESS',
  success: 'SUCCESS',
  failed: 'FAILURE',
};

function toSuccess(creations: unknown, raw: Json): QueryOutcome {
  if (creations === undefined || creations === null) return withoutArtifact(raw);
  const list = asArray(creations);
  const first = asObject(list?.[0]);
  // Garbage where the video should be is not the vendor's word that there is none: the next look may be whole.
  if (!list || (list.length > 0 && typeof first?.url !== 'string')) return { state: 'UNKNOWN', raw };
  const url = asUrl(first?.url);
  return url === undefined ? withoutArtifact(raw) : { state: 'SUCCESS', artifact: { kind: 'url', url }, raw };
}

/** Reads the answer of a poll about the job `id`. */
export function readViduTask(answer: OutboundAnswer, id: string): QueryOutcome {
  const task = asObject(answer.json);
  if (!task || (task.id !== undefined && asId(task.id) !== id) || task.state === undefined) throw notAnAnswer(answer);
  const raw = toRaw(answer);
  const word = asText(task.state) ?? '';
  const state = (Object.hasOwn(VIDU_STATE, word) ? VIDU_STATE[word] : undefined) ?? 'UNKNOWN';
  if (state === 'SUCCESS') return toSuccess(task.creations, raw);
  if (state !== 'FAILURE') return { state, raw };
  // A failed task has a name and no words; the name serves as both.
  const code = asText(task.err_code) ?? '';
  return failedTask(raw, { reason: meaningOf(code)?.reason ?? 'other', code, message: code });
}

// ── Errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `reason` of an HTTP error and `err_code` of a failed task are names of one set. Lack of credits is a plain 400. */
export const VIDU_CODES: Readonly<Record<string, Meaning>> = {
  BadRequest: { reason: 'user' },
  FieldLacking: { reason: 'user' },
  FieldUnwanted: { reason: 'user' },
  FieldInvalid: { reason: 'user' },
  FieldItemCountOutOfRange: { reason: 'user' },
  PageSizeOutOfRange: { reason: 'user' },
  CODEC: { reason: 'user' },
  ImageDownloadFailure: { reason: 'user' },
  ImageFormatInvalid: { reason: 'user' },
  ImageCheckBodyJointsFailed: { reason: 'user' },
  ImageCheckFaceFailed: { reason: 'user' },
  ImageObjectsUndetected: { reason: 'user' },
  TaskPromptPolicyViolation: { reason: 'policy' },
  AuditSubmitIllegal: { reason: 'policy' },
  CreationPolicyViolation: { reason: 'policy' },
  CreditInsufficient: { reason: 'billing' },
  ModelUnavailable: { reason: 'model' },
  OperationInProcess: { reason: 'rate' },
  UserCancelled: { reason: 'other' },
  Unauthorized: { reason: 'auth' },
  Forbidden: { reason: 'auth' },
  TaskNotFound: { reason: 'missing' },
  CreationNotFound: { reason: 'missing' },
  NotFound: { reason: 'missing' },
  Conflict: { reason: 'other' },
  QuotaExceeded: { reason: 'rate' },
  TooManyRequests: { reason: 'rate' },
  SystemThrottling: { reason: 'rate' },
  Canceled: { reason: 'other' },
  InternalServiceFailure: { reason: 'capacity' },
};

const meaningOf = (code: string): Meaning | undefined =>
  Object.hasOwn(VIDU_CODES, code) ? VIDU_CODES[code] : undefined;

/** `{code: <HTTP status>, reason, message, metadata}`; the name in `reason` is the code that counts. */
export function readViduError(answer: OutboundAnswer, nowMs: number): VendorError {
  const body = asObject(answer.json);
  const code = asText(body?.reason) ?? asText(body?.err_code) ?? '';
  const message = asText(body?.message) ?? code;
  return toVendorError(answer, nowMs, { code, message, meaning: meaningOf(code) });
}

// ── The adapter ─────────────────────────────────────────────────────────────────────────────────────────────────────

const readHandle = (handle: Json): string => asId(asObject(handle)?.id) ?? '';
const isFine = (answer: OutboundAnswer): boolean => answer.status >= 200 && answer.status < 300;

const headersOf = (call: VendorCall): Readonly<Record<string, string>> => ({
  authorization: `Token ${String(call.credentials.api_key)}`,
  'content-type': 'application/json',
});

const look = (path: string, call: VendorCall): Promise<OutboundAnswer> =>
  call.json({ method: 'GET', url: `${call.baseUrl}/ent/v2/${path}`, headers: headersOf(call), signal: call.signal });

export const vidu: VideoVendor = {
  name: 'vidu',
  title: 'Vidu',
  defaultBaseUrl: 'https://api.vidu.cn',
  credentials: Type.Object({ api_key: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
  models: VIDU_MODELS,
  metadata: readMetadata.schema,
  meter,

  async submit(request, call) {
    const { path, body } = toViduRequest(request);
    const answer = await call.json({
      method: 'POST',
      url: `${call.baseUrl}/ent/v2/${path}`,
      headers: headersOf(call),
      body: JSON.stringify(body),
      signal: call.signal,
    });
    const raw = toRaw(answer);
    const reply = asObject(answer.json);
    if (!isFine(answer) || reply?.state === 'failed') {
      return { kind: 'refused', error: readViduError(answer, call.now()), raw };
    }
    const id = asId(reply?.task_id);
    if (id === undefined || !/^\d+$/.test(id)) throw unreadable(answer);
    return { kind: 'accepted', handle: { id }, upstreamId: id, raw };
  },

  async query(handle, call) {
    const id = readHandle(handle);
    const answer = await look(`tasks/${encodeURIComponent(id)}/creations`, call);
    if (isFine(answer)) return readViduTask(answer, id);
    const error = readViduError(answer, call.now());
    // Only the vendor's own word that there is no such task ends it; a bare 404 may be a gateway's.
    if (error.reason === 'missing') return failedTask(toRaw(answer), error);
    throw refusedPoll(error);
  },

  /** The newest hundred tasks of the account; the one whose `payload` is our task id, and no other. */
  async lookup({ taskId }, call) {
    const answer = await look('tasks?pager.pagesz=100', call);
    if (!isFine(answer)) throw refusedPoll(readViduError(answer, call.now()));
    const tasks = asArray(asObject(answer.json)?.tasks) ?? [];
    const found = tasks.map(asObject).find((task) => task?.payload === taskId);
    const id = asId(found?.id);
    return id === undefined ? undefined : { id };
  },

  /** The video by default; the cover for `thumbnail`. Both are pre-signed and need no key. */
  async content(_handle, raw, variant) {
    const creation = asObject(asArray(asObject(raw)?.creations)?.[0]);
    const wanted = { video: creation?.url, thumbnail: creation?.cover_url }[variant ?? 'video'];
    const url = asUrl(wanted);
    if (url === undefined) throw new VendorRefusal(`Vidu gave no ${variant ?? 'video'} for this task.`, 'variant');
    return { kind: 'fetch', url, headers: {}, trusted: false };
  },

  /** No task has the number 1, so that the answer is 404 for every key that works. */
  async probe(call) {
    const answer = await look('tasks/1/creations', call);
    const error = readViduError(answer, call.now());
    return isFine(answer) || error.reason === 'missing' ? { ok: true } : { ok: false, error };
  },
};
