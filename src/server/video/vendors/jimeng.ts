import { Type } from 'typebox';
import type { TaskStatus } from '../../../contract/states.ts';
import type { OutboundAnswer } from '../../platform/outbound/outbound.ts';
import { signVolcengine } from '../../platform/outbound/volcengine-signature.ts';
import {
  CouldNotAsk,
  type Json,
  type Media,
  type QueryOutcome,
  type VendorCall,
  type VendorError,
  type VideoRequest,
  type VideoVendor,
} from '../vendor.ts';
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
import { refuseLarge, toBase64 } from '../vendor-media.ts';
import { metadataReader } from '../vendor-metadata.ts';
import { JIMENG_KEYS, JIMENG_MODELS, JIMENG_RATIOS, type JimengModel } from './jimeng-models.ts';

/** Jimeng on Volcengine's visual service. Source: volcengine.com/docs/85621, the interface pages of each `req_key`. */

// Request mapping

const readMetadata = metadataReader(
  Type.Object({
    aspect_ratio: Type.Optional(Type.String()),
    seed: Type.Optional(Type.Integer()),
    frames: Type.Optional(Type.Integer({ minimum: 25, maximum: 86_401 })),
  }),
);

const FRAMES_PER_SECOND = 24;
const DEFAULT_SECONDS = 5;
const MAX_IMAGE_BYTES = 4_700_000;

const modelOf = ({ model }: VideoRequest): JimengModel | undefined =>
  Object.hasOwn(JIMENG_KEYS, model) ? JIMENG_KEYS[model] : undefined;

/** The vendor's key for this model and this many pictures; names we do not know are the vendor's to judge. */
function toReqKey(model: string, known: JimengModel | undefined, images: number): string {
  if (!known) return model;
  return (
    known.keys[images] ?? refuse('images', `must be another number of pictures for ${model}; ${images} do not fit`)
  );
}

function toFrames(seconds: number | undefined, frames: number | undefined, known: JimengModel | undefined) {
  if (known?.hasFrames === false) {
    if (seconds !== undefined && seconds !== DEFAULT_SECONDS)
      refuse('duration', `is always ${DEFAULT_SECONDS} for this model`);
    return frames;
  }
  const asked = seconds === undefined ? undefined : FRAMES_PER_SECOND * seconds + 1;
  if (asked !== undefined && frames !== undefined && asked !== frames) refuse('metadata.frames', 'and duration differ');
  return frames ?? asked;
}

/** `1280x720` is a ratio here; `720P` must be what the model makes, since no field could change it. */
function toRatio(size: string | undefined, known: JimengModel | undefined): string | undefined {
  if (size === undefined || (known && size.toLowerCase() === known.resolution)) return undefined;
  return (
    ratioOf(size, JIMENG_RATIOS) ?? refuse('size', `must be width x height in a ratio of ${JIMENG_RATIOS.join(', ')}`)
  );
}

/** The body but for its pictures. */
function toFields(request: VideoRequest): VendorBody {
  const known = modelOf(request);
  const req_key = toReqKey(request.model, known, request.images.length);
  if (request.official) {
    const { callback_url: callback, ...official } = request.official;
    if (callback !== undefined && callback !== '') refuse('callback_url', 'is not offered; ask for the task instead');
    return { ...applyExtra({ ...official }, request.extra), req_key };
  }
  if (request.mode !== undefined) refuse('mode', 'is not known to this model');
  const { aspect_ratio: ratio, seed, frames } = readMetadata(request.metadata);
  const fields = compact({
    prompt: request.prompt,
    seed,
    frames: toFrames(request.seconds, frames, known),
    aspect_ratio: ratio ?? toRatio(request.size, known),
  });
  return { ...applyExtra(fields, request.extra), req_key };
}

