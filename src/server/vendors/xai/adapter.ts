import { Type } from 'typebox';
import {
  edit,
  extend,
  FROM_TEXT,
  fromBothFrames,
  fromFirstFrame,
  type GenerationWay,
  generate,
  matchAspectRatio,
  one,
  range,
  some,
  sortImages,
  upTo,
  waysOf,
} from '../../../contract/generation-ways.ts';
import { asObject, defined, type UntrustedObject } from '../../../contract/objects.ts';
import type { VideoPrice } from '../../../contract/pricing.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, endpointUrl, type VendorError } from '../../upstreams/upstream.ts';
import {
  API_KEY_CREDENTIALS,
  createMetadataParser,
  knownFactors,
  type MediaInput,
  type ModelCapability,
  type PriceSource,
  parseSeconds,
  type QueryOutcome,
  rejectField,
  toMediaUrl,
  usd,
  type VendorAdapter,
  type VideoRequest,
} from '../adapter.ts';
import {
  acceptedSubmit,
  applyExtraFields,
  bearerHeaders,
  classifyByWords,
  type ErrorClass,
  failedTask,
  fileUrlOf,
  finishedTask,
  getJson,
  isRefusedSubmit,
  omitUndefined,
  parseIdHandle,
  postJson,
  publicFile,
  type RequestBody,
  readReason,
  refusedSubmit,
  rejectedPoll,
  taskIdIn,
  toRawResponse,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
  unwrapTask,
} from '../json-calls.ts';
import { asId, asPercent, asText, classifyFailureWord, isSuccessStatus, readTaskState } from '../untrusted-json.ts';

/** Models of xAI's video API (docs.x.ai/developers/model-capabilities/video). */

const SECONDS = { min: 1, max: 15, default: 5 };
/** Aspect ratios of both models. */
const XAI_RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3'];
/** From references, at most 720p. */
const HD = ['720p', '480p'];

const MAX_REFERENCES = 7;
const MAX_KEYFRAMES = 4;
const MAX_AUDIOS = 3;
const IMAGE = { maxBytes: 20_000_000 };
/** Largest audio sent by value, bytes. */
const MAX_AUDIO_BYTES = 10_000_000;
/** Inputs to edit have at most 8.7 seconds, those to extend at most 15; extensions add two to ten. */
const TO_EDIT = one('video', 'source', { maxSeconds: 8 });
const TO_EXTEND = one('video', 'source', { maxSeconds: 15 });
const ADDED_SECONDS = range(2, 10);

const AUDIO = { maxBytes: MAX_AUDIO_BYTES, maxSeconds: 15 };
const references = upTo(MAX_REFERENCES, 'image', 'reference', IMAGE);
const CHANGES: readonly GenerationWay[] = [
  edit([TO_EDIT], { seconds: [], sizes: [], ratios: [], resolutions: [] }),
  extend([TO_EXTEND], { seconds: ADDED_SECONDS, sizes: [], ratios: [], resolutions: [] }),
];

const bySecond = (dollars: Readonly<Record<string, number>>): VideoPrice => ({
  lines: Object.entries(dollars).map(([resolution, rate]) => ({
    when: { resolution: [resolution] },
    per_second: usd(rate),
    per_input_image: usd(0.002),
  })),
});

const listed = (note: string): PriceSource => ({
  source: 'https://docs.x.ai/developers/models',
  confirmedOn: '2026-11-28',
  note,
});

const toCapability = (
  id: string,
  title: string,
  rest: Pick<ModelCapability, 'resolutions' | 'ways' | 'images' | 'price' | 'listed'>,
): ModelCapability => ({
  id,
  title,
  seconds: SECONDS,
  sizes: rest.resolutions,
  ratios: XAI_RATIOS,
  modes: [],
  audio: false,
  negativePrompt: false,
  seed: false,
  ...rest,
});

/** Sound is always generated. */
const XAI_MODELS: readonly ModelCapability[] = [
  toCapability('grok-imagine-video-1.5', 'Grok Imagine Video 1.5', {
    resolutions: [...HD, '1080p'],
    ...waysOf([
      FROM_TEXT,
      fromFirstFrame(IMAGE),
      fromBothFrames(IMAGE),
      generate([one('image', 'first_frame', IMAGE), some(MAX_KEYFRAMES, 'image', 'keyframe', IMAGE)]),
      generate([some(MAX_REFERENCES, 'image', 'reference', IMAGE), upTo(MAX_AUDIOS, 'audio', 'reference', AUDIO)], {
        resolutions: HD,
      }),
      ...CHANGES,
    ]),
    price: bySecond({ '720p': 0.14, '480p': 0.08, '1080p': 0.25 }),
    listed: listed('Quoted by muapi.ai; that they are the vendor’s own, and the price of an image, by docs.apiyi.com.'),
  }),
  toCapability('grok-imagine-video', 'Grok Imagine Video', {
    resolutions: HD,
    ...waysOf([FROM_TEXT, fromFirstFrame(IMAGE), generate([{ ...references, min: 1 }]), ...CHANGES]),
    price: bySecond({ '720p': 0.07, '480p': 0.05 }),
    listed: listed('Quoted by docs.krea.ai and docs.apiyi.com, which agree.'),
  }),
];

