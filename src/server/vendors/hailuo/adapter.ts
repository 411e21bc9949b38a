import { Type } from 'typebox';
import {
  FROM_TEXT,
  fromBothFrames,
  fromFirstFrame,
  matchAspectRatio,
  sortImages,
} from '../../../contract/generation-ways.ts';
import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { DAY_MS } from '../../../contract/time-units.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, PollFailed, type VendorError, withoutVersion } from '../../upstreams/upstream.ts';
import {
  API_KEY_CREDENTIALS,
  billedSeconds,
  createMetadataParser,
  isSameMedia,
  type Json,
  knownFactors,
  type MediaText,
  parseSeconds,
  type QueryOutcome,
  type RequestJson,
  rejectField,
  type SubmitOutcome,
  toMediaUrl,
  type VendorAdapter,
  type VideoRequest,
} from '../adapter.ts';
import {
  acceptedSubmit,
  applyExtraFields,
  bearerHeaders,
  deleteJson,
  type ErrorClass,
  failedTask,
  finishedTask,
  getJson,
  isSuccessCode,
  omitUndefined,
  postJson,
  type RequestBody,
  readReason,
  refusedSubmit,
  rejectedPoll,
  successWithoutArtifact,
  toMultipart,
  toRawResponse,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
  unwrapResponse,
} from '../json-calls.ts';
import {
  asCode,
  asId,
  asText,
  asUrl,
  classifyFailureWord,
  firstUrl,
  isForeignId,
  isSuccessStatus,
  ownEntry,
  readTaskState,
} from '../untrusted-json.ts';
import {
  type DurationsByResolution,
  type GenerationMode,
  H3_INLINE_BYTES,
  H3_MODELS,
  H3_RATIOS,
  H3_UPLOAD_BYTES,
  type H3Model,
  HAILUO_MODELS,
  MAX_H3_BODY_BYTES,
  MODES_BY_MODEL,
} from './models.ts';

/**
 * The body of `POST /v1/video_generation` (MiniMax "Video Generation"): one path, whose image fields select the mode.
 */

export const parseMetadata = createMetadataParser(
  Type.Object({
    resolution: Type.Optional(Type.String()),
    prompt_optimizer: Type.Optional(Type.Boolean()),
    fast_pretreatment: Type.Optional(Type.Boolean()),
    first_frame_image: Type.Optional(Type.String()),
    last_frame_image: Type.Optional(Type.String()),
    subject_reference: Type.Optional(
      Type.Array(Type.Object({ type: Type.Optional(Type.Literal('character')), image: Type.Array(Type.String()) })),
    ),
    aigc_watermark: Type.Optional(Type.Boolean()),
  }),
);
type ParsedMetadata = ReturnType<typeof parseMetadata>;

/** Maps the caller's images to body fields; the keys of `metadata` count as images too. */
function toImageFields(
  { images, model }: VideoRequest,
  metadata: ParsedMetadata,
): Record<string, RequestJson | undefined> {
  const ways = ownEntry(MODES_BY_MODEL, model);
  const { first, last } = sortImages(images);
  const given = (
    images.length > 2 || ways?.subject ? images : [first, last].filter((image) => image !== undefined)
  ).map(toMediaUrl);
  if (ways?.subject) {
    if (given.length > 1) rejectField('images', `cannot be used: ${model} takes one image of a face`);
    if (given.length > 0 && metadata.subject_reference)
      rejectField('image', 'and metadata.subject_reference are the same');
    const [face] = given;
    const named = metadata.subject_reference?.map(({ image }) => ({ type: 'character', image }));
    const subject = face === undefined ? named : [{ type: 'character', image: [face] }];
    if (!subject) rejectField('image', `is needed: ${model} keeps the face it shows`);
    return { ...toFrameFields([], metadata), subject_reference: subject };
  }
  const max = !ways || ways.last ? 2 : ways.first ? 1 : 0;
  if (given.length > max)
    rejectField(
      max === 0 ? 'image' : 'images',
      `cannot be used: ${model} takes ${max || 'no'} image${max === 2 ? 's' : ''}`,
    );
  const found = toFrameFields(given, metadata);
  if (ways && !ways.text && !found.first_frame_image) rejectField('image', `is needed: ${model} begins with an image`);
  return {
    ...found,
    subject_reference: metadata.subject_reference?.map(({ image }) => ({ type: 'character', image })),
  };
}

