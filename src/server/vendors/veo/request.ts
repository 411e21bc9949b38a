import { Type } from 'typebox';
import { type InputRole, matchAspectRatio, sortImages } from '../../../contract/generation-ways.ts';
import { asObject, defined, type UntrustedObject } from '../../../contract/objects.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, PollFailed, type VendorError } from '../../upstreams/upstream.ts';
import {
  type ContentSource,
  createMetadataParser,
  fileOf,
  type Json,
  knownFactors,
  type MediaText,
  parseSeconds,
  type QueryOutcome,
  type RequestInput,
  rejectField,
  type SubmitOutcome,
  stripDataUrlPrefix,
  toBase64,
  type VideoRequest,
} from '../adapter.ts';
import {
  acceptedSubmit,
  applyExtraFields,
  failedTask,
  isErrorResponse,
  omitUndefined,
  type RequestBody,
  readReason,
  refusedSubmit,
  rejectedPoll,
  successWithoutArtifact,
  toRawResponse,
  unreadablePoll,
} from '../json-calls.ts';
import { asArray, asId, asText, asUrl, isSuccessStatus } from '../untrusted-json.ts';
import { parseGoogleError, refusalCause, toFailedOperation } from './google.ts';
import { familyOf, type ModelFamily, VEO_DEFAULT_SECONDS, VEO_RATIOS } from './models.ts';

/** The Gemini API (native) or Vertex AI (cloud platform): the same models through two APIs. */
export type VeoRoute = 'gemini' | 'vertex';

const COMMON_KEYS = {
  aspectRatio: Type.Optional(Type.Enum(['16:9', '9:16'])),
  durationSeconds: Type.Optional(Type.Integer()),
  negativePrompt: Type.Optional(Type.String({ maxLength: 8_000 })),
  personGeneration: Type.Optional(Type.Enum(['allow_all', 'allow_adult', 'dont_allow'])),
  resolution: Type.Optional(Type.String({ maxLength: 16 })),
};
const VERTEX_KEYS = {
  storageUri: Type.Optional(
    Type.String({ maxLength: 1_024, pattern: '^gs://[a-z0-9][a-z0-9._-]{1,220}(?:/[A-Za-z0-9._=-]{1,128})*/?$' }),
  ),
  sampleCount: Type.Optional(Type.Integer()),
  seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 4_294_967_295 })),
  generateAudio: Type.Optional(Type.Boolean()),
  enhancePrompt: Type.Optional(Type.Boolean()),
  compressionQuality: Type.Optional(Type.Enum(['optimized', 'lossless'])),
  resizeMode: Type.Optional(Type.Enum(['pad', 'crop'])),
};
const parseGeminiMetadata = createMetadataParser(Type.Object(COMMON_KEYS));
const parseVertexMetadata = createMetadataParser(Type.Object({ ...COMMON_KEYS, ...VERTEX_KEYS }));
const OMNI_KEYS = {
  task: Type.Optional(Type.Enum(['text_to_video', 'image_to_video', 'reference_to_video', 'edit', 'extend'])),
};
/** Parses the metadata of the Omni models. */
export const parseOmniMetadata = createMetadataParser(
  Type.Object({ ...COMMON_KEYS, ...OMNI_KEYS, storageUri: VERTEX_KEYS.storageUri }),
);
/** Keys that only Vertex AI has; the native route drops them. */
export const VERTEX_ONLY_KEYS = Object.keys(VERTEX_KEYS);
/** Metadata of all routes. */
export const VEO_METADATA = Type.Object({ ...COMMON_KEYS, ...VERTEX_KEYS, ...OMNI_KEYS });

/** Maps a frame's longer side to the vendor's resolution: the same or the next smaller one. */
function resolutionOfFrame(size: string, known: readonly string[]): string {
  const side = Math.max(...size.split(/\D+/).map(Number));
  if (side <= 640 && known.includes('360p')) return '360p';
  return side >= 3840 ? '4k' : side >= 1920 ? '1080p' : '720p';
}

/** Parses `1280x720`, `1080P` or `16:9`; the vendor cannot express anything else. */
function parseSize(
  size: string,
  known: readonly string[],
): { readonly resolution?: string; readonly aspectRatio?: string } {
  if (VEO_RATIOS.includes(size)) return { aspectRatio: size };
  if (/^(?:360p|720p|1080p|4k)$/i.test(size)) return { resolution: size.toLowerCase() };
  const aspectRatio = matchAspectRatio(size, VEO_RATIOS);
  if (aspectRatio === undefined) return rejectField('size', 'must be 720p, 1080p, 4k, or a frame of 16:9 or 9:16');
  return { resolution: resolutionOfFrame(size, known), aspectRatio };
}

