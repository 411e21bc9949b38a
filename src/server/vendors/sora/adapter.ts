import { Type } from 'typebox';
import { edit, extend, FROM_TEXT, fromFirstFrame, generate, one, waysOf } from '../../../contract/generation-ways.ts';
import { asObject, defined, type UntrustedObject } from '../../../contract/objects.ts';
import type { TaskStatus } from '../../../contract/task-states.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import {
  type AdapterContext,
  type ErrorReason,
  isAzure,
  openaiUrl,
  type VendorError,
} from '../../upstreams/upstream.ts';
import {
  API_KEY_CREDENTIALS,
  fileOf,
  type Json,
  type MediaFile,
  type MediaInput,
  type ModelCapability,
  type PriceSource,
  parseSeconds,
  type QueryOutcome,
  rejectField,
  type SubmitOutcome,
  toMediaUrl,
  usd,
  type VendorAdapter,
  type VideoRequest,
} from '../adapter.ts';
import { fileAddressIn, gatewayArtifact } from '../gateway-task.ts';
import {
  ambiguousSubmit,
  applyExtraFields,
  classifyByWords,
  type ErrorClass,
  failedTask,
  isAboutTask,
  isRefusedSubmit,
  omitUndefined,
  type ReportedReason,
  type RequestBody,
  readReason,
  refusedSubmit,
  rejectedPoll,
  taskIdIn,
  toMultipart,
  toRawResponse,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
  unwrapTask,
  withJsonBody,
} from '../json-calls.ts';
import {
  asId,
  asPercent,
  asText,
  asUnixSeconds,
  asUrl,
  classifyFailureWord,
  ownEntry,
  readTaskState,
  withoutAccount,
} from '../untrusted-json.ts';

/**
 * OpenAI's videos (`/v1/videos`), implemented today by gateways and resellers;
 * OpenAI closed its own in September 2026. Source: openai/openai-openapi, paths
 * `/videos…`. Objects and errors are returned unchanged, so ids are the upstream's.
 */

// Models and capabilities

/** Relays edit and extend the videos they keep, and uploads. */
const WAYS = [
  FROM_TEXT,
  fromFirstFrame(),
  edit([one('video', 'source')], { seconds: [], sizes: [], ratios: [] }),
  extend([one('video', 'source')], { seconds: [4, 8, 12, 16, 20], sizes: [], ratios: [] }),
];
const COMMON = {
  seconds: { values: [4, 8, 12], default: 4 },
  ratios: [],
  resolutions: [],
  modes: [],
  audio: true,
  negativePrompt: false,
  seed: false,
  ...waysOf(WAYS),
} as const;

const LISTED: PriceSource = {
  source: 'https://developers.openai.com/api/docs/pricing',
  confirmedOn: '2026-08-21',
  note: 'Quoted by docs.comfy.org/tutorials/partner-nodes/pricing. The vendor ended the API on 2026-09-24.',
};

const models: readonly ModelCapability[] = [
  {
    ...COMMON,
    id: 'sora-2',
    title: 'Sora 2',
    sizes: ['720x1280', '1280x720'],
    price: { per_call: 0, per_second: usd(0.1) },
    listed: LISTED,
  },
  {
    ...COMMON,
    id: 'sora-2-pro',
    title: 'Sora 2 Pro',
    sizes: ['720x1280', '1280x720', '1024x1792', '1792x1024'],
    price: {
      lines: [{ when: { size: ['1024x1792', '1792x1024'] }, per_second: usd(0.5) }, { per_second: usd(0.3) }],
    },
    listed: LISTED,
  },
];

// Request mapping

const DEFAULT_SECONDS = '4';
const DEFAULT_SIZE = '720x1280';

/** Whether an image is an upload: the vendor accepts uploads as files, and any other image in JSON. */
const isUpload = (image: MediaInput | undefined): image is Required<MediaFile> =>
  image !== undefined && 'bytes' in image && image.filename !== undefined;