/** Each field takes one image: an `image` next to a frame given in `metadata` is sent in the other frame field. */
function toFrameFields(given: readonly MediaText[], metadata: ParsedMetadata): Record<string, RequestJson | undefined> {
  const { first_frame_image: first, last_frame_image: last } = metadata;
  if (given.length > 0 && first !== undefined && !isSameMedia(first, given[0] ?? '')) {
    rejectField('image', 'and metadata.first_frame_image are two different first frames');
  }
  if (given.length > 1 && last !== undefined && !isSameMedia(last, given[1] ?? '')) {
    rejectField('images', 'and metadata.last_frame_image are two different last frames');
  }
  return { first_frame_image: first ?? given[0], last_frame_image: last ?? given[1] };
}

const RESOLUTION_CLASSES: readonly { readonly upTo: number; readonly names: readonly string[] }[] = [
  { upTo: 600, names: ['512P'] },
  { upTo: 800, names: ['768P', '720P'] },
  { upTo: 1100, names: ['1080P'] },
];

/** `768P` from `768p`, or from `1280x720`: the class of the shorter side, in the model's spelling. */
function toResolution(size: string, offered: readonly string[], landscapeOnly: boolean): string {
  const named = size.trim().toUpperCase();
  if (offered.includes(named)) return named;
  const sides = /^(\d{2,5})[X*](\d{2,5})$/.exec(named);
  const [width, height] = [Number(sides?.[1]), Number(sides?.[2])];
  if (landscapeOnly && width <= height)
    rejectField('size', 'cannot be used: this model makes 16:9 unless a first frame gives the shape');
  const short = Math.min(width, height);
  const fitting = RESOLUTION_CLASSES.find(({ upTo }) => short <= upTo)?.names.find((name) => offered.includes(name));
  return (short >= 400 ? fitting : undefined) ?? rejectField('size', `must be one of ${offered.join(', ')}`);
}

const ANY_DURATIONS: DurationsByResolution = { '768P': [6, 10], '512P': [6, 10], '720P': [6, 10], '1080P': [6, 10] };

function modeOf(images: Record<string, RequestJson | undefined>): GenerationMode {
  if (images.subject_reference) return 'subject';
  if (images.last_frame_image) return 'last';
  return images.first_frame_image ? 'first' : 'text';
}

interface ResolvedOptions {
  readonly seconds: number;
  readonly resolution: string;
  readonly images: Record<string, RequestJson | undefined>;
}

/** Resolution and length from the model's table; a model that is not in it is only checked by the vendor. */
function resolveOptions(request: VideoRequest, metadata: ParsedMetadata): ResolvedOptions {
  const { model, seconds = 6, size } = request;
  if (request.mode !== undefined) rejectField('mode', 'is not a field of Hailuo models');
  const images = toImageFields(request, metadata);
  const way = modeOf(images);
  const known = ownEntry(MODES_BY_MODEL, model);
  const offer = known ? (known[way] ?? known.first ?? known.text ?? known.subject ?? ANY_DURATIONS) : ANY_DURATIONS;
  const [preferred = '768P'] = Object.keys(offer);
  const resolution =
    metadata.resolution?.toUpperCase() ??
    (size === undefined ? preferred : toResolution(size, Object.keys(offer), way === 'text'));
  const lengths = offer[resolution];
  if (lengths && !lengths.includes(seconds)) {
    rejectField('duration', `must be ${lengths.join(' or ')} seconds for ${model} at ${resolution}`);
  }
  return { seconds, resolution, images };
}

/**
 * The vendor's body for one request.
 * @throws UnsupportedRequestError for values that no field can express
 */
