import { Type } from 'typebox';
import type { TaskStatus } from '../../../contract/states.ts';
import type { OutboundAnswer } from '../../platform/outbound/outbound.ts';
import {
  CouldNotAsk,
  type ErrorReason,
  type Json,
  type QueryOutcome,
  type VendorCall,
  type VendorError,
  type VideoRequest,
  type VideoVendor,
} from '../vendor.ts';
import { asArray, asId, asObject, asText, asUrl, entryOf, toRaw, type Untrusted } from '../vendor-answer.ts';
import { applyExtra, compact, ratioOf, readSeconds, refuse, type VendorBody } from '../vendor-body.ts';
import { failedTask, notAnAnswer, refusedPoll, toVendorError, unreadable, withoutArtifact } from '../vendor-errors.ts';
import { bareBase64, refuseLarge, toUrlOrBase64 } from '../vendor-media.ts';
import { metadataReader } from '../vendor-metadata.ts';
import { KLING_MODELS } from './kling-models.ts';
import { bearerToken } from './kling-token.ts';

/** Kling, `/v1/videos/{text2video,image2video}`. Source: the vendor's API reference, "Text to Video", "Image to Video". */

type Family = 'text2video' | 'image2video';

// Request mapping

const MASK = Type.Object({
  mask: Type.String(),
  trajectories: Type.Array(Type.Object({ x: Type.Number(), y: Type.Number() })),
});
const move = Type.Optional(Type.Number());

const readMetadata = metadataReader(
  Type.Object({
    negative_prompt: Type.Optional(Type.String()),
    image_tail: Type.Optional(Type.String()),
    cfg_scale: Type.Optional(Type.Number()),
    aspect_ratio: Type.Optional(Type.String()),
    camera_control: Type.Optional(
      Type.Object({
        type: Type.Optional(Type.String()),
        config: Type.Optional(
          Type.Object({ horizontal: move, vertical: move, pan: move, tilt: move, roll: move, zoom: move }),
        ),
      }),
    ),
    static_mask: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
    dynamic_masks: Type.Optional(Type.Union([Type.String(), Type.Array(MASK)])),
  }),
);

const RATIOS = ['16:9', '9:16', '1:1'];
const MAX_IMAGE_BYTES = 10_000_000;

function toRatio(size: string): string {
  return (
    ratioOf(size, RATIOS) ?? refuse('size', `must be width x height in a ratio of ${RATIOS.join(', ')} for this model`)
  );
}

function toFrames({ images }: VideoRequest, tail: string | undefined): VendorBody {
  if (images.length > 2) refuse('images', 'may hold two pictures for this model: the first and the last frame');
  const [first, last] = images;
  if (last && tail !== undefined) refuse('metadata.image_tail', 'and a second picture both name the last frame');
  for (const image of images) refuseLarge(image, MAX_IMAGE_BYTES, 'image');
  return compact({
    image: first && toUrlOrBase64(first),
    image_tail: last ? toUrlOrBase64(last) : tail === undefined ? undefined : bareBase64(tail),
  });
}

function toCommonBody(request: VideoRequest): VendorBody {
  const { mode = 'std', seconds = 5, size } = request;
  if (mode !== 'std' && mode !== 'pro') refuse('mode', 'must be std or pro');
  const { image_tail: tail, aspect_ratio: ratio, ...others } = readMetadata(request.metadata);
  return compact({
    model_name: request.model,
    prompt: request.prompt,
    ...toFrames(request, tail),
    ...others,
    mode,
    duration: String(seconds),
    aspect_ratio: ratio ?? (size === undefined ? undefined : toRatio(size)),
  });
}

/** The vendor's own body; what belongs to the gateway is not the caller's to choose. */
function toOfficialBody(official: { readonly [key: string]: Json }, model: string): VendorBody {
  const { model: _, callback_url: callback, external_task_id: __, ...body } = official;
  if (callback !== undefined && callback !== '') refuse('callback_url', 'is not offered; ask for the task instead');
  return { ...body, model_name: model };
}