/** All addresses, or all Base64: the vendor takes one or the other, so of a mixture the addresses are fetched. */
async function toPictures({ images, official }: VideoRequest, call: VendorCall): Promise<VendorBody> {
  if (official || images.length === 0) return {};
  for (const image of images) refuseLarge(image, MAX_IMAGE_BYTES, 'image');
  const urls = images.flatMap((image) => (image.kind === 'url' ? [image.url] : []));
  if (urls.length === images.length) return { image_urls: urls };
  const load = async (image: Media): Promise<string> =>
    image.kind === 'url' ? (await call.loadImage(image.url, MAX_IMAGE_BYTES)).data : (toBase64(image) ?? '');
  return { binary_data_base64: await Promise.all(images.map(load)) };
}

// Status mapping

const STATES: Readonly<Record<string, TaskStatus>> = {
  in_queue: 'QUEUED',
  generating: 'IN_PROGRESS',
  done: 'SUCCESS',
  not_found: 'FAILURE',
  expired: 'FAILURE',
};

function toOutcome(word: string, videoUrl: unknown, answer: OutboundAnswer): QueryOutcome {
  const raw = toRaw(answer);
  const state = entryOf(STATES, word) ?? 'UNKNOWN';
  const code = String(OK);
  if (state === 'FAILURE') {
    const message = word === 'expired' ? 'The task has expired.' : 'The upstream does not know this task any more.';
    return failedTask(raw, { reason: 'missing', code, message });
  }
  if (state !== 'SUCCESS') return { state, raw };
  const url = asUrl(videoUrl);
  if (url !== undefined) return { state, artifact: { kind: 'url', url }, raw };
  if (videoUrl !== undefined && videoUrl !== null && videoUrl !== '') throw notAnAnswer(answer);
  return withoutArtifact(raw, code);
}

// Error reading

const OK = 10_000;
const POLICY: Meaning = { reason: 'policy' };
/** Its own moderation is out of order: its fault, and the same for every account of it. */
const MODERATION_FAULT: Meaning = { reason: 'capacity', retryable: false };

const MEANINGS: Readonly<Record<string, Meaning>> = {
  50200: { reason: 'user' },
  50215: { reason: 'user' },
  50400: { reason: 'model' },
  50411: POLICY,
  50412: POLICY,
  50413: POLICY,
  50429: { reason: 'rate' },
  50430: { reason: 'rate' },
  50500: { reason: 'capacity' },
  50501: { reason: 'capacity' },
  50511: POLICY,
  50512: POLICY,
  50516: POLICY,
  50517: POLICY,
  50518: POLICY,
  50519: POLICY,
  50520: MODERATION_FAULT,
  50521: MODERATION_FAULT,
  50522: MODERATION_FAULT,
  SignatureDoesNotMatch: { reason: 'auth' },
  InvalidAccessKey: { reason: 'auth' },
  InvalidCredential: { reason: 'auth' },
  InvalidTimestamp: { reason: 'auth' },
  AccessDenied: { reason: 'auth' },
};
/** Told by a poll, these are about the job: what was put in or came out of it did not pass. */
const ENDS_TASK: ReadonlySet<number> = new Set([
  50215, 50411, 50412, 50413, 50511, 50512, 50516, 50517, 50518, 50519, 50520, 50521, 50522,
]);

/** The business envelope's code, success included. */
function readCode(answer: OutboundAnswer): number | undefined {
  const code = asObject(answer.json)?.code;
  return typeof code === 'number' && Number.isInteger(code) ? code : undefined;
}

/** Either envelope: the service's, or the front gateway's for signatures and rights. */
function readError(answer: OutboundAnswer, nowMs: number): VendorError {
  const envelope = asObject(answer.json);
  const gateway = asObject(asObject(envelope?.ResponseMetadata)?.Error);
  const business = readCode(answer);
  const code = asText(gateway?.Code) ?? (business === undefined || business === OK ? '' : String(business));
  const message = asText(gateway?.Message) ?? asText(envelope?.message) ?? '';
  return toVendorError(answer, nowMs, {
    code,
    message,
    meaning: Object.hasOwn(MEANINGS, code) ? MEANINGS[code] : undefined,
  });
}

const isError = (answer: OutboundAnswer): boolean => {
  const code = readCode(answer);
  const hasGatewayError = asObject(asObject(asObject(answer.json)?.ResponseMetadata)?.Error) !== undefined;
  return answer.status >= 300 || hasGatewayError || (code !== undefined && code !== OK);
};

