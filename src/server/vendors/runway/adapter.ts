import { Type } from 'typebox';
import {
  edit,
  fromBothFrames,
  fromFirstFrame,
  type GenerationWay,
  generate,
  one,
  sortImages,
  upTo,
  waysOf,
} from '../../../contract/generation-ways.ts';
import { asObject, defined } from '../../../contract/objects.ts';
import { HOUR_MS } from '../../../contract/time-units.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, endpointUrl } from '../../upstreams/upstream.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import type { ModelCapability, PriceSource, QueryOutcome, VendorAdapter, VideoRequest } from '../adapter.ts';
import { API_KEY_CREDENTIALS } from '../credential-forms.ts';
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
  applyExtraFields,
  bearerHeaders,
  deleteJson,
  finishedTask,
  getJson,
  omitUndefined,
  parseIdHandle,
  postJson,
  publicFile,
  type RequestBody,
  refusedSubmit,
} from '../json-calls.ts';
import { assertMaxSize, toUrlOrDataUrl } from '../media.ts';
import { createMetadataParser, knownFactors, parseSeconds, rejectField, undatedModel } from '../metadata.ts';
import { addressOf, classifyByWords, isAboutTask, isRefusedSubmit, taskIdIn, unwrapTask } from '../relay-answer.ts';
import { classifyFailureWord, readTaskState } from '../task-state.ts';
import { asPercent, asText, isSuccessStatus, ownEntry, toRawResponse } from '../untrusted-json.ts';

/** Runway's developer API, version 2024-11-06. Source: docs.dev.runwayml.com/api and the official SDK's types. */

// Models and capabilities

interface RunwayModel {
  readonly title: string;
  readonly seconds: ModelCapability['seconds'];
  /** Frames in the vendor's notation, the default first: from text, and from an image. */
  readonly textRatios: readonly string[];
  readonly imageRatios: readonly string[];
  /** None: it edits videos. */
  readonly maxImages: 0 | 1 | 2;
  /** The vendor's own models have a seed, those it resells have audio and a negative prompt. */
  readonly isResold: boolean;
  readonly price: ModelCapability['price'];
}

const LANDSCAPE = '1280:720';
const HD = [LANDSCAPE, '720:1280'];
const SIX_FRAMES = [...HD, '1104:832', '832:1104', '960:960', '1584:672'];
const TO_FULL_HD = [...HD, '1920:1080', '1080:1920'];
const TWO_TO_TEN = { min: 2, max: 10, default: 5 };
const FOUR_SIX_EIGHT = { values: [4, 6, 8], default: 8 };

const perSecond = (quota: number, silent?: number): ModelCapability['price'] =>
  silent === undefined
    ? { per_call: 0, per_second: quota }
    : { per_call: 0, per_second: quota, multipliers: { audio: { false: silent } } };

const own = (title: string, textRatios: readonly string[], quota: number): RunwayModel => ({
  title,
  seconds: TWO_TO_TEN,
  textRatios,
  imageRatios: SIX_FRAMES,
  maxImages: 1,
  isResold: false,
  price: perSecond(quota),
});
const resold = (title: string, quota: number, silent: number): RunwayModel => ({
  title,
  seconds: FOUR_SIX_EIGHT,
  textRatios: TO_FULL_HD,
  imageRatios: TO_FULL_HD,
  maxImages: 2,
  isResold: true,
  price: perSecond(quota, silent),
});

/** Data URLs of the vendor, bytes; larger files are fetched by URL. */
const MAX_INLINE_BYTES = 5_000_000;
const INLINE = { maxBytes: MAX_INLINE_BYTES };
const MAX_KEYFRAMES = 5;
/** Videos to edit; the result keeps their length and frame. */
const editing = (title: string, quotaPerInputSecond: number): RunwayModel => ({
  title,
  seconds: { min: 1, max: 30, default: TWO_TO_TEN.default },
  textRatios: [],
  imageRatios: [],
  maxImages: 0,
  isResold: false,
  price: { lines: [{ per_input_second: quotaPerInputSecond }] },
});

const toSize = (ratio: string): string => ratio.replace(':', 'x');