/** What a family offers for the operation: Veo extends by a fixed length, in 720p. */
const forOperation = (family: ModelFamily, { operation }: VideoRequest): ModelFamily =>
  operation === 'extend' && family.extension !== undefined
    ? { ...family, seconds: [family.extension], resolutions: ['720p'] }
    : family;

/**
 * The requested length and frame, checked against the model: from metadata, otherwise from the common fields, otherwise
 * the default.
 */
export function resolveFrame(request: VideoRequest, model: ModelFamily) {
  const family = forOperation(model, request);
  const metadata = parseGeminiMetadata(request.metadata);
  const size = request.size === undefined ? {} : parseSize(request.size, family.resolutions);
  const requested = metadata.durationSeconds ?? request.seconds;
  const param = metadata.durationSeconds === undefined ? 'duration' : 'metadata.durationSeconds';
  const seconds =
    requested ?? (family.seconds.includes(VEO_DEFAULT_SECONDS) ? VEO_DEFAULT_SECONDS : family.seconds[0]) ?? 0;
  if (!family.seconds.includes(seconds))
    rejectField(param, `must be ${family.seconds.join(', ')} for ${request.model}`);
  const resolution = metadata.resolution?.toLowerCase() ?? size.resolution ?? '720p';
  if (!family.resolutions.includes(resolution)) {
    const field = metadata.resolution === undefined ? 'size' : 'metadata.resolution';
    rejectField(field, `must mean ${family.resolutions.join(' or ')} for ${request.model}`);
  }
  return { seconds, param, resolution, aspectRatio: metadata.aspectRatio ?? size.aspectRatio };
}

/**
 * The location of results in Cloud Storage: only below the path that the channel's administrator permits, because it is
 * their bucket.
 */
export function storageUri(asked: string | undefined, allowed: unknown): string | undefined {
  const root = typeof allowed === 'string' ? `${allowed.replace(/\/+$/, '')}/` : undefined;
  if (asked === undefined) return root;
  if (root === undefined || !`${asked}/`.startsWith(root) || asked.includes('..')) {
    rejectField('metadata.storageUri', 'is not a storage location this service may write to');
  }
  return asked;
}

function vertexParameters(request: VideoRequest, family: ModelFamily, options: AdapterContext['options']) {
  const metadata = parseVertexMetadata(request.metadata);
  // One task has one price and one file.
  if ((metadata.sampleCount ?? 1) !== 1) rejectField('metadata.sampleCount', 'must be 1');
  return {
    storageUri: storageUri(metadata.storageUri, options.storage_uri),
    seed: metadata.seed,
    generateAudio: family.audio ? metadata.generateAudio : undefined,
    enhancePrompt: metadata.enhancePrompt,
    compressionQuality: metadata.compressionQuality,
    resizeMode: request.images.length === 1 ? metadata.resizeMode : undefined,
  };
}

/** An image in Base64. */
export interface EncodedImage {
  readonly data: MediaText;
  readonly mimeType: string;
  readonly role?: InputRole;
}

/** Inputs by value. */
export interface EncodedMedia {
  readonly images: readonly EncodedImage[];
  readonly videos: readonly EncodedImage[];
}

const toImage = ({ data, mimeType }: EncodedImage) => ({ bytesBase64Encoded: data, mimeType });

/** References are things that must appear in the video; they exclude frames. */
function toImageFields(images: readonly EncodedImage[], family: ModelFamily, model: string): RequestBody {
  const { first, last, references } = sortImages(images);
  if (references.length > family.references || (last && !family.lastFrame))
    return rejectField('images', `are more than ${model} takes`);
  if (references.length > 0)
    return { referenceImages: references.map((image) => ({ image: toImage(image), referenceType: 'asset' })) };
  return omitUndefined({ image: first && toImage(first), lastFrame: last && toImage(last) });
}

/**
 * Refuses options the Gemini API supports only with eight seconds,
 * because the price is computed from the requested length.
 */
function assertEightSeconds(seconds: number, resolution: string, references: number, param: string): void {
  if (seconds !== 8 && (resolution !== '720p' || references > 0)) {
    rejectField(param, 'must be 8 with 1080p, 4k or reference images');
  }
}