export function toBody(request: VideoRequest): RequestBody {
  const metadata = parseMetadata(request.metadata);
  const { seconds, resolution, images } = resolveOptions(request, metadata);
  const { prompt_optimizer, fast_pretreatment, aigc_watermark } = metadata;
  const body = omitUndefined({
    model: request.model,
    prompt: request.prompt || undefined,
    duration: seconds,
    resolution,
    prompt_optimizer,
    fast_pretreatment,
    aigc_watermark,
    ...images,
  });
  return applyExtraFields(body, request.extraFields);
}

/**
 * MiniMax "Video Generation", the first protocol, used by all Hailuo models except H3: three requests, errors inside
 * HTTP 200.
 */

// --- Status mapping ---

interface Handle {
  readonly taskId: string;
  readonly fileId?: string;
  /** 2 for the H3 models, which have a different protocol. */
  readonly version?: 2;
}
const parseHandle = (handle: Json): Handle => asObject(handle) as unknown as Handle;

/**
 * What a poll refused under HTTP 200 says about the task.
 * @throws PollFailed if it is about the account or the vendor
 */
function parseRefusal(raw: Json, error: VendorError): QueryOutcome {
  // The poll sends only the id, so a refused parameter is an unknown id.
  if (error.code === '2013') return failedTask(raw, { ...error, reason: 'missing' });
  if (error.reason === 'policy') return failedTask(raw, error);
  throw rejectedPoll(error);
}

/**
 * Parses the response to a poll; `fileId` if the video can be queried.
 * @throws PollFailed if it reports no state
 */
function parseStatus(response: BufferedResponse, taskId: string, nowMs: number): QueryOutcome | { fileId: string } {
  const reply = asObject(response.json);
  const error = toError(response, nowMs);
  if (!isSuccessStatus(response)) throw rejectedPoll(error);
  if (!reply || isForeignId(reply.task_id, taskId)) throw unreadablePoll(response);
  const raw = toRawResponse(response);
  const word = asText(reply.status);
  const state = word === undefined ? undefined : readTaskState(word);
  const isRefused = error.code !== '';
  if (state === undefined && isRefused) return parseRefusal(raw, error);
  if (state === 'FAILURE') {
    if (isRefused) return failedTask(raw, error);
    const reported = readReason(reply.error, { ...reply, base_resp: undefined, status: undefined }, reply.base_resp);
    return failedTask(raw, {
      ...(classifyFailureWord(word) ?? UNKNOWN_FAILURE),
      ...reported,
      message: reported.message ?? 'task failed',
    });
  }
  if (state === undefined) throw unreadablePoll(response);
  if (state !== 'SUCCESS') return { state, raw };
  const fileId = asId(reply.file_id);
  if (fileId !== undefined) return { fileId };
  if ((reply.file_id ?? '') !== '') throw unreadablePoll(response);
  return isRefused ? failedTask(raw, error) : successWithoutArtifact(raw);
}

// --- Error reading: HTTP 200 for nearly all errors ---

/**
 * MiniMax "Error codes" (platform.minimax.io/docs/api-reference/errorcode); 1026 and 1027 are its content checks, 1008
 * its balance. 1028 and 1030 are from the vendor's own client: a plan's allowance of one model is used up.
 */ export const ERROR_CLASSES: Readonly<Record<string, ErrorClass>> = {
  1000: { reason: 'capacity' },
  1001: { reason: 'capacity' },
  1002: { reason: 'rate' },
  1004: { reason: 'auth' },
  1008: { reason: 'billing' },
  1013: { reason: 'capacity' },
  1024: { reason: 'capacity' },
  1026: { reason: 'policy' },
  1027: { reason: 'policy', cause: 'result_refused' },
  1028: { reason: 'model' },
  1030: { reason: 'model' },
  1033: { reason: 'capacity' },
  1039: { reason: 'rate' },
  1041: { reason: 'rate' },
  1042: { reason: 'user' },
  2013: { reason: 'user' },
  2045: { reason: 'rate' },
  2049: { reason: 'auth' },
  2056: { reason: 'rate' },
  2061: { reason: 'model' },
};