/**
 * xAI's videos (docs.x.ai/developers/model-capabilities/video): three endpoints start requests, one returns them. Sources:
 * that page, and the provider of the AI SDK (@ai-sdk/xai 5.0).
 */

// Request mapping

const parseMetadata = createMetadataParser(
  Type.Object({
    aspect_ratio: Type.Optional(Type.Enum(XAI_RATIOS)),
    resolution: Type.Optional(Type.Enum(['480p', '720p', '1080p'])),
    user: Type.Optional(Type.String({ maxLength: 256 })),
  }),
);

const DEFAULT_SECONDS = 5;
const DEFAULT_ADDED_SECONDS = 6;
const DEFAULT_RESOLUTION = '720p';

const modelOf = (id: string) => XAI_MODELS.find((model) => model.id === id);
const toFile = (media: MediaInput) => ({ url: toMediaUrl(media) });

/** `720p`, or a frame in pixels of one of the ratios. */
function parseSize(size: string | undefined, model: string) {
  if (size === undefined) return {};
  const resolutions = modelOf(model)?.resolutions ?? ['480p', '720p', '1080p'];
  const resolution = resolutions.find((each) => each === size.toLowerCase());
  const ratio = matchAspectRatio(size, XAI_RATIOS);
  if (resolution === undefined && ratio === undefined)
    rejectField('size', `must be one of ${resolutions.join(', ')}, or width x height of ${XAI_RATIOS.join(', ')}`);
  return { resolution, ratio };
}

type Endpoint = 'generations' | 'edits' | 'extensions';
const ENDPOINTS: Readonly<Record<string, Endpoint>> = { edit: 'edits', extend: 'extensions' };
const endpointOf = ({ operation = 'generate' }: VideoRequest): Endpoint => ENDPOINTS[operation] ?? 'generations';

/** An edit keeps length and frame of its source, an extension its frame. */
function toChangeBody(request: VideoRequest, endpoint: Endpoint): RequestBody {
  const { model, prompt, seconds, size } = request;
  const [source] = request.videos ?? [];
  if (source === undefined) return rejectField('inputs', `must hold the video to ${request.operation ?? 'edit'}`);
  const { user, resolution, aspect_ratio: ratio } = parseMetadata(request.metadata);
  for (const [field, given] of Object.entries({
    size,
    'metadata.resolution': resolution,
    'metadata.aspect_ratio': ratio,
  }))
    if (given !== undefined) rejectField(field, `cannot be given: ${model} keeps the frame of the video`);
  if (endpoint === 'edits' && seconds !== undefined)
    rejectField('duration', `cannot be given: ${model} keeps the length of the video`);
  return omitUndefined({
    model,
    prompt,
    video: toFile(source),
    duration: endpoint === 'extensions' ? (seconds ?? DEFAULT_ADDED_SECONDS) : undefined,
    user: endpoint === 'edits' ? user : undefined,
  });
}

function toGenerationBody(request: VideoRequest): RequestBody {
  const { model, prompt, images, audios = [], seconds = DEFAULT_SECONDS } = request;
  const { first, last, references } = sortImages(images);
  const keyframes = images.filter(({ role }) => role === 'keyframe');
  const late = keyframes.find(({ at = 0 }) => at <= 0 || at >= seconds);
  if (late !== undefined) rejectField('inputs', `must have their keyframes between 0 and ${seconds} seconds`);
  const metadata = parseMetadata(request.metadata);
  const size = parseSize(request.size, model);
  return omitUndefined({
    model,
    prompt,
    duration: seconds,
    aspect_ratio: metadata.aspect_ratio ?? size.ratio,
    resolution: metadata.resolution ?? size.resolution ?? DEFAULT_RESOLUTION,
    image: first && toFile(first),
    last_frame: last && toFile(last),
    keyframes:
      keyframes.length === 0
        ? undefined
        : keyframes.map((each) => ({ image: toFile(each), timestamp_s: each.at ?? 0 })),
    reference_images: references.length === 0 ? undefined : references.map(toFile),
    reference_audios: audios.length === 0 ? undefined : audios.map(toFile),
    user: metadata.user,
  });
}

function toBody(request: VideoRequest): RequestBody {
  if (request.mode !== undefined) rejectField('mode', 'is not known to this model');
  const endpoint = endpointOf(request);
  const body = endpoint === 'generations' ? toGenerationBody(request) : toChangeBody(request, endpoint);
  return applyExtraFields(body, request.extraFields);
}

// Status mapping

/**
 * Parses the response to a poll; a task's own response does not repeat its id.
 * @throws PollFailed if it says nothing about the task
 */