/** The body of one submit; the same for both routes except for a handful of parameters. */
export function toVeoBody(
  request: VideoRequest,
  { images, videos }: EncodedMedia,
  route: VeoRoute,
  options: AdapterContext['options'] = {},
): RequestBody {
  if (request.mode !== undefined) rejectField('mode', 'is not known to Veo');
  const family = familyOf(request.model);
  const { seconds, param, resolution, aspectRatio } = resolveFrame(request, family);
  if (route === 'gemini') assertEightSeconds(seconds, resolution, sortImages(images).references.length, param);
  const [source] = videos;
  if (route === 'gemini' && source !== undefined)
    rejectField('inputs', 'cannot be used: the Gemini API extends no uploaded videos');
  const { negativePrompt, personGeneration, aspectRatio: ratio } = parseGeminiMetadata(request.metadata);
  if (source !== undefined && ratio !== undefined)
    rejectField('metadata.aspectRatio', `cannot be given: ${request.model} keeps the frame of the video`);
  // Silent videos cost less.
  if (route === 'gemini' && family.audio && request.metadata.generateAudio === false)
    rejectField('metadata.generateAudio', `is always on for ${request.model}`);
  const parameters = omitUndefined({
    sampleCount: 1,
    durationSeconds: seconds,
    // An extended video keeps its ratio.
    aspectRatio: source === undefined ? aspectRatio : undefined,
    resolution: family.takesResolution ? resolution : undefined,
    negativePrompt,
    personGeneration,
    ...(route === 'vertex' ? vertexParameters(request, family, options) : undefined),
  });
  const frames = toImageFields(images, family, request.model);
  const instance = omitUndefined({ prompt: request.prompt, ...frames, video: source && toImage(source) });
  return applyExtraFields({ instances: [instance], parameters }, request.extraFields);
}

/**
 * The billed parameters. The route is not known yet, so only common ones count; audio counts as on unless it is
 * switched off.
 */
export function veoBillingFactors(request: VideoRequest) {
  const family = familyOf(request.model);
  const { seconds, resolution } = resolveFrame(request, family);
  const body = applyExtraFields({ parameters: { durationSeconds: seconds, resolution } }, request.extraFields);
  const parameters = body.parameters as { readonly [key: string]: Json };
  const silent = !family.audio || request.metadata.generateAudio === false;
  return {
    seconds: parseSeconds(parameters.durationSeconds, 'duration'),
    factors: knownFactors({ resolution: parameters.resolution, size: request.size, audio: !silent }),
  };
}

/** Images and videos of a request in Base64. */
export const toEncodedMedia = ({ images, videos }: VideoRequest): EncodedMedia => ({
  images: toEncoded(images),
  videos: toEncoded(videos),
});

/** Files in Base64, because Google accepts no URL; those given by URL were downloaded before. */
export const toEncoded = (inputs: readonly RequestInput[] = []): readonly EncodedImage[] =>
  inputs.map((input) => {
    const file = fileOf(input);
    return defined({ data: toBase64(file), mimeType: file.mediaType, role: input.role });
  });

/** Stored data of a submit. `missing` counts consecutive 404s, because an adapter's only storage is its handle. */
interface VeoHandle {
  readonly route: VeoRoute;
  /** The name of the long-running operation. */
  readonly name: string;
  readonly missing?: NotFoundCount;
}

/** Number and time of consecutive 404s. */
export interface NotFoundCount {
  readonly sinceMs: number;
  readonly times: number;
}

/** Parses the count of 404s in a handle. */
export const parseMissing = (value: unknown): NotFoundCount | undefined => {
  const { sinceMs, times } = asObject(value) ?? {};
  return typeof sinceMs === 'number' && typeof times === 'number' ? { sinceMs, times } : undefined;
};

/** Parses the handle of an operation. */
export function parseHandle(handle: Json): VeoHandle {
  const { route, name, missing } = asObject(handle) ?? {};
  const known: VeoRoute = route === 'vertex' ? 'vertex' : 'gemini';
  return defined({ route: known, name: asText(name) ?? '', missing: parseMissing(missing) });
}

const toHandle = ({ route, name, missing }: VeoHandle): Json =>
  omitUndefined({ route, name, missing: missing && { ...missing } });

const GONE_AFTER_TIMES = 3;
const GONE_AFTER_MS = 60_000;

/**
 * Counts 404s. A single one proves nothing, because a new operation may not be replicated everywhere yet; three in a
 * row over a minute or more mean that it has expired or that its model was withdrawn. Until then only the count in the
 * handle changes.
 */