/** Parses an error response. */
export function toError(response: BufferedResponse, nowMs: number): VendorError {
  const baseResponse = asObject(asObject(response.json)?.base_resp);
  const status = asCode(baseResponse?.status_code) ?? '';
  const code = isSuccessCode(status) ? '' : status;
  return toVendorError(response, nowMs, {
    code,
    message: readReason(baseResponse, response.json).message ?? '',
    meaning: ownEntry(ERROR_CLASSES, code),
    isPage: baseResponse === undefined,
  });
}

// --- The adapter ---

const OWN_MEMBERS = ['base_resp', 'task_id', 'task', 'file'];
const isOwnForm = (json: UntrustedObject): boolean => OWN_MEMBERS.some((name) => name in json);

const get = async (context: AdapterContext, path: string, query: Readonly<Record<string, string>>) =>
  unwrapResponse(
    await getJson(context, `${baseUrlOf(context)}${path}?${new URLSearchParams(query)}`, bearerHeaders(context)),
    isOwnForm,
  );

/** Base URL without its version, because the endpoints have two versions. */
const baseUrlOf = (context: AdapterContext) => withoutVersion(context.baseUrl);

/**
 * Requests a new download URL with each poll, because it is valid for an hour and the file longer. The account has just
 * responded about the task, so a refusal concerns this file alone, unless the vendor is busy.
 */
async function fetchDownloadUrl(context: AdapterContext, fileId: string): Promise<string> {
  const response = await get(context, '/v1/files/retrieve', { file_id: fileId });
  const error = toError(response, context.now());
  if (!isSuccessStatus(response) || error.code !== '') {
    const isBusy = error.reason === 'rate' || error.reason === 'capacity';
    throw rejectedPoll(isBusy ? error : { ...error, reason: 'other', cause: 'no_result' });
  }
  const url = firstUrl(asObject(response.json)?.file, ['download_url', 'backup_download_url']);
  if (url === undefined) throw unreadablePoll(response);
  return url;
}

