import { createHash, createHmac } from 'node:crypto';
import { Type } from 'typebox';
import {
  FROM_TEXT,
  fromBothFrames,
  fromFirstFrame,
  matchAspectRatio,
  waysOf,
} from '../../../contract/generation-ways.ts';
import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import type { FailureCause, TaskStatus } from '../../../contract/task-states.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import type { AdapterContext, VendorError } from '../../upstreams/upstream.ts';
import {
  API_KEY_CREDENTIALS,
  cny,
  createMetadataParser,
  fileOf,
  type ImageGeneration,
  type ImageModel,
  type ImageOutcome,
  type Json,
  KEY_PAIR_CREDENTIALS,
  knownFactors,
  type ModelCapability,
  type PriceSource,
  parseSeconds,
  type QueryOutcome,
  rejectField,
  toBase64,
  type VendorAdapter,
  type VideoRequest,
} from '../adapter.ts';
import { gatewayFile, NO_SUCH_TASK, readGatewayTask, submittedTaskId } from '../gateway-task.ts';
import {
  acceptedSubmit,
  applyExtraFields,
  bearerHeaders,
  classifyByWords,
  type ErrorClass,
  failedTask,
  finishedTask,
  type Headers,
  hasOwnEnvelope,
  isSuccessCode,
  omitUndefined,
  publicFile,
  type ReportedReason,
  type RequestBody,
  readReason,
  refusedSubmit,
  rejectedPoll,
  serializeJsonBody,
  toRawResponse,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
  unwrapResponse,
  withSerializedBody,
} from '../json-calls.ts';
import {
  asArray,
  asCode,
  asId,
  asText,
  asUrl,
  classifyFailureWord,
  firstUrl,
  isSuccessStatus,
  ownEntry,
  readTaskState,
} from '../untrusted-json.ts';

/** The vendor's `req_key` of a model, by the number of images. A missing entry means that number is not supported. */
interface JimengModel {
  readonly keys: readonly (string | undefined)[];
  readonly resolution: '720p' | '1080p';
  /** The older series generates five seconds only and has no `frames`. */
  readonly hasFrames: boolean;
}

const v30Keys = (suffix: string, text: string): JimengModel['keys'] => [
  `jimeng_t2v_v30${text}`,
  `jimeng_i2v_first_v30${suffix}`,
  `jimeng_i2v_first_tail_v30${suffix}`,
];

const v30Model = (keys: JimengModel['keys'], resolution: JimengModel['resolution']): JimengModel => ({
  keys,
  resolution,
  hasFrames: true,
});
const s20Model = (keys: JimengModel['keys']): JimengModel => ({ keys, resolution: '720p', hasFrames: false });

/** The vendor's limit of an image, bytes. */
export const MAX_IMAGE_BYTES = 4_700_000;
const IMAGE = { maxBytes: MAX_IMAGE_BYTES };
/** From text, from a first frame, from both frames; each key serves one of them. */
const JIMENG_WAYS = [FROM_TEXT, fromFirstFrame(IMAGE), fromBothFrames(IMAGE)];

/** Our names of model series, and the vendor's own keys. The 1080p text key ends in `1080p`, the others in `1080`. */
export const JIMENG_KEYS: Readonly<Record<string, JimengModel>> = {
  jimeng_v30: v30Model(v30Keys('', ''), '720p'),
  jimeng_v30_1080p: v30Model(v30Keys('_1080', '_1080p'), '1080p'),
  jimeng_v30_pro: v30Model(['jimeng_ti2v_v30_pro', 'jimeng_ti2v_v30_pro'], '1080p'),
  jimeng_s20_pro: s20Model(['jimeng_vgfm_t2v_l20', 'jimeng_vgfm_i2v_l20']),
  jimeng_t2v_v30: v30Model(['jimeng_t2v_v30'], '720p'),
  jimeng_i2v_first_v30: v30Model([undefined, 'jimeng_i2v_first_v30'], '720p'),
  jimeng_i2v_first_tail_v30: v30Model([undefined, undefined, 'jimeng_i2v_first_tail_v30'], '720p'),
  jimeng_i2v_recamera_v30: v30Model([undefined, 'jimeng_i2v_recamera_v30'], '720p'),
  jimeng_t2v_v30_1080p: v30Model(['jimeng_t2v_v30_1080p'], '1080p'),
  jimeng_i2v_first_v30_1080: v30Model([undefined, 'jimeng_i2v_first_v30_1080'], '1080p'),
  jimeng_i2v_first_tail_v30_1080: v30Model([undefined, undefined, 'jimeng_i2v_first_tail_v30_1080'], '1080p'),
  jimeng_ti2v_v30_pro: v30Model(['jimeng_ti2v_v30_pro', 'jimeng_ti2v_v30_pro'], '1080p'),
  jimeng_vgfm_t2v_l20: s20Model(['jimeng_vgfm_t2v_l20']),
  jimeng_vgfm_i2v_l20: s20Model([undefined, 'jimeng_vgfm_i2v_l20']),
};