export function countNotFound(
  before: NotFoundCount | undefined,
  found: {
    readonly error: VendorError;
    readonly raw: Json;
    readonly nowMs: number;
    /** Returns the handle with the new count. */
    readonly toHandle: (missing: NotFoundCount) => Json;
  },
): QueryOutcome {
  const { error, raw, nowMs } = found;
  const missing = { sinceMs: before?.sinceMs ?? nowMs, times: (before?.times ?? 0) + 1 };
  if (missing.times >= GONE_AFTER_TIMES && nowMs - missing.sinceMs >= GONE_AFTER_MS) return failedTask(raw, error);
  return { state: 'IN_PROGRESS', raw, handle: found.toHandle(missing) };
}

/** A response may contain the video: eight seconds at 4k, plus a third for its Base64. */
export const MAX_RESPONSE_BYTES = 96 * 1024 ** 2;

/** A finished video: at a URL, in the customer's bucket, or as Base64 in the response. */
interface Film {
  readonly url?: string;
  readonly gcsUri?: string;
  readonly base64?: string;
  readonly mimeType?: string;
}

/** Whether a value is a URI of Cloud Storage. */
export const isStorageUri = (value: unknown): value is string =>
  typeof value === 'string' && /^gs:\/\/[a-z0-9._-]+\/.+$/.test(value);

/** `generatedSamples` in the Gemini API, `videos` in Vertex AI; relays and SDKs use the third name for either. */
const LISTS = ['generatedSamples', 'videos', 'generatedVideos'] as const;
const BYTE_MEMBERS = ['bytesBase64Encoded', 'encodedVideo', 'videoBytes'] as const;

/** The operation, which some relays put into an envelope. */
const operationIn = (json: unknown): UntrustedObject | undefined => {
  const outer = asObject(json);
  return outer && outer.name == null && outer.done == null ? (asObject(outer.data) ?? outer) : outer;
};

/** The object with the list of videos and, if some were filtered, the reasons. */
const holderIn = (response: UntrustedObject): unknown => response.generateVideoResponse ?? response;

const listIn = (holder: UntrustedObject): unknown =>
  LISTS.map((name) => holder[name]).find((list) => list !== undefined && list !== null);

function toFilm(entry: unknown): Film | undefined {
  const video = asObject(asObject(entry)?.video) ?? asObject(entry);
  const places = [video?.uri, video?.gcsUri, video?.url];
  const film: Film = defined({
    gcsUri: places.find(isStorageUri),
    url: places.map(asUrl).find((url) => url !== undefined),
    base64: BYTE_MEMBERS.map((name) => asText(video?.[name])).find((text) => text !== undefined),
    mimeType: asText(video?.mimeType) ?? asText(video?.encoding),
  });
  return (film.gcsUri ?? film.url ?? film.base64) ? film : undefined;
}

/** The first video of a finished operation. */
export function filmIn(operation: unknown): Film | undefined {
  const response = asObject(operationIn(operation)?.response);
  const holder = response && asObject(holderIn(response));
  const entries = (holder && asArray(listIn(holder))) ?? [];
  return entries.map(toFilm).find((film) => film !== undefined);
}

/**
 * The bytes of a video inside a response.
 * @throws PollFailed
 */
export function inlineFile(base64: string | undefined, mimeType: unknown, reply: BufferedResponse): ContentSource {
  if (base64 === undefined) throw unreadablePoll(reply);
  const bytes = Buffer.from(stripDataUrlPrefix(base64), 'base64');
  if (bytes.length === 0) throw new PollFailed('the upstream answered with something else than a video');
  return { kind: 'bytes', bytes, mimeType: asText(mimeType) ?? 'video/mp4' };
}

/** Operation, response, holder, list, entry, video. */
const MAX_DEPTH = 6;

/** Replaces Base64 by a marker, because a task's row must not hold megabytes. */
function withoutBytes(value: unknown, depth = 0): unknown {
  const entries = asArray(value);
  if (entries) return depth > MAX_DEPTH ? value : entries.map((entry) => withoutBytes(entry, depth + 1));
  const holder = asObject(value);
  if (!holder || depth > MAX_DEPTH) return value;
  const isBytes = (name: string, held: unknown): held is string =>
    typeof held === 'string' && (BYTE_MEMBERS as readonly string[]).includes(name);
  return Object.fromEntries(
    Object.entries(holder).map(([name, held]) => [
      name,
      isBytes(name, held) ? `[${held.length} characters of Base64]` : withoutBytes(held, depth + 1),
    ]),
  );
}