/** Images are given by position: the first frame, and for some models the last one. */
function toWays({ textRatios, maxImages }: RunwayModel): readonly GenerationWay[] {
  if (maxImages === 0)
    return [
      edit([one('video', 'source'), upTo(MAX_KEYFRAMES, 'image', 'keyframe', INLINE)], { seconds: [], ratios: [] }),
    ];
  return [
    ...(textRatios.length > 0 ? [generate([], { sizes: textRatios.map(toSize) })] : []),
    fromFirstFrame(INLINE),
    ...(maxImages > 1 ? [fromBothFrames(INLINE)] : []),
  ];
}

const LISTED: PriceSource = {
  source: 'https://docs.dev.runwayml.com/guides/pricing',
  confirmedOn: null,
  note: 'Credits a second as of 2025, one cent each; no later copy of the page was found.',
};

/** Prices follow the vendor's credits per second, one cent each. */
const MODELS: Readonly<Record<string, RunwayModel>> = {
  'gen4.5': own('Runway Gen-4.5', HD, 60_000),
  gen4_turbo: own('Runway Gen-4 Turbo', [], 25_000),
  'veo3.1': resold('Veo 3.1 by Runway', 200_000, 0.5),
  'veo3.1_fast': resold('Veo 3.1 Fast by Runway', 75_000, 0.666667),
  aleph2: editing('Runway Aleph 2', 75_000),
};

const modelOf = (id: string): RunwayModel | undefined => ownEntry(MODELS, undatedModel(id));

function toCapability([id, model]: readonly [string, RunwayModel]): ModelCapability {
  return {
    id,
    title: model.title,
    seconds: model.seconds,
    sizes: model.imageRatios.map(toSize),
    ratios: [],
    resolutions: [],
    modes: [],
    audio: model.isResold,
    negativePrompt: model.isResold,
    seed: !model.isResold,
    ...waysOf(toWays(model)),
    price: model.price,
    listed: LISTED,
  };
}

// Request mapping

const parseMetadata = createMetadataParser(
  Type.Object({
    seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 4_294_967_295 })),
    audio: Type.Optional(Type.Boolean()),
    negativePrompt: Type.Optional(Type.String({ maxLength: 1_000 })),
    contentModeration: Type.Optional(Type.Object({ publicFigureThreshold: Type.Optional(Type.Enum(['auto', 'low'])) })),
  }),
);

/** One image is sent unchanged, two with their positions. */
function toPromptImage({ images, model }: VideoRequest, maxImages: number): RequestBody[string] | undefined {
  if (images.length > maxImages) rejectField('images', `are more than ${model} takes`);
  for (const image of images) assertMaxSize(image, MAX_INLINE_BYTES, 'image');
  const sorted = sortImages(images);
  const [first, last] = [sorted.first, sorted.last].map((image) => image && toUrlOrDataUrl(image));
  if (first === undefined || last === undefined) return first;
  return [
    { uri: first, position: 'first' },
    { uri: last, position: 'last' },
  ];
}

/** `1280:720` from `1280x720`; the vendor has no other field for resolution and ratio. */
function toRatio(size: string | undefined, offered: readonly string[]): string {
  if (size === undefined) return offered[0] ?? LANDSCAPE;
  const ratio = size.replace(/\s*[x*×]\s*/i, ':');
  if (offered.length > 0 && !offered.includes(ratio))
    rejectField('size', `must be one of ${offered.map(toSize).join(', ')}`);
  return ratio;
}

/** The body of `POST /v1/video_to_video` for an edit; images are keyframes of the result. */
function toEditBody(request: VideoRequest): RequestBody {
  const { model, prompt, images, seconds, size } = request;
  if (seconds !== undefined) rejectField('duration', `cannot be given: ${model} keeps the length of the video`);
  if (size !== undefined) rejectField('size', `cannot be given: ${model} keeps the frame of the video`);
  const [source] = request.videos ?? [];
  if (source === undefined) return rejectField('inputs', `must hold the video that ${model} edits`);
  const { seed, contentModeration } = parseMetadata(request.metadata);
  const keyframes = images.map((image) => ({ uri: toUrlOrDataUrl(image), seconds: image.at ?? 0 }));
  const body = omitUndefined({
    model,
    videoUri: toUrlOrDataUrl(source),
    promptText: prompt === '' ? undefined : prompt,
    keyframes: keyframes.length === 0 ? undefined : keyframes,
    seed,
    contentModeration: contentModeration && omitUndefined({ ...contentModeration }),
  });
  return applyExtraFields(body, request.extraFields);
}