/** Titles, and yuan per second from the vendor's list. */
const TITLES_AND_PRICES: Readonly<Record<string, readonly [title: string, yuan: number]>> = {
  jimeng_v30: ['Jimeng 3.0 720p', 0.28],
  jimeng_v30_1080p: ['Jimeng 3.0 1080p', 0.63],
  jimeng_v30_pro: ['Jimeng 3.0 Pro', 1],
  jimeng_s20_pro: ['Jimeng S2.0 Pro', 0.65],
  jimeng_t2v_v30: ['Jimeng 3.0 720p, text', 0.28],
  jimeng_i2v_first_v30: ['Jimeng 3.0 720p, first frame', 0.28],
  jimeng_i2v_first_tail_v30: ['Jimeng 3.0 720p, first and last frame', 0.28],
  jimeng_i2v_recamera_v30: ['Jimeng 3.0 720p, camera move', 0.28],
  jimeng_t2v_v30_1080p: ['Jimeng 3.0 1080p, text', 0.63],
  jimeng_i2v_first_v30_1080: ['Jimeng 3.0 1080p, first frame', 0.63],
  jimeng_i2v_first_tail_v30_1080: ['Jimeng 3.0 1080p, first and last frame', 0.63],
  jimeng_ti2v_v30_pro: ['Jimeng 3.0 Pro, by its own key', 1],
  jimeng_vgfm_t2v_l20: ['Jimeng S2.0 Pro, text', 0.65],
  jimeng_vgfm_i2v_l20: ['Jimeng S2.0 Pro, first frame', 0.65],
};

const LISTED: PriceSource = {
  source: 'https://www.volcengine.com/docs/85621',
  confirmedOn: '2026-11-20',
  note: 'Read in copies of the pages 1792710 and 1777001; only videos that succeed are billed.',
};

/** Aspect ratios of all models. */
const JIMENG_RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9'];

function toCapability([id, [title, yuan]]: readonly [string, readonly [string, number]]): ModelCapability {
  const { keys = [], resolution = '720p', hasFrames = true } = JIMENG_KEYS[id] ?? {};
  return {
    id,
    title,
    seconds: { values: hasFrames ? [5, 10] : [5], default: 5 },
    sizes: [],
    ratios: JIMENG_RATIOS,
    resolutions: [resolution],
    modes: [],
    audio: false,
    negativePrompt: false,
    seed: true,
    // Camera moves need a template that only the native format can name.
    ...waysOf(id.includes('recamera') ? [] : JIMENG_WAYS.filter((_, images) => keys[images] !== undefined)),
    price: { per_call: 0, per_second: cny(yuan) },
    listed: LISTED,
  };
}

/** Models the vendor offers. */
const JIMENG_MODELS: readonly ModelCapability[] = Object.entries(TITLES_AND_PRICES).map(toCapability);

/** Jimeng's image models. Source: volcengine.com/docs/85621, the image pages. Prices follow the vendor's public list. */
const IMAGE_MODELS: readonly ImageModel[] = [
  { id: 'jimeng_t2i_v30', title: 'Jimeng images 3.0', perCall: 14_000 },
  { id: 'jimeng_t2i_v31', title: 'Jimeng images 3.1', perCall: 14_000 },
  { id: 'jimeng_t2i_v40', title: 'Jimeng images 4.0', perCall: 14_000 },
  { id: 'jimeng_i2i_v30', title: 'Jimeng images 3.0, from an image', perCall: 14_000 },
  { id: 'jimeng_seedream46_cvtob', title: 'Seedream 4.6', perCall: 16_000 },
];