/** Adapter for MiniMax Hailuo. */
export const hailuo: VendorAdapter = {
  name: 'hailuo',
  title: 'Hailuo',
  defaultBaseUrl: 'https://api.minimax.io',
  credentials: API_KEY_CREDENTIALS,
  models: HAILUO_MODELS,
  unlistedWays: () => [FROM_TEXT, fromFirstFrame(), fromBothFrames()],
  metadata: parseMetadata.schema,
  formFields: { seconds: 'duration', resolution: 'metadata.resolution' },
  inlineBytes: H3_INLINE_BYTES,
  presentation: {
    url: 'known',
    // A task that failed under a success code has no error.
    error: (failure) => (failure.code === '0' || failure.code === '' ? undefined : failure),
  },
  example: {
    model: 'MiniMax-Hailuo-02',
    prompt: 'waves against a lighthouse',
    duration: 6,
    metadata: { resolution: '768P', prompt_optimizer: true },
  },
  // The current page documents an hour, older ones nine; the URL of a file can be requested again.
  artifactUrlLifetimeMs: 55 * 60_000,

  /** Seconds of input and output, which only the H3 models report (platform.minimax.io/docs). */
  billedFacts: (raw) => {
    const usage = asObject(asObject(asObject(raw)?.task)?.usage);
    return billedSeconds(usage?.total_seconds, usage?.output_seconds);
  },

  billingFactors(request) {
    if (isH3(request.model)) return billingFactorsH3(request, parseMetadata(request.metadata));
    const body = toBody(request);
    const factors = knownFactors({ resolution: body.resolution, size: request.size });
    return { seconds: parseSeconds(body.duration, 'duration'), factors };
  },

  upload: {
    maxBytes: H3_UPLOAD_BYTES,
    async send(file, context) {
      const form = toMultipart({ purpose: 'video_generation_input' }, file, 'file');
      const headers = { ...bearerHeaders(context), 'content-type': form.contentType };
      const url = `${baseUrlOf(context)}/v1/files/upload`;
      const response = await context.sendJson({
        method: 'POST',
        url,
        headers,
        body: form.body,
        signal: context.signal,
      });
      const id = asId(asObject(asObject(response.json)?.file)?.file_id);
      if (id === undefined) return { error: toError(response, context.now()) };
      return { uri: `mm_file://${id}`, expiresAtMs: context.now() + FILE_LIFETIME_MS };
    },
    isForgotten: ({ message }) => /mm_file|file (?:not found|expired|does not exist)/i.test(message),
  },

  handleOf: ({ id, model }): Json => (/-H3/.test(model) ? { taskId: id, version: 2 } : { taskId: id }),

  async submit(request, context) {
    const connection = { origin: baseUrlOf(context), headers: bearerHeaders(context) };
    if (isH3(request.model)) return submitH3(request, parseMetadata(request.metadata), connection, context);
    const url = `${connection.origin}/v1/video_generation`;
    const response = unwrapResponse(await postJson(context, url, connection.headers, toBody(request)), isOwnForm);
    const error = toError(response, context.now());
    if (response.status >= 400 || error.code !== '') return refusedSubmit(error, response);
    const taskId = isSuccessStatus(response) ? asId(asObject(response.json)?.task_id) : undefined;
    return acceptedSubmit(taskId, response, { taskId: taskId ?? '' });
  },

  async query(handle, context) {
    const { taskId, fileId, version } = parseHandle(handle);
    if (version === 2) return queryH3(taskId, { origin: baseUrlOf(context), headers: bearerHeaders(context) }, context);
    const response = await get(context, '/v1/query/video_generation', { task_id: taskId });
    const outcome = parseStatus(response, taskId, context.now());
    if (!('fileId' in outcome)) return outcome;
    const url = await fetchDownloadUrl(context, outcome.fileId);
    const known = { taskId, fileId: outcome.fileId };
    const taught = fileId === outcome.fileId ? {} : { handle: known };
    return { state: 'SUCCESS', artifact: { kind: 'url', url }, raw: toRawResponse(response), ...taught };
  },

  async content(handle, raw, _variant, context) {
    const { fileId, version } = parseHandle(handle);
    const stored = fileId ?? asId(asObject(raw)?.file_id);
    const url = version === 2 ? parseArtifactUrlH3(raw) : stored && (await fetchDownloadUrl(context, stored));
    if (!url) throw new PollFailed('the stored response of this task names no video');
    return { kind: 'fetch', url, headers: {}, trusted: false };
  },

  async deleteTask(handle, context) {
    const { taskId, version } = parseHandle(handle);
    if (version === 2) await deleteH3(taskId, { origin: baseUrlOf(context), headers: bearerHeaders(context) }, context);
  },

  async checkCredentials(context) {
    const response = await get(context, '/v1/query/video_generation', { task_id: '0' });
    const error = toError(response, context.now());
    // The id is invented: any response about it, except one about the key or an outage, shows that the key is valid.
    const isAnswer = isSuccessStatus(response) && asObject(asObject(response.json)?.base_resp) !== undefined;
    const isFine = isAnswer && (error.code === '' || error.reason === 'user');
    return isFine ? { ok: true } : { ok: false, error };
  },
};

/**
 * The second protocol of MiniMax, only for the H3 models: a content
 * array, real HTTP statuses, the video's URL in the response.
 */
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

const isH3 = (model: string): boolean => Object.hasOwn(H3_MODELS, model);

function limitsOf(model: string): H3Model {
  const limits = ownEntry(H3_MODELS, model);
  if (limits === undefined) throw new Error(`${model} has another protocol`);
  return limits;
}

function toFrameSize({ size, model }: VideoRequest, metadata: Metadata, hasImages: boolean) {
  const { resolutions, defaultResolution } = limitsOf(model);
  const named = size?.toUpperCase();
  const isClass = named !== undefined && resolutions.includes(named);
  const ratio = size === undefined || isClass ? undefined : matchAspectRatio(size, H3_RATIOS);
  if (size !== undefined && !isClass && ratio === undefined) {
    rejectField('size', `must be ${resolutions.join(', ')}, or width x height of ${H3_RATIOS.join(', ')}`);
  }
  return {
    resolution: metadata.resolution?.toUpperCase() ?? (isClass ? named : defaultResolution),
    ratio: ratio ?? (hasImages ? 'adaptive' : '16:9'),
  };
}