const isEdit = ({ operation, model }: VideoRequest): boolean => operation === 'edit' || modelOf(model)?.maxImages === 0;

/** The vendor's body; models that are not in the table are only checked by the vendor. */
function toBody(request: VideoRequest): RequestBody {
  const { model, seconds, size, prompt } = request;
  if (request.mode !== undefined) rejectField('mode', 'is not known to this model');
  const known = modelOf(model);
  const isFromText = request.images.length === 0;
  if (known?.textRatios.length === 0 && isFromText) rejectField('image', `is needed: ${model} begins with an image`);
  const duration = seconds ?? known?.seconds.default ?? TWO_TO_TEN.default;
  if (known) checkSeconds(duration, known.seconds, model);
  const { seed, audio, negativePrompt, contentModeration } = parseMetadata(request.metadata);
  const body = omitUndefined({
    model,
    promptImage: toPromptImage(request, known?.maxImages ?? 2),
    promptText: prompt === '' ? undefined : prompt,
    ratio: toRatio(size, (isFromText ? known?.textRatios : known?.imageRatios) ?? []),
    duration,
    seed: known?.isResold ? undefined : seed,
    audio: known?.isResold === false ? undefined : audio,
    negativePrompt: known?.isResold === false ? undefined : negativePrompt,
    contentModeration: known?.isResold || !contentModeration ? undefined : omitUndefined({ ...contentModeration }),
  });
  return applyExtraFields(body, request.extraFields);
}

function checkSeconds(duration: number, offered: ModelCapability['seconds'], model: string): void {
  if ('values' in offered && !offered.values.includes(duration))
    rejectField('duration', `must be ${offered.values.join(', ')} seconds for ${model}`);
  if (!('values' in offered) && (duration < offered.min || duration > offered.max))
    rejectField('duration', `must be ${offered.min} to ${offered.max} seconds for ${model}`);
}

// Status mapping

/** A list of URLs; relays write them in the same members as other vendors. */
const ADDRESS_PLACES = ['output'];

/**
 * Parses the response to a poll.
 * @throws PollFailed if it says nothing about the task `id`
 */
function parseTask(response: BufferedResponse, id: string): QueryOutcome {
  const task = unwrapTask(response.json);
  if (!task || asText(task.status) === undefined || !isAboutTask(task, id)) throw unreadablePoll(response);
  const raw = toRawResponse(response);
  const state = readTaskState(task.status);
  if (state === 'FAILURE') {
    const { code, message = `The upstream calls the task ${String(task.status)}.` } = readReason(task, response.json);
    const meaning = classifyFailure(code) ?? classifyFailureWord(task.status) ?? classifyByWords({ code, message });
    return failedTask(raw, { ...(meaning ?? UNKNOWN_FAILURE), code, message });
  }
  if (state !== 'SUCCESS') return defined({ state, progress: asPercent(task.progress), raw });
  return finishedTask(addressOf(task, ADDRESS_PLACES), response);
}

const headersOf = (context: AdapterContext) => ({ ...bearerHeaders(context), 'x-runway-version': '2024-11-06' });
const taskUrl = (id: string, context: AdapterContext) => endpointUrl(context, `/v1/tasks/${encodeURIComponent(id)}`);