/** The JSON body; an uploaded image is not part of it. */
function toBody(request: VideoRequest): RequestBody {
  if (request.mode !== undefined) rejectField('mode', 'is not known to this model');
  if (request.images.length > 1) rejectField('images', 'may hold one image for this model');
  const [image] = request.images;
  return applyExtraFields(
    omitUndefined({
      ...request.nativeFields,
      model: request.model,
      prompt: request.prompt,
      seconds: request.seconds === undefined ? undefined : String(request.seconds),
      size: request.size,
      input_reference:
        image === undefined || isUpload(image)
          ? request.nativeFields?.input_reference
          : { image_url: toMediaUrl(image) },
    }),
    request.extraFields,
  );
}

// Status mapping

/** `submitted` means `queued`: the documented statuses have only one word for both. */
const STATES: Readonly<Record<string, TaskStatus>> = { submitted: 'QUEUED' };

// Error reading

/** OpenAI's codes; those of gateways are common to all vendors. */
const REASONS: Readonly<Record<string, ErrorReason>> = {
  invalid_api_key: 'auth',
  unsupported_country_region_territory: 'auth',
  billing_hard_limit_reached: 'billing',
  rate_limit_exceeded: 'rate',
  moderation_blocked: 'policy',
  content_policy_violation: 'policy',
  content_filter: 'policy',
};

/** Looks up the code in the tables first, then a relay's message. */
const classify = (reported: ReportedReason): ErrorClass | undefined => {
  const reason = ownEntry(REASONS, reported.code);
  return reason ? { reason } : classifyByWords(reported);
};

function parseError(response: BufferedResponse, nowMs: number): VendorError {
  const video = unwrapTask(response.json);
  const { code, message } = readReason(video?.error, video, response.json);
  const param = asText(asObject(video?.error)?.param);
  const meaning = classify({ code, message });
  return toVendorError(response, nowMs, defined({ code, message, param, meaning }));
}

// The adapter

const handleId = (handle: Json): string => asText(asObject(handle)?.id) ?? '';

const pathOf = (handle: Json, rest = ''): string => `/${encodeURIComponent(handleId(handle))}${rest}`;

/**
 * Azure OpenAI has the same protocol, with deployments as model
 * names. Source: learn.microsoft.com, Azure OpenAI video generation.
 */
function authHeaders(context: AdapterContext): Record<string, string> {
  const key = String(context.credentials.api_key);
  return isAzure(context) ? { 'api-key': key } : { authorization: `Bearer ${key}` };
}

/** The URL of `rest` (a path, or a query, or nothing) below the collection of videos. */
const toUrl = (context: AdapterContext, rest = ''): string => openaiUrl(context, `/v1/videos${rest}`);

function send(
  context: AdapterContext,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: RequestBody,
): Promise<BufferedResponse> {
  const request = { method, url: toUrl(context, path), headers: authHeaders(context), signal: context.signal };
  return context.sendJson(withJsonBody(request, body));
}

const stateOf = (video: UntrustedObject | undefined): TaskStatus | undefined => {
  const word = asText(video?.status);
  return word === undefined ? undefined : readTaskState(word, STATES);
};

/**
 * The provider's id inside one of LiteLLM, which packs it with the deployment, and not in the same way for every answer
 * (BerriAI/litellm, `litellm/types/videos/utils.py`).
 */
function unpackId(id: string): string {
  const packed = /^video_([\w+/=-]+)$/.exec(id)?.[1] ?? '';
  return /^litellm:.*;video_id:(.+)$/.exec(Buffer.from(packed, 'base64').toString('latin1'))?.[1] ?? id;
}

/** Whether a response is about the video `id`. */
const isAboutVideo = (video: UntrustedObject, id: string): boolean =>
  isAboutTask(video, id) || unpackId(asId(video.id) ?? '') === unpackId(id);

/** The upstream's object without the envelope and the row numbers of relays, so that it can be returned to callers. */
function toRawVideo(response: BufferedResponse, video: UntrustedObject | undefined, id: string): Json {
  const typed = video && withoutAccount(withDocumentedTypes(video));
  const isWhole = typed === response.json && (video?.id === undefined || video.id === id);
  return isWhole ? toRawResponse(response) : ({ ...typed, id } as Json);
}

const TIMES = ['created_at', 'completed_at', 'expires_at'];
const TEXTS = ['seconds', 'size'];