function toBody(request: VideoRequest): VendorBody {
  const { official, extra, model, taskId } = request;
  const body = official ? toOfficialBody(official, model) : toCommonBody(request);
  return { ...applyExtra(body, extra), external_task_id: taskId };
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== '';

function toFamily(request: VideoRequest, body: VendorBody): Family {
  if (request.officialOperation === 'text2video' || request.officialOperation === 'image2video')
    return request.officialOperation;
  return isGiven(body.image) || isGiven(body.image_tail) ? 'image2video' : 'text2video';
}

// Status mapping

/** `QUEUED` is never told: a submitted task waits. */
const STATES: Readonly<Record<string, TaskStatus>> = {
  submitted: 'SUBMITTED',
  processing: 'IN_PROGRESS',
  succeed: 'SUCCESS',
  failed: 'FAILURE',
};

function toOutcome(task: Untrusted, word: string, answer: OutboundAnswer): QueryOutcome {
  const raw = toRaw(answer);
  const state = entryOf(STATES, word) ?? 'UNKNOWN';
  if (state === 'FAILURE') {
    const message = asText(task.task_status_msg);
    return failedTask(raw, { reason: 'other', ...(message === undefined ? {} : { message }) });
  }
  if (state !== 'SUCCESS') return { state, raw };
  const result = task.task_result ?? {};
  const videos = asObject(result)?.videos ?? [];
  const first = asArray(videos)?.[0];
  const url = asUrl(asObject(first)?.url);
  if (url !== undefined) return { state, artifact: { kind: 'url', url }, raw };
  const isEmpty = asArray(videos)?.length === 0 || asObject(first)?.url === '';
  if (!isEmpty) throw notAnAnswer(answer);
  return withoutArtifact(raw);
}

// Error reading

/** The vendor's own codes; HTTP 429 alone says little, since an unpaid account answers with it too. */
const REASONS: Readonly<Record<number, ErrorReason>> = {
  1000: 'auth',
  1001: 'auth',
  1002: 'auth',
  1003: 'auth',
  1004: 'auth',
  1100: 'auth',
  1101: 'billing',
  1102: 'billing',
  1103: 'model',
  1200: 'user',
  1201: 'user',
  1202: 'user',
  1203: 'model',
  1300: 'policy',
  1301: 'policy',
  1302: 'rate',
  1303: 'rate',
  1304: 'auth',
  5000: 'capacity',
  5001: 'capacity',
  5002: 'capacity',
};
const NOT_YET_VALID = 1003;
const TOKEN_EXPIRED = 1004;
const NO_SUCH_RESOURCE = 1203;

/** The envelope's code where it is an error; 0 and everything that is no code are undefined. */
function errorCode(answer: OutboundAnswer): number | undefined {
  const code = asObject(answer.json)?.code;
  return typeof code === 'number' && Number.isInteger(code) && code !== 0 ? code : undefined;
}

function readError(answer: OutboundAnswer, nowMs: number): VendorError {
  const code = errorCode(answer);
  const reason = code === undefined ? undefined : REASONS[code];
  return toVendorError(answer, nowMs, {
    code: code === undefined ? '' : String(code),
    message: asText(asObject(answer.json)?.message) ?? '',
    meaning: reason && { reason },
  });
}

/** The task of an envelope that says that all is well. */
function readTask(answer: OutboundAnswer): Untrusted | undefined {
  const envelope = asObject(answer.json);
  return answer.status < 300 && envelope?.code === 0 ? asObject(envelope.data) : undefined;
}

// The vendor

interface Handle {
  readonly family: Family;
  readonly id: string;
}

function readHandle(handle: Json): Handle {
  const { family, id } = asObject(handle) ?? {};
  return { family: family === 'image2video' ? 'image2video' : 'text2video', id: asText(id) ?? '' };
}

async function ask(call: VendorCall, path: string, body?: VendorBody): Promise<OutboundAnswer> {
  const send = (token: string) =>
    call.json({
      method: body ? 'POST' : 'GET',
      url: `${call.baseUrl}/v1/videos/${path}`,
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: call.signal,
    });
  const token = await bearerToken(call);
  const answer = await send(token);
  const code = errorCode(answer);
  if (answer.status !== 401 || (code !== TOKEN_EXPIRED && code !== NOT_YET_VALID)) return answer;
  // A token refused for its time has begun nothing; a new one is tried once, as the vendor advises.
  const renewed = await bearerToken(call, token);
  return renewed === token ? answer : send(renewed);
}

export const kling: VideoVendor = {
  name: 'kling',
  title: 'Kling',
  defaultBaseUrl: 'https://api-singapore.klingai.com',
  credentials: Type.Union([
    Type.Object(
      { access_key: Type.String({ minLength: 1 }), secret_key: Type.String({ minLength: 1 }) },
      { additionalProperties: false },
    ),
    Type.Object({ api_key: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
  ]),
  models: KLING_MODELS,
  metadata: readMetadata.schema,

  meter(request) {
    const { duration = '5', mode = 'std', sound = 'off' } = toBody(request);
    if (typeof mode !== 'string') refuse('mode', 'must be std or pro');
    return { seconds: readSeconds(duration, 'duration'), factors: { mode, audio: String(sound === 'on') } };
  },

  async submit(request, call) {
    const body = toBody(request);
    const family = toFamily(request, body);
    const answer = await ask(call, family, body);
    const raw = toRaw(answer);
    if (errorCode(answer) !== undefined || answer.status >= 300) {
      return { kind: 'refused', error: readError(answer, call.now()), raw };
    }
    const id = asId(readTask(answer)?.task_id);
    if (id === undefined) throw unreadable(answer);
    return { kind: 'accepted', handle: { family, id }, upstreamId: id, raw };
  },

  async query(handle, call) {
    const { family, id } = readHandle(handle);
    const answer = await ask(call, `${family}/${encodeURIComponent(id)}`);
    if (errorCode(answer) === NO_SUCH_RESOURCE) {
      const { code, message, httpStatus } = readError(answer, call.now());
      return failedTask(toRaw(answer), { reason: 'missing', code, message, httpStatus });
    }
    if (errorCode(answer) !== undefined || answer.status >= 300) throw refusedPoll(readError(answer, call.now()));
    const task = readTask(answer);
    const word = asText(task?.task_status);
    if (!task || word === undefined || asId(task.task_id) !== id) throw notAnAnswer(answer);
    return toOutcome(task, word, answer);
  },

  lookupHint: (request) => toFamily(request, toBody(request)),

  async lookup({ taskId, hint }, call) {
    const family: Family = hint === 'image2video' ? 'image2video' : 'text2video';
    const answer = await ask(call, `${family}/${encodeURIComponent(taskId)}`);
    if (errorCode(answer) === NO_SUCH_RESOURCE) return undefined;
    const task = readTask(answer);
    if (errorCode(answer) !== undefined || !task) throw refusedPoll(readError(answer, call.now()));
    const id = asId(task.task_id);
    const external = asObject(task.task_info)?.external_task_id;
    if (id === undefined || (external !== undefined && external !== taskId)) throw notAnAnswer(answer);
    return { family, id };
  },

  async content(_handle, raw) {
    const task = asObject(asObject(raw)?.data);
    const [first] = asArray(asObject(task?.task_result)?.videos) ?? [];
    const url = asUrl(asObject(first)?.url);
    if (url === undefined) throw new CouldNotAsk('the upstream gave no address of the video');
    return { kind: 'fetch', url, headers: {}, trusted: false };
  },

  async probe(call) {
    const answer = await ask(call, 'text2video?pageNum=1&pageSize=1');
    if (answer.status < 300 && errorCode(answer) === undefined) return { ok: true };
    return { ok: false, error: readError(answer, call.now()) };
  },
};