/** A filtered result is reported as a success without a video; its reasons are the only explanation in it. */
function parseFilteredResult(holder: UntrustedObject, raw: Json): QueryOutcome | undefined {
  const { raiMediaFilteredCount: count, raiMediaFilteredReasons: filterReasons } = holder;
  const reasons = (asArray(filterReasons) ?? [filterReasons]).map(asText).filter((reason) => reason !== undefined);
  if (reasons.length === 0 && !(Number(count) > 0)) return undefined;
  const message = reasons.join(' ') || 'The video was filtered out by the provider.';
  const cause = refusalCause(message) ?? 'result_refused';
  return failedTask(raw, { reason: 'policy', cause, code: 'RAI_MEDIA_FILTERED', message });
}

function parseResponse(operation: UntrustedObject, raw: Json): QueryOutcome {
  const film = filmIn(operation);
  if (film) return { state: 'SUCCESS', artifact: { kind: (film.gcsUri ?? film.url) ? 'protected' : 'inline' }, raw };
  const { response } = operation;
  if (response === undefined || response === null) return successWithoutArtifact(raw);
  // Damaged data in place of the video does not mean that the vendor has none: the next poll's response may be intact.
  const unreadable: QueryOutcome = { state: 'UNKNOWN', raw };
  const whole = asObject(response);
  const holder = whole && asObject(holderIn(whole));
  if (!whole || !holder) return unreadable;
  const filtered = parseFilteredResult(holder, raw) ?? parseFilteredResult(whole, raw);
  if (filtered) return filtered;
  const entries = listIn(holder) === undefined ? [] : asArray(listIn(holder));
  return entries?.length === 0 ? successWithoutArtifact(raw) : unreadable;
}

/**
 * Parses the response to one poll of an operation.
 * @throws PollFailed
 */
export function parseOperation(
  reply: BufferedResponse,
  handle: VeoHandle,
  context: Pick<AdapterContext, 'now'>,
): QueryOutcome {
  const raw = reply.json === undefined ? toRawResponse(reply) : (withoutBytes(reply.json) as Json);
  if (!isSuccessStatus(reply)) {
    const error = parseGoogleError(reply, context.now(), 'missing');
    if (error.reason === 'missing' && error.code === 'NOT_FOUND')
      return countNotFound(handle.missing, {
        error,
        raw,
        nowMs: context.now(),
        toHandle: (missing) => toHandle({ ...handle, missing }),
      });
    throw rejectedPoll(error);
  }
  const operation = operationIn(reply.json);
  // A proxy may omit the name; an empty object or another name is not a valid response.
  const name = operation?.name ?? (operation?.done == null ? undefined : handle.name);
  if (!operation || asId(name) !== handle.name) throw unreadablePoll(reply);
  const outcome = parseState(operation, raw);
  return handle.missing ? { handle: toHandle({ route: handle.route, name: handle.name }), ...outcome } : outcome;
}

/** `done` is absent while the operation runs; queued and running are not distinguished, and there is no percentage. */
function parseState(operation: UntrustedObject, raw: Json): QueryOutcome {
  const { done, error } = operation;
  if (done === undefined || done === null || done === false) return { state: 'IN_PROGRESS', raw };
  if (done !== true) return { state: 'UNKNOWN', raw };
  const reported = asObject(error) ?? (asText(error) === undefined ? undefined : { message: error });
  if (reported !== undefined && Object.values(reported).some((value) => value !== null))
    return toFailedOperation(reported, raw);
  if (reported === undefined && error !== undefined && error !== null && error !== '') return { state: 'UNKNOWN', raw };
  const outcome = parseResponse(operation, raw);
  if (outcome.error?.cause !== 'no_result') return outcome;
  const { name: _name, response: _response, metadata: _metadata, ...others } = operation;
  const { code, message } = readReason(others);
  return message === undefined ? outcome : toFailedOperation({ code, message }, raw);
}

/**
 * The name of a new operation; any other response is a refusal or ambiguous.
 * @throws OutboundError `mayHaveArrived`
 */
export function parseOperationSubmit(
  reply: BufferedResponse,
  route: VeoRoute,
  pattern: RegExp,
  context: Pick<AdapterContext, 'now'>,
): SubmitOutcome {
  const operation = operationIn(reply.json);
  const name = asId(operation?.name) ?? '';
  const isRefused = !isSuccessStatus(reply) || (name === '' && isErrorResponse(reply.json));
  if (isRefused) return refusedSubmit(parseGoogleError(reply, context.now(), 'model'), reply);
  return acceptedSubmit(pattern.test(name) ? name : undefined, reply, toHandle({ route, name }));
}