/** The object with the types of OpenAI's schema, because relays exchange numbers and their text; the same if it has them. */
function withDocumentedTypes(video: UntrustedObject): UntrustedObject {
  const changed = [
    ...TIMES.filter((name) => typeof video[name] === 'string').map((name) => [
      name,
      asUnixSeconds(video[name]) ?? null,
    ]),
    ...TEXTS.filter((name) => typeof video[name] === 'number').map((name) => [name, String(video[name])]),
  ];
  return changed.length === 0 ? video : { ...video, ...Object.fromEntries(changed) };
}

function parseSubmit(response: BufferedResponse, context: AdapterContext): SubmitOutcome {
  const video = unwrapTask(response.json);
  if (isRefusedSubmit(response, video)) return refusedSubmit(parseError(response, context.now()), response);
  const id = taskIdIn(video) ?? asId(asObject(response.json)?.data);
  if (id === undefined || response.status >= 300) throw ambiguousSubmit(response);
  const artifact = stateOf(video) === 'SUCCESS' ? gatewayArtifact(video) : undefined;
  // An upstream that generates the video while the caller waits may keep no task that could be polled.
  const handle: Json = artifact?.kind === 'url' ? { id, film: artifact.url } : { id };
  return { kind: 'accepted', handle, upstreamId: id, raw: toRawVideo(response, video, id) };
}

const finishedAtOnce = (id: string, url: string): QueryOutcome => ({
  state: 'SUCCESS',
  artifact: { kind: 'url', url },
  raw: { id, object: 'video', status: 'completed', progress: 100, video_url: url },
});

function parseFailure(video: UntrustedObject, response: BufferedResponse, raw: Json): QueryOutcome {
  const { code, message = `The upstream calls the task ${String(video.status)}.` } = readReason(
    video.error,
    video,
    response.json,
    video.data,
  );
  const meaning = classify({ code, message }) ?? classifyFailureWord(video.status) ?? UNKNOWN_FAILURE;
  return failedTask(raw, { ...meaning, code, message });
}

/** The fields of an edit or extension, beside the video. */
function toChangeFields(request: VideoRequest): RequestBody {
  const isEdit = request.operation === 'edit';
  if (isEdit && request.seconds !== undefined)
    rejectField('seconds', `cannot be given: ${request.model} keeps the length of the video`);
  if (request.size !== undefined) rejectField('size', `cannot be given: ${request.model} keeps the frame of the video`);
  const seconds = isEdit ? undefined : String(request.seconds ?? DEFAULT_SECONDS);
  if (request.sourceHandle === undefined && (request.videos ?? []).length === 0)
    rejectField('inputs', `must hold the video to ${request.operation ?? 'edit'}`);
  return applyExtraFields(omitUndefined({ prompt: request.prompt, seconds }), request.extraFields);
}

const isChange = ({ operation }: VideoRequest): boolean => operation === 'edit' || operation === 'extend';

/** Edits or extends a video the upstream keeps, by its id, or any other as an upload. */
async function submitFromVideo(request: VideoRequest, context: AdapterContext): Promise<SubmitOutcome> {
  const path = request.operation === 'edit' ? '/edits' : '/extensions';
  const fields = toChangeFields(request);
  const id = request.sourceHandle === undefined ? undefined : handleId(request.sourceHandle);
  if (id !== undefined) return parseSubmit(await send(context, 'POST', path, { ...fields, video: { id } }), context);
  const [source] = request.videos ?? [];
  if (source === undefined) return rejectField('inputs', `must hold the video to ${request.operation ?? 'edit'}`);
  const form = toMultipart(fields, { filename: 'video.mp4', ...fileOf(source) }, 'video');
  const headers = { ...authHeaders(context), 'content-type': form.contentType };
  const call = { method: 'POST', url: toUrl(context, path), headers, body: form.body, signal: context.signal } as const;
  return parseSubmit(await context.sendJson(call), context);
}