/** One image is the first frame, two are the first and the last, more are references. */
function toImageContent(request: VideoRequest, metadata: Metadata) {
  const sorted = sortImages(request.images);
  const given = [sorted.first, sorted.last].flatMap((image) => (image === undefined ? [] : [toMediaUrl(image)]));
  const { references } = limitsOf(request.model);
  if (sorted.references.length > references)
    rejectField('images', `cannot be used: ${request.model} takes ${references || 'no'} reference images`);
  const { first_frame_image: first, last_frame_image: last } = metadata;
  if (first !== undefined && given.length > 0 && !isSameMedia(given[0] ?? '', first)) {
    rejectField('image', 'and metadata.first_frame_image are two different first frames');
  }
  if (last !== undefined && given.length > 1)
    rejectField('images', 'and metadata.last_frame_image name too many images');
  const frame = first === undefined ? 'last_frame_image' : 'first_frame_image';
  if (sorted.references.length > 0 && metadata[frame] !== undefined)
    rejectField(`metadata.${frame}`, 'cannot be used: frames and reference images exclude each other');
  const item = (url: MediaText, role: string) => ({ type: 'image_url', image_url: { url }, role });
  if (sorted.references.length > 0) return sorted.references.map((image) => item(toMediaUrl(image), 'reference_image'));
  const [start, end] = [first ?? given[0], last ?? given[1]];
  return [
    ...(start === undefined ? [] : [item(start, 'first_frame')]),
    ...(end === undefined ? [] : [item(end, 'last_frame')]),
  ];
}

/** A video to edit is `base_video`, whose images and sound the result follows. */
const toVideoContent = ({ videos = [] }: VideoRequest): RequestJson[] =>
  videos.map((video) => ({
    type: 'video_url',
    video_url: { url: toMediaUrl(video) },
    role: video.role === 'source' ? 'base_video' : 'reference_video',
  }));
const toAudioContent = ({ audios = [] }: VideoRequest): RequestJson[] =>
  audios.map((audio) => ({ type: 'audio_url', audio_url: { url: toMediaUrl(audio) }, role: 'reference_audio' }));

const UNSUPPORTED_KEYS = ['prompt_optimizer', 'fast_pretreatment', 'subject_reference'] as const;

/** Uploaded files are kept for seven days (platform.minimax.io/docs, "Upload File"). */
const FILE_LIFETIME_MS = 6 * DAY_MS;

/** Refuses more than the vendor takes by value in one body. */
function assertBodySize({ images, videos = [], audios = [] }: VideoRequest): void {
  const sizes = [...images, ...videos, ...audios].map((input) => ('bytes' in input ? input.bytes.length : 0));
  if (sizes.reduce((sum, size) => sum + size, 0) > MAX_H3_BODY_BYTES)
    rejectField('inputs', `cannot have more than ${MAX_H3_BODY_BYTES / 1e6} MB in one request to this model`);
}

/** The vendor's body for one request to an H3 model. */
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
  assertBodySize(request);
  const images = [...toImageContent(request, metadata), ...toVideoContent(request), ...toAudioContent(request)];
  const text = prompt === '' ? [] : [{ type: 'text', text: prompt }];
  const body = omitUndefined({
    model,
    content: [...text, ...images],
    duration: seconds,
    ...toFrameSize(request, metadata, images.length > 0),
    aigc_watermark: metadata.aigc_watermark,
  });
  return applyExtraFields(body, request.extraFields);
}

function billingFactorsH3(request: VideoRequest, metadata: Metadata): ReturnType<VendorAdapter['billingFactors']> {
  const { duration, resolution } = toBodyH3(request, metadata);
  return {
    seconds: parseSeconds(duration, 'duration'),
    factors: { resolution: asText(resolution) ?? limitsOf(request.model).defaultResolution },
  };
}

// --- Status mapping ---