function parseTask(response: BufferedResponse): QueryOutcome {
  const task = unwrapTask(response.json);
  // A finished request may lack its status.
  const isBare = task?.status == null && asObject(task?.video) !== undefined;
  const word = isBare ? 'done' : asText(task?.status);
  const raw = toRawResponse(response);
  // The vendor answers 202 while it works, at times without a body.
  const isSilent = task === undefined ? response.text.trim() === '' : task.status == null;
  if (response.status === 202 && word === undefined && isSilent) return { state: 'IN_PROGRESS', raw };
  if (!task || word === undefined) throw unreadablePoll(response);
  const state = readTaskState(word);
  if (state === 'FAILURE') return toFailure(task, response, word);
  if (state !== 'SUCCESS') return defined({ state, progress: asPercent(task.progress), raw });
  const video = asObject(task.video);
  if (video?.respect_moderation === false)
    return failedTask(raw, { reason: 'policy', cause: 'result_refused', code: 'respect_moderation' });
  return finishedTask(video === undefined ? fileUrlOf(task, ['video']) : video.url, response);
}

function toFailure(task: UntrustedObject, response: BufferedResponse, word: string): QueryOutcome {
  const { code, message = `The upstream calls the task ${word}.` } = readReason(task.error, task, response.json);
  const meaning = classifyByWords({ code, message }) ?? classifyFailureWord(word) ?? UNKNOWN_FAILURE;
  return failedTask(toRawResponse(response), { ...meaning, code, message });
}

const urlOf = (context: AdapterContext, path: string): string => endpointUrl(context, `/v1/videos/${path}`);

/** Adapter for xAI. Requests carry no id of the client, so a lost one cannot be found again: no `findTask`. */
export const xai: VendorAdapter = {
  name: 'xai',
  title: 'xAI Grok Imagine',
  defaultBaseUrl: 'https://api.x.ai',
  credentials: API_KEY_CREDENTIALS,
  models: XAI_MODELS,
  unlistedWays: () => XAI_MODELS[0]?.ways ?? [],
  metadata: parseMetadata.schema,
  droppedMetadata: (request) => (endpointOf(request) === 'extensions' ? ['user'] : []),
  formFields: {
    seconds: 'duration',
    size: 'size',
    ratio: 'metadata.aspect_ratio',
    resolution: 'metadata.resolution',
  },
  example: {
    model: 'grok-imagine-video-1.5',
    prompt: 'a rocket rises from red dunes',
    duration: 5,
    metadata: { aspect_ratio: '16:9', resolution: '720p' },
  },
  inlineBytes: { audio: MAX_AUDIO_BYTES },

  billingFactors(request) {
    // The result of an edit is as long as its source.
    const { duration = request.inputSeconds ?? DEFAULT_SECONDS, resolution = DEFAULT_RESOLUTION } = toBody(request);
    return { seconds: parseSeconds(duration, 'duration'), factors: knownFactors({ resolution, size: request.size }) };
  },

  async submit(request, context) {
    const url = urlOf(context, endpointOf(request));
    const response = await postJson(context, url, bearerHeaders(context), toBody(request));
    const task = unwrapTask(response.json);
    if (isRefusedSubmit(response, task)) return refusedSubmit(parseError(response, context.now()), response);
    return acceptedSubmit(isSuccessStatus(response) ? (asId(task?.request_id) ?? taskIdIn(task)) : undefined, response);
  },

  async query(handle, context) {
    const url = urlOf(context, encodeURIComponent(parseIdHandle(handle)));
    const response = await getJson(context, url, bearerHeaders(context));
    if (isSuccessStatus(response)) return parseTask(response);
    const error = parseError(response, context.now());
    const isGone = response.status === 404 && error.isPage !== true;
    if (isGone) return failedTask(toRawResponse(response), { ...error, reason: 'missing' });
    // A film that the vendor's content check withheld is a 400 of the poll, too.
    const isWithheld = response.status === 400 && error.reason === 'policy';
    if (isWithheld) return failedTask(toRawResponse(response), { ...error, cause: 'result_refused' });
    throw rejectedPoll(error);
  },

  content: async (_handle, raw) => publicFile(fileUrlOf(unwrapTask(raw), ['video'])),

  async checkCredentials(context) {
    const response = await getJson(context, endpointUrl(context, '/v1/models'), bearerHeaders(context));
    return isSuccessStatus(response) ? { ok: true } : { ok: false, error: parseError(response, context.now()) };
  },
};

/** Classified by code and text, of which the vendor documents no list, otherwise by HTTP status. */
const MEANINGS: readonly (readonly [pattern: RegExp, meaning: ErrorClass])[] = [
  [/available credits|insufficient.balance|spending limit/i, { reason: 'billing' }],
  [/model.*(?:not.found|does not exist)/i, { reason: 'model' }],
];

/** `{code, error}`. */
function parseError(response: BufferedResponse, nowMs: number): VendorError {
  const { code, message } = readReason(response.json, unwrapTask(response.json));
  const meaning = MEANINGS.find(([pattern]) => pattern.test(`${code} ${message}`))?.[1];
  return toVendorError(
    response,
    nowMs,
    defined({ code, message, meaning: meaning ?? classifyByWords({ code, message }) }),
  );
}