/** Adapter for OpenAI's videos. */
export const sora: VendorAdapter = {
  name: 'sora',
  title: 'Sora',
  defaultBaseUrl: 'https://api.openai.com',
  credentials: API_KEY_CREDENTIALS,
  models,
  // Relays have more models than OpenAI had; its only field for an image is named after references.
  unlistedWays: () => [...WAYS, generate([one('image', 'reference')])],
  // Its fields are native ones of the body.
  metadata: Type.Object({}),
  formFields: { seconds: 'seconds', size: 'size' },
  example: { model: 'sora-2', prompt: 'an owl turns its head', seconds: '4', size: '1280x720' },
  passthrough: true,
  hasCover: true,
  hasSpritesheet: true,

  inlineBytes: { video: 100_000_000 },

  billingFactors(request) {
    const body = toBody(request);
    // An edited video keeps its length.
    const standard = request.operation === 'edit' ? (request.inputSeconds ?? DEFAULT_SECONDS) : DEFAULT_SECONDS;
    const seconds = parseSeconds(body.seconds ?? standard, 'seconds');
    return { seconds, factors: { size: typeof body.size === 'string' ? body.size : DEFAULT_SIZE } };
  },

  handleOf: ({ id }) => ({ id }),

  takesByValue: (type) => type === 'video',
  assertSendable(request) {
    if (isChange(request)) toChangeFields(request);
  },

  async submit(request, context) {
    if (isChange(request)) return submitFromVideo(request, context);
    const [image] = request.images;
    const body = toBody(request);
    if (!isUpload(image)) return parseSubmit(await send(context, 'POST', '', body), context);
    const form = toMultipart(body, image, 'input_reference');
    const headers = { ...authHeaders(context), 'content-type': form.contentType };
    const url = toUrl(context);
    return parseSubmit(
      await context.sendJson({ method: 'POST', url, headers, body: form.body, signal: context.signal }),
      context,
    );
  },

  async query(handle, context) {
    const response = await send(context, 'GET', pathOf(handle));
    const id = handleId(handle);
    const video = unwrapTask(response.json);
    // A bare 404, or one with only HTTP's own text, may be a gateway's.
    const reported = readReason(video?.error, video);
    const isReported = asObject(video?.error) !== undefined || /[a-z]/i.test(reported.code);
    const film = asUrl(asObject(handle)?.film);
    if (film !== undefined && (response.status === 404 || response.status === 405)) return finishedAtOnce(id, film);
    if (response.status === 404 && isReported)
      return failedTask(toRawResponse(response), { ...reported, reason: 'missing', httpStatus: 404 });
    if (response.status >= 400) throw rejectedPoll(parseError(response, context.now()));
    const state = stateOf(video);
    if (!video || state === undefined || !isAboutVideo(video, id)) throw unreadablePoll(response);
    const raw = toRawVideo(response, video, id);
    if (state === 'SUCCESS') return { state, artifact: gatewayArtifact(video), raw };
    if (state === 'FAILURE') return parseFailure(video, response, raw);
    return defined({ state, progress: asPercent(video.progress), raw });
  },

  async content(handle, raw, variant, context) {
    const isVideo = variant === undefined || variant === 'video';
    const artifact = gatewayArtifact(raw);
    if (isVideo && artifact.kind === 'url') return { kind: 'fetch', url: artifact.url, headers: {}, trusted: false };
    const query = variant === undefined ? '' : `?variant=${encodeURIComponent(variant)}`;
    return {
      kind: 'fetch',
      url: toUrl(context, pathOf(handle, `/content${query}`)),
      headers: authHeaders(context),
      trusted: true,
      // Some relays respond with the file's URL.
      ...(isVideo && { addressIn: fileAddressIn }),
    };
  },

  async remix(handle, request, context) {
    return parseSubmit(await send(context, 'POST', pathOf(handle, '/remix'), { prompt: request.prompt }), context);
  },

  async deleteTask(handle, context) {
    await send(context, 'DELETE', pathOf(handle));
  },

  async checkCredentials(context) {
    const response = await send(context, 'GET', '?limit=1');
    // Compatible services without a list return 404 or 405, after they have verified the key.
    if (response.status < 400 || response.status === 404 || response.status === 405) return { ok: true };
    return { ok: false, error: parseError(response, context.now()) };
  },
};