/** Adapter for Runway. Tasks carry no id of the client, so a lost one cannot be found again: no `findTask`. */
export const runway: VendorAdapter = {
  name: 'runway',
  title: 'Runway',
  defaultBaseUrl: 'https://api.dev.runwayml.com',
  credentials: API_KEY_CREDENTIALS,
  models: Object.entries(MODELS).map(toCapability),
  metadata: parseMetadata.schema,
  formFields: {
    seconds: 'duration',
    size: 'size',
    audio: 'metadata.audio',
    seed: 'metadata.seed',
    negative_prompt: 'metadata.negativePrompt',
  },
  example: {
    model: 'gen4.5',
    prompt: 'a lantern floats down a canal',
    duration: 5,
    size: '1280x720',
    metadata: { seed: 7 },
  },
  // Valid for at least a day; polling again returns new URLs.
  artifactUrlLifetimeMs: 23 * HOUR_MS,

  inlineBytes: { video: MAX_INLINE_BYTES },
  billingFactors(request) {
    if (isEdit(request)) {
      toEditBody(request);
      return { seconds: parseSeconds(request.inputSeconds ?? TWO_TO_TEN.default, 'duration'), factors: {} };
    }
    const { duration, ratio, audio } = toBody(request);
    // Models with audio generate it unless it is switched off.
    const hasAudio = modelOf(request.model)?.isResold ? audio !== false : undefined;
    const factors = knownFactors({ size: toSize(asText(ratio) ?? ''), audio: hasAudio });
    return { seconds: parseSeconds(duration, 'duration'), factors };
  },

  async submit(request, context) {
    const from = isEdit(request) ? 'video' : request.images.length === 0 ? 'text' : 'image';
    const body = isEdit(request) ? toEditBody(request) : toBody(request);
    const response = await postJson(context, endpointUrl(context, `/v1/${from}_to_video`), headersOf(context), body);
    const task = unwrapTask(response.json);
    if (isRefusedSubmit(response, task)) return refusedSubmit(parseError(response, context.now()), response);
    return acceptedSubmit(isSuccessStatus(response) ? taskIdIn(task) : undefined, response);
  },

  async query(handle, context) {
    const id = parseIdHandle(handle);
    const response = await getJson(context, taskUrl(id, context), headersOf(context));
    if (isSuccessStatus(response)) return parseTask(response, id);
    const error = parseError(response, context.now());
    // Cancelled and deleted tasks cannot be fetched; a 404 without the vendor's own text may be a gateway's.
    const isGone = response.status === 404 && asText(asObject(response.json)?.error) !== undefined;
    if (isGone) return failedTask(toRawResponse(response), { ...error, reason: 'missing' });
    throw rejectedPoll(error);
  },

  content: async (_handle, raw) => publicFile(addressOf(unwrapTask(raw), ADDRESS_PLACES)),

  async deleteTask(handle, context) {
    await deleteJson(context, taskUrl(parseIdHandle(handle), context), headersOf(context));
  },

  async checkCredentials(context) {
    const response = await getJson(context, endpointUrl(context, '/v1/organization'), headersOf(context));
    return isSuccessStatus(response) ? { ok: true } : { ok: false, error: parseError(response, context.now()) };
  },
};

/** Failures of tasks, by the longest prefix of their code (docs.dev.runwayml.com/errors/task-failures). */
export const FAILURES: Readonly<Record<string, ErrorClass>> = {
  SAFETY: { reason: 'policy' },
  'INPUT_PREPROCESSING.SAFETY': { reason: 'policy' },
  INPUT_PREPROCESSING: { reason: 'capacity' },
  ASSET: { reason: 'user', cause: 'picture_unsuitable' },
  'SAFETY.INPUT.TEXT': { reason: 'policy', cause: 'prompt_refused' },
  'SAFETY.INPUT.IMAGE': { reason: 'policy', cause: 'picture_refused' },
  'SAFETY.OUTPUT': { reason: 'policy', cause: 'result_refused' },
  INTERNAL: { reason: 'capacity' },
  THIRD_PARTY: { reason: 'capacity' },
  'THIRD_PARTY.INPUT_VALIDATION': { reason: 'user' },
};

function classifyFailure(code: string): ErrorClass | undefined {
  const parts = code.split('.');
  const beginnings = parts.map((_, index) => parts.slice(0, parts.length - index).join('.'));
  return beginnings.map((beginning) => ownEntry(FAILURES, beginning)).find((found) => found !== undefined);
}

/**
 * Errors have a text and no code, so only their text distinguishes an empty account from a withheld model
 * (docs.dev.runwayml.com/errors).
 */
const REFUSALS: readonly (readonly [pattern: RegExp, meaning: ErrorClass])[] = [
  [/enough credits/i, { reason: 'billing' }],
  [/model .*(?:not available|not found)/i, { reason: 'model' }],
  [/moderation|safety/i, { reason: 'policy' }],
];

function parseError(response: BufferedResponse, nowMs: number): VendorError {
  const { code, message } = readReason(response.json, unwrapTask(response.json));
  const meaning = REFUSALS.find(([pattern]) => pattern.test(message ?? ''))?.[1] ?? classifyByWords({ code, message });
  return toVendorError(response, nowMs, defined({ code, message, meaning }));
}