// The vendor

const ACTIONS = { submit: 'CVSync2AsyncSubmitTask', query: 'CVSync2AsyncGetResult' } as const;

function ask(call: VendorCall, action: keyof typeof ACTIONS, fields: VendorBody): Promise<OutboundAnswer> {
  const url = `${call.baseUrl}/?Action=${ACTIONS[action]}&Version=2022-08-31`;
  const body = JSON.stringify(fields);
  const { access_key: accessKey, secret_key: secretKey } = call.credentials;
  const key = { accessKey: String(accessKey), secretKey: String(secretKey), region: 'cn-north-1', service: 'cv' };
  const unsigned = { method: 'POST', url, body, headers: { 'content-type': 'application/json' } } as const;
  const headers = signVolcengine(unsigned, key, call.now());
  return call.json({ method: 'POST', url, headers, body, signal: call.signal });
}

function readHandle(handle: Json): { readonly reqKey: string; readonly id: string } {
  const { reqKey, id } = asObject(handle) ?? {};
  return { reqKey: asText(reqKey) ?? '', id: asText(id) ?? '' };
}

export const jimeng: VideoVendor = {
  name: 'jimeng',
  title: 'Jimeng',
  defaultBaseUrl: 'https://visual.volcengineapi.com',
  credentials: Type.Object(
    { access_key: Type.String({ minLength: 1 }), secret_key: Type.String({ minLength: 1 }) },
    { additionalProperties: false },
  ),
  models: JIMENG_MODELS,
  metadata: readMetadata.schema,
  // Twelve hours of them, as long as the task is known.
  addressLifeMs: 55 * 60_000,

  meter(request) {
    const { frames = FRAMES_PER_SECOND * DEFAULT_SECONDS + 1 } = toFields(request);
    if (typeof frames !== 'number') refuse('frames', 'must be an integer');
    const seconds = readSeconds(Math.ceil((frames - 1) / FRAMES_PER_SECOND), 'frames');
    const resolution = modelOf(request)?.resolution;
    return { seconds, factors: resolution === undefined ? {} : { resolution } };
  },

  async submit(request, call) {
    const body: VendorBody = { ...toFields(request), ...(await toPictures(request, call)) };
    const answer = await ask(call, 'submit', body);
    const raw = toRaw(answer);
    if (isError(answer)) return { kind: 'refused', error: readError(answer, call.now()), raw };
    const id = readCode(answer) === OK ? asId(asObject(asObject(answer.json)?.data)?.task_id) : undefined;
    if (id === undefined) throw unreadable(answer);
    return { kind: 'accepted', handle: { reqKey: body.req_key ?? '', id }, upstreamId: id, raw };
  },

  async query(handle, call) {
    const { reqKey, id } = readHandle(handle);
    const answer = await ask(call, 'query', { req_key: reqKey, task_id: id });
    const data = asObject(asObject(answer.json)?.data);
    const word = asText(data?.status);
    if (isError(answer)) {
      const { reason, code, message, httpStatus } = readError(answer, call.now());
      const told = readCode(answer) ?? OK;
      // "done" covers both ends; the code beside it says which one.
      const ends = told !== OK && (ENDS_TASK.has(told) || (word === 'done' && reason !== 'rate'));
      if (ends) return failedTask(toRaw(answer), { reason, code, message, httpStatus });
      throw refusedPoll(readError(answer, call.now()));
    }
    if (readCode(answer) !== OK || word === undefined) throw notAnAnswer(answer);
    return toOutcome(word, data?.video_url, answer);
  },

  async content(_handle, raw) {
    const url = asUrl(asObject(asObject(raw)?.data)?.video_url);
    if (url === undefined) throw new CouldNotAsk('the upstream gave no address of the video');
    return { kind: 'fetch', url, headers: {}, trusted: false };
  },

  async probe(call) {
    const answer = await ask(call, 'query', { req_key: 'jimeng_t2v_v30', task_id: '0' });
    return isError(answer) ? { ok: false, error: readError(answer, call.now()) } : { ok: true };
  },
};