/** Keys that generate as many images as the prompt requests, each of them billed, unless `force_single` is set. */
const MODELS_WITH_SEVERAL_IMAGES: ReadonlySet<string> = new Set(['jimeng_t2i_v40']);

const MAX_MESSAGE_LENGTH = 500;

/** An unknown code does not prove that the request is at fault, so another channel may be tried. */
function parseImageError(response: BufferedResponse, nowMs: number): VendorError {
  const error = parseError(response, nowMs);
  const isUnknown = ownEntry(ERROR_CLASSES, error.code) === undefined;
  const message = error.message.slice(0, MAX_MESSAGE_LENGTH);
  return isUnknown ? { ...error, message, reason: 'capacity', retryable: true } : { ...error, message };
}

const failure = (reason: VendorError['reason'], message: string): VendorError => ({
  reason,
  retryable: false,
  httpStatus: 200,
  code: '',
  message,
});

const jimengImages: ImageGeneration = {
  models: IMAGE_MODELS,

  async submit({ model, prompt, inputImages, width, height, seed }, context) {
    const urls = inputImages.filter((image) => /^https?:/i.test(image));
    const inline = inputImages.filter((image) => !/^https?:/i.test(image));
    if (urls.length > 0 && inline.length > 0)
      return { error: failure('user', 'Images must be given all by address, or all inline.') };
    const hasSize = width !== undefined && height !== undefined;
    const body: RequestBody = omitUndefined({
      req_key: model,
      prompt,
      image_urls: urls.length > 0 ? urls : undefined,
      binary_data_base64: inline.length > 0 ? inline : undefined,
      width: hasSize ? width : undefined,
      height: hasSize ? height : undefined,
      seed,
      force_single: MODELS_WITH_SEVERAL_IMAGES.has(model) ? true : undefined,
    });
    const response = await sendAction(context, 'submit', body);
    const envelope = asObject(response.json);
    const id = parseCode(response) === OK ? asId(asObject(envelope?.data)?.task_id) : undefined;
    return id === undefined ? { error: parseImageError(response, context.now()) } : { id };
  },

  async query(model, id, context): Promise<ImageOutcome> {
    const options = JSON.stringify({ return_url: true });
    const response = await sendAction(context, 'query', { req_key: model, task_id: id, req_json: options });
    const envelope = asObject(response.json);
    const data = asObject(envelope?.data);
    const state = readTaskState(data?.status);
    if (parseCode(response) !== OK) {
      const error = parseImageError(response, context.now());
      const isFinal = error.reason === 'policy' || error.reason === 'user' || state === 'SUCCESS';
      return isFinal ? { kind: 'failed', error } : { kind: 'working' };
    }
    if (data?.status === 'not_found' || state === 'FAILURE')
      return { kind: 'failed', error: failure('missing', 'The model provider lost the image.') };
    if (state !== 'SUCCESS') return { kind: 'working' };
    const urls = (asArray(data?.image_urls) ?? []).map(asUrl).filter((url) => url !== undefined);
    if (urls.length > 0) return { kind: 'done', urls };
    return { kind: 'failed', error: failure('other', 'The model provider gave no image.') };
  },
};

/** Jimeng on Volcengine's visual service. Source: volcengine.com/docs/85621, the interface pages of each `req_key`. */

// Request mapping

const parseMetadata = createMetadataParser(
  Type.Object({
    aspect_ratio: Type.Optional(Type.String()),
    seed: Type.Optional(Type.Integer()),
    frames: Type.Optional(Type.Integer({ minimum: 25, maximum: 86_401 })),
  }),
);

const FRAMES_PER_SECOND = 24;
const DEFAULT_SECONDS = 5;

const modelOf = ({ model }: VideoRequest): JimengModel | undefined =>
  Object.hasOwn(JIMENG_KEYS, model) ? JIMENG_KEYS[model] : undefined;