/** The video's URL in a response; polling again renews an expired one. */
const parseArtifactUrlH3 = (raw: unknown): string | undefined =>
  asUrl(asObject(asObject(asObject(raw)?.task)?.content)?.url);

function parseStatusH3(response: BufferedResponse, taskId: string, nowMs: number): QueryOutcome {
  const raw = toRawResponse(response);
  if (response.status === 404 && asObject(asObject(response.json)?.error)) {
    return failedTask(raw, { ...toErrorH3(response, nowMs), reason: 'missing' });
  }
  if (!isSuccessStatus(response)) throw rejectedPoll(toErrorH3(response, nowMs));
  const task = asObject(asObject(response.json)?.task);
  const refusal = task ? undefined : refusalIn(response, nowMs);
  if (refusal) return parseRefusal(raw, refusal);
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

/** Meaning of the error types of the second protocol. */
export const CLASS_BY_TYPE_H3: Readonly<Record<string, ErrorClass>> = {
  bad_request_error: { reason: 'user' },
  authorized_error: { reason: 'auth' },
  insufficient_balance_error: { reason: 'billing' },
  unprocessable_entity_error: { reason: 'user' },
  rate_limit_error: { reason: 'rate' },
  server_error: { reason: 'capacity' },
  overloaded_error: { reason: 'capacity' },
};

/** Meaning of the first protocol's number, which ends messages in parentheses and is more specific than the type. */
const CLASS_BY_MESSAGE_CODE: Readonly<Record<string, ErrorClass>> = {
  1026: { reason: 'policy' },
  1027: { reason: 'policy', cause: 'result_refused' },
  1008: { reason: 'billing' },
  2056: { reason: 'rate' },
  2061: { reason: 'model' },
};

/** The first protocol's error, which the second returns for some refusals, under HTTP 200 as well. */
function refusalIn(response: BufferedResponse, nowMs: number): VendorError | undefined {
  const error = toError(response, nowMs);
  return error.code !== '' && error.isPage !== true ? error : undefined;
}

/** Parses an error response of the second protocol. */
export function toErrorH3(response: BufferedResponse, nowMs: number): VendorError {
  const refusal = refusalIn(response, nowMs);
  if (refusal) return refusal;
  const error = asObject(asObject(response.json)?.error);
  const message = asText(error?.message) ?? '';
  const type = asText(error?.type) ?? '';
  const number = /\((\d{4,5})\)\s*$/.exec(message)?.[1] ?? '';
  return toVendorError(response, nowMs, {
    code: number || type,
    message,
    meaning: ownEntry(CLASS_BY_MESSAGE_CODE, number) ?? ownEntry(CLASS_BY_TYPE_H3, type),
  });
}

// --- Requests ---

const queryPath = (taskId: string) => `/v2/query/video_generation/${encodeURIComponent(taskId)}`;

async function submitH3(
  request: VideoRequest,
  metadata: Metadata,
  connection: Connection,
  context: AdapterContext,
): Promise<SubmitOutcome> {
  const url = `${connection.origin}/v2/video_generation`;
  const sent = await postJson(context, url, connection.headers, toBodyH3(request, metadata));
  const response = unwrapResponse(sent, isOwnForm);
  const read = response.status >= 400 ? toErrorH3 : refusalIn;
  const error = read(response, context.now());
  if (error) return refusedSubmit(error, response);
  const taskId = isSuccessStatus(response) ? asId(asObject(response.json)?.task_id) : undefined;
  return acceptedSubmit(taskId, response, { taskId: taskId ?? '', version: 2 });
}

async function queryH3(taskId: string, connection: Connection, context: AdapterContext): Promise<QueryOutcome> {
  const sent = await getJson(context, `${connection.origin}${queryPath(taskId)}`, connection.headers);
  const response = unwrapResponse(sent, isOwnForm);
  return parseStatusH3(response, taskId, context.now());
}

async function deleteH3(taskId: string, connection: Connection, context: AdapterContext): Promise<void> {
  const url = `${connection.origin}/v2/video_generation/${encodeURIComponent(taskId)}`;
  await deleteJson(context, url, connection.headers);
}