/** The vendor's key for this model and number of images; unknown names are only checked by the vendor. */
function toReqKey(model: string, known: JimengModel | undefined, images: number): string {
  if (!known) return model;
  return (
    known.keys[images] ?? rejectField('images', `must be another number of images for ${model}; ${images} do not fit`)
  );
}

function toFrames(seconds: number | undefined, frames: number | undefined, known: JimengModel | undefined) {
  if (known?.hasFrames === false) {
    if (seconds !== undefined && seconds !== DEFAULT_SECONDS)
      rejectField('duration', `is always ${DEFAULT_SECONDS} for this model`);
    return frames;
  }
  const asked = seconds === undefined ? undefined : FRAMES_PER_SECOND * seconds + 1;
  if (asked !== undefined && frames !== undefined && asked !== frames)
    rejectField('metadata.frames', 'and duration differ');
  return frames ?? asked;
}

/** `1280x720` is a ratio here; `720P` must be the model's own resolution, because no field could change it. */
function toRatio(size: string | undefined, known: JimengModel | undefined): string | undefined {
  if (size === undefined || (known && size.toLowerCase() === known.resolution)) return undefined;
  return (
    matchAspectRatio(size, JIMENG_RATIOS) ??
    rejectField('size', `must be width x height in a ratio of ${JIMENG_RATIOS.join(', ')}`)
  );
}

/** The body without its images. */
function toFields(request: VideoRequest): RequestBody & { readonly req_key: string } {
  const known = modelOf(request);
  const req_key = toReqKey(request.model, known, request.images.length);
  if (request.officialBody) {
    // The gateway sends callbacks itself.
    const { callback_url: _, ...official } = request.officialBody;
    return { ...applyExtraFields({ ...official }, request.extraFields), req_key };
  }
  if (request.mode !== undefined) rejectField('mode', 'is not known to this model');
  const { aspect_ratio: ratio, seed, frames } = parseMetadata(request.metadata);
  const fields = omitUndefined({
    prompt: request.prompt,
    seed,
    frames: toFrames(request.seconds, frames, known),
    aspect_ratio: ratio ?? toRatio(request.size, known),
  });
  return { ...applyExtraFields(fields, request.extraFields), req_key };
}

/** All URLs, or all Base64. */
function toImageFields({ images }: VideoRequest): RequestBody {
  if (images.length === 0) return {};
  const urls = images.flatMap((image) => ('url' in image ? [image.url] : []));
  if (urls.length === images.length) return { image_urls: urls };
  return { binary_data_base64: images.map((image) => toBase64(fileOf(image))) };
}

// Status mapping

/** The vendor's own words in addition to the common ones. */
const STATES: Readonly<Record<string, TaskStatus>> = { not_found: 'FAILURE' };

function toOutcome(data: UntrustedObject, response: BufferedResponse): QueryOutcome {
  const raw = toRawResponse(response);
  const word = data.status;
  const state = readTaskState(word, STATES);
  const code = String(OK);
  if (state === 'FAILURE') {
    if (readTaskState(word) === 'UNKNOWN')
      return failedTask(raw, { reason: 'missing', code, message: 'The upstream does not know this task any more.' });
    const { message = `The upstream says that the task is ${word}.` } = readReason(data);
    return failedTask(raw, { ...(classifyFailureWord(word) ?? UNKNOWN_FAILURE), code, message });
  }
  if (state !== 'SUCCESS') return { state, raw };
  const url = videoUrlOf(data);
  // Here even a text that is not a URL counts as a damaged response.
  if (url === undefined && (data.video_url ?? '') !== '') throw unreadablePoll(response);
  return finishedTask(url, response, code);
}

const videoUrlOf = (data: UntrustedObject | undefined): string | undefined =>
  asUrl(data?.video_url) ?? firstUrl(data?.video_urls);

/** The task in the vendor's own form. A gateway's is in the same envelope, under another code and with its id. */
function ownTask(json: unknown): UntrustedObject | undefined {
  const { code, data } = asObject(json) ?? {};
  const task = asObject(data);
  if (task === undefined || asText(task.status) === undefined) return undefined;
  return asCode(code) === String(OK) || !('task_id' in task) ? task : undefined;
}

/** A gateway may add the code of the vendor's error. */
const classifyReported = (reported: ReportedReason, word: unknown): ErrorClass =>
  ownEntry(ERROR_CLASSES, reported.code) ?? classifyByWords(reported) ?? classifyFailureWord(word) ?? UNKNOWN_FAILURE;

// The adapter

function parseHandle(handle: Json): { readonly reqKey: string; readonly id: string } {
  const { reqKey, id } = asObject(handle) ?? {};
  return { reqKey: asText(reqKey) ?? '', id: asText(id) ?? '' };
}

/** Adapter for Jimeng's videos and images. */
export const jimeng: VendorAdapter = {
  name: 'jimeng',
  title: 'Jimeng',
  defaultBaseUrl: 'https://visual.volcengineapi.com',
  // The key of a gateway, which takes no signature.
  credentials: Type.Union([KEY_PAIR_CREDENTIALS, API_KEY_CREDENTIALS]),
  models: JIMENG_MODELS,
  unlistedWays: () => JIMENG_WAYS,
  metadata: parseMetadata.schema,
  formFields: { seconds: 'duration', ratio: 'metadata.aspect_ratio', seed: 'metadata.seed' },
  presentation: { hidesModel: true },
  example: {
    model: 'jimeng_v30',
    prompt: 'a paper crane takes off',
    duration: 5,
    metadata: { aspect_ratio: '9:16', seed: 7 },
  },
  // Polling returns new URLs for twelve hours, as long as the vendor keeps the task.
  artifactUrlLifetimeMs: 55 * 60_000,

  images: jimengImages,

  billingFactors(request) {
    const { frames = FRAMES_PER_SECOND * DEFAULT_SECONDS + 1 } = toFields(request);
    if (typeof frames !== 'number') rejectField('frames', 'must be an integer');
    const seconds = parseSeconds(Math.ceil((frames - 1) / FRAMES_PER_SECOND), 'frames');
    return { seconds, factors: knownFactors({ resolution: modelOf(request)?.resolution }) };
  },

  /** All URLs, or all Base64: the vendor accepts one or the other, so URLs of a mixture are downloaded. */
  takesByValue: (_type, { images }) => images.some((image) => 'bytes' in image),

  handleOf: ({ id, model }) => (/^jimeng_/.test(model) ? { reqKey: model, id } : undefined),

  async submit(request, context) {
    const fields = toFields(request);
    const body: RequestBody = { ...fields, ...toImageFields(request) };
    const response = await sendAction(context, 'submit', body);
    if (isError(response)) return refusedSubmit(parseError(response, context.now()), response);
    const hasReadableCode = parseCode(response) === OK || (asObject(response.json)?.code ?? undefined) === undefined;
    const id = hasReadableCode ? submittedTaskId(response.json) : undefined;
    return acceptedSubmit(id, response, { reqKey: fields.req_key, id: id ?? '' });
  },

  async query(handle, context) {
    const { reqKey, id } = parseHandle(handle);
    const response = await sendAction(context, 'query', { req_key: reqKey, task_id: id });
    const data = asObject(asObject(response.json)?.data);
    const word = asText(data?.status);
    if (isError(response)) {
      const { reason, cause, code, message, httpStatus } = parseError(response, context.now());
      const number = parseCode(response) ?? OK;
      // "done" means success or failure; the code next to it distinguishes them.
      const isDone = word !== undefined && ['SUCCESS', 'FAILURE'].includes(readTaskState(word));
      const ends = number !== OK && (TERMINAL_CODES.has(number) || (isDone && reason !== 'rate'));
      if (ends) return failedTask(toRawResponse(response), { reason, cause, code, message, httpStatus });
      throw rejectedPoll(parseError(response, context.now()));
    }
    const own = parseCode(response) === OK ? ownTask(response.json) : undefined;
    return own === undefined ? readGatewayTask(response, id, classifyReported) : toOutcome(own, response);
  },

  async content(handle, raw, _variant, context) {
    const own = ownTask(raw);
    const { id } = parseHandle(handle);
    const file = own
      ? undefined
      : await gatewayFile(raw, { id, vendor: 'jimeng' }, context, (url) =>
          authorize({ method: 'GET', url, pieces: [], headers: {} }, context),
        );
    return file ?? publicFile(videoUrlOf(own));
  },

  async checkCredentials(context) {
    const response = await sendAction(context, 'query', { req_key: 'jimeng_t2v_v30', task_id: '0' });
    if (!isError(response)) return { ok: true };
    const error = parseError(response, context.now());
    return error.code === NO_SUCH_TASK ? { ok: true } : { ok: false, error };
  },
};

/** Volcengine's visual service, the same for videos and images: two signed actions, two error envelopes. */

const OK = 10_000;
const refusedAs = (cause: FailureCause): ErrorClass => ({ reason: 'policy', cause });
/** The vendor's moderation service is unavailable: a fault of the vendor, which affects all its accounts. */
const MODERATION_OUTAGE: ErrorClass = { reason: 'capacity', retryable: false, cause: 'vendor_check_down' };

/**
 * 504xx and 505xx: volcengine.com/docs/85621, "Error codes" of each interface page; 50411 to 50522 are its content
 * checks. Names: the front gateway's common errors (volcengine.com/docs/6369/68677).
 */
export const ERROR_CLASSES: Readonly<Record<string, ErrorClass>> = {
  50200: { reason: 'user' },
  50215: { reason: 'user' },
  50400: { reason: 'model' },
  50411: refusedAs('picture_refused'),
  50412: refusedAs('prompt_refused'),
  50413: refusedAs('prompt_refused'),
  50429: { reason: 'rate' },
  50430: { reason: 'rate' },
  50500: { reason: 'capacity' },
  50501: { reason: 'capacity' },
  50511: refusedAs('result_refused'),
  50512: refusedAs('result_refused'),
  50516: refusedAs('result_refused'),
  50517: refusedAs('result_refused'),
  50518: refusedAs('copyright_refused'),
  50519: refusedAs('copyright_refused'),
  50520: MODERATION_OUTAGE,
  50521: MODERATION_OUTAGE,
  50522: MODERATION_OUTAGE,
  SignatureDoesNotMatch: { reason: 'auth' },
  InvalidAccessKey: { reason: 'auth' },
  InvalidCredential: { reason: 'auth' },
  InvalidTimestamp: { reason: 'auth' },
  AccessDenied: { reason: 'auth' },
  MissingAuthenticationToken: { reason: 'auth' },
  InvalidAuthorization: { reason: 'auth' },
  InvalidSecretToken: { reason: 'auth' },
  RequestExpired: { reason: 'auth' },
  AccountOverdue: { reason: 'billing' },
  InsufficientBalance: { reason: 'billing' },
  FlowLimitExceeded: { reason: 'rate' },
  RequestLimitExceeded: { reason: 'rate' },
  InternalError: { reason: 'capacity' },
  InternalServiceError: { reason: 'capacity' },
  InternalServiceTimeout: { reason: 'capacity' },
  ServiceUnavailable: { reason: 'capacity' },
  ServiceUnavailableTemp: { reason: 'capacity' },
};
/** In the response to a poll these codes concern the job: its input or its output was refused. */
const TERMINAL_CODES: ReadonlySet<number> = new Set([
  50215, 50411, 50412, 50413, 50511, 50512, 50516, 50517, 50518, 50519, 50520, 50521, 50522,
]);

/** The business envelope's code, success included; relays also write it as text. */
function parseCode(response: BufferedResponse): number | undefined {
  const code = asCode(asObject(response.json)?.code);
  if (code === undefined) return undefined;
  return isSuccessCode(code) ? OK : /^\d{1,9}$/.test(code) ? Number(code) : undefined;
}

/** Parses either envelope: the service's, or the front gateway's for signatures and permissions. */
function parseError(response: BufferedResponse, nowMs: number): VendorError {
  const envelope = asObject(response.json);
  const gateway = asObject(asObject(envelope?.ResponseMetadata)?.Error);
  const business = parseCode(response);
  const code = asText(gateway?.Code) ?? (business === undefined || business === OK ? '' : String(business));
  const reported = readReason(envelope);
  const message = asText(gateway?.Message) ?? reported.message ?? '';
  return toVendorError(response, nowMs, {
    code: code || reported.code,
    message,
    meaning: ownEntry(ERROR_CLASSES, code) ?? classifyByWords({ code: code || reported.code, message }),
    isPage: code === '',
  });
}

const isError = (response: BufferedResponse): boolean => {
  const code = parseCode(response);
  const hasGatewayError = asObject(asObject(asObject(response.json)?.ResponseMetadata)?.Error) !== undefined;
  return !isSuccessStatus(response) || hasGatewayError || (code !== undefined && code !== OK);
};

const ACTIONS = { submit: 'CVSync2AsyncSubmitTask', query: 'CVSync2AsyncGetResult' } as const;

async function sendAction(
  context: AdapterContext,
  action: keyof typeof ACTIONS,
  fields: RequestBody,
): Promise<BufferedResponse> {
  const url = `${context.baseUrl}/?Action=${ACTIONS[action]}&Version=2022-08-31`;
  const body = serializeJsonBody(fields);
  const pieces = typeof body === 'string' ? [body] : body.pieces();
  const unsigned = { method: 'POST', url, pieces, headers: { 'content-type': 'application/json' } } as const;
  const headers = authorize(unsigned, context);
  const request = withSerializedBody({ method: 'POST', url, headers, signal: context.signal }, body);
  return unwrapResponse(await context.sendJson(request), hasOwnEnvelope);
}

/** The headers of a request: those it has, and the credentials. */
function authorize(unsigned: UnsignedRequest, context: AdapterContext): Headers {
  const { api_key: apiKey, access_key: accessKey, secret_key: secretKey } = context.credentials;
  if (typeof apiKey === 'string') return { ...unsigned.headers, ...bearerHeaders(context) };
  const key = { accessKey: String(accessKey), secretKey: String(secretKey), region: 'cn-north-1', service: 'cv' };
  return signVolcengineRequest(unsigned, key, context.now());
}

/** A request to a Volcengine service, before it is signed. */
interface UnsignedRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** Pieces of the body in order. */
  readonly pieces: Iterable<string | Buffer>;
  /** Signed too, in addition to `host` and the two headers the signature adds; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

interface SigningKey {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
  readonly service: string;
}

const ALGORITHM = 'HMAC-SHA256';

function sha256(pieces: Iterable<string | Buffer>): string {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** RFC 3986: only unreserved characters are not encoded. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

function toQuery(parameters: URLSearchParams): string {
  const pairs = [...parameters].map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return pairs.sort((a, b) => (a < b ? -1 : 1)).join('&');
}

/** `20260102T030405Z` */
const toStamp = (nowMs: number): string => new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, '');

/**
 * Signs a request with Volcengine's HMAC-SHA256 scheme (volcengine.com/docs/6369/67269): like AWS's version 4, but the
 * key chain starts from the bare secret. Returns all headers to send except `host`, which the outbound client writes
 * from the URL.
 */
export function signVolcengineRequest(
  request: UnsignedRequest,
  key: SigningKey,
  nowMs: number,
): Readonly<Record<string, string>> {
  const { pathname, searchParams, host } = new URL(request.url);
  const stamp = toStamp(nowMs);
  const date = stamp.slice(0, 8);
  const bodyHash = sha256(request.pieces);
  const signed: Record<string, string> = { ...request.headers, 'x-date': stamp, 'x-content-sha256': bodyHash };
  const lines = Object.entries({ ...signed, host })
    .map(([name, value]) => [name, value.trim().replace(/ +/g, ' ')] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const names = lines.map(([name]) => name).join(';');
  const canonical = [
    request.method,
    pathname
      .split('/')
      .map((part) => encode(decodeURIComponent(part)))
      .join('/'),
    toQuery(searchParams),
    lines.map(([name, value]) => `${name}:${value}\n`).join(''),
    names,
    bodyHash,
  ].join('\n');
  const scope = `${date}/${key.region}/${key.service}/request`;
  const signingKey = [date, key.region, key.service, 'request'].reduce<string | Buffer>(hmac, key.secretKey);
  const signature = hmac(signingKey, [ALGORITHM, stamp, scope, sha256([canonical])].join('\n')).toString('hex');
  const authorization = `${ALGORITHM} Credential=${key.accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...signed, authorization };
}
