import { Type } from 'typebox';
import { matchAspectRatio, sortImages } from '../../../contract/generation-ways.ts';
import { asObject, defined } from '../../../contract/objects.ts';
import { HOUR_MS } from '../../../contract/time-units.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, endpointUrl, type VendorError } from '../../upstreams/upstream.ts';
import {
  API_KEY_CREDENTIALS,
  createMetadataParser,
  knownFactors,
  type MediaFile,
  type MediaInput,
  type ModelCapability,
  parseSeconds,
  type QueryOutcome,
  type RequestJson,
  rejectField,
  toMediaUrl,
  type VendorAdapter,
  type VideoRequest,
} from '../adapter.ts';
import {
  acceptedSubmit,
  applyExtraFields,
  bearerHeaders,
  classifyByWords,
  deleteJson,
  type ErrorClass,
  failedTask,
  fileUrlOf,
  finishedTask,
  getJson,
  isAboutTask,
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
  toMultipart,
  toRawResponse,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
  unwrapTask,
} from '../json-calls.ts';
import {
  asPercent,
  asText,
  asUrl,
  classifyFailureWord,
  isSuccessStatus,
  ownEntry,
  readTaskState,
} from '../untrusted-json.ts';
import {
  type FrameChoice,
  MAX_INLINE_BYTES,
  modelOf,
  RUNWAY_MODELS,
  type RunwayModel,
  toSize,
  UNLISTED_WAYS,
  UPLOAD_BYTES,
} from './models.ts';

/** Runway's developer API, version 2024-11-06. Source: docs.dev.runwayml.com/api and the official SDK's types. */

// Request mapping

const parseMetadata = createMetadataParser(
  Type.Object({
    seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 4_294_967_295 })),
    audio: Type.Optional(Type.Boolean()),
    negativePrompt: Type.Optional(Type.String({ maxLength: 1_000 })),
    contentModeration: Type.Optional(Type.Object({ publicFigureThreshold: Type.Optional(Type.Enum(['auto', 'low'])) })),
  }),
);

const DEFAULT_SECONDS = 5;
const LANDSCAPE = '1280:720';

/** One image is sent unchanged, two with their positions. */
function toPromptImage({ images, model }: VideoRequest, maxFrames: number): RequestBody[string] | undefined {
  const sorted = sortImages(images);
  const frames = [sorted.first, sorted.last].filter((image) => image !== undefined);
  if (frames.length > maxFrames) rejectField('images', `are more than ${model} takes`);
  const [first, last] = frames.map(toMediaUrl);
  if (first === undefined || last === undefined) return first;
  return [
    { uri: first, position: 'first' },
    { uri: last, position: 'last' },
  ];
}

/** The vendor's fields for a size, which may be a frame, a resolution, or a frame of one of the ratios. */
function toFrameFields(size: string | undefined, choice: FrameChoice | undefined): Fields {
  if (choice === undefined) return { ratio: size === undefined ? LANDSCAPE : size.replace(/\s*[x*×]\s*/i, ':') };
  const { frames, ratios = [], resolutions = [], ratioWord } = choice;
  if (frames !== undefined) {
    const ratio = size === undefined ? frames[0] : size.replace(/\s*[x*×]\s*/i, ':');
    if (ratio === undefined || !frames.includes(ratio))
      return rejectField('size', `must be one of ${frames.map(toSize).join(', ')}`);
    return { ratio };
  }
  const resolution = resolutions.find((each) => each === size?.toLowerCase());
  const found = size === undefined || resolution !== undefined ? undefined : matchAspectRatio(size, ratios);
  if (size !== undefined && resolution === undefined && found === undefined)
    rejectField('size', `must be one of ${[...resolutions, ...ratios].join(', ')}`);
  const named = resolution ?? resolutions[0];
  if (ratioWord === 'auto') return { ratio: `auto_${named}` };
  return { ratio: ratioWord ?? found ?? ratios[0], resolution: named };
}
type Fields = Readonly<Record<string, RequestJson | undefined>>;

function toReferenceFields({ images, videos = [], audios = [] }: VideoRequest): Fields {
  const toUris = (inputs: readonly MediaInput[]) => inputs.map((input) => ({ uri: toMediaUrl(input) }));
  const typed = (type: string, inputs: readonly MediaInput[]) => toUris(inputs).map((input) => ({ type, ...input }));
  const given = <T>(list: readonly T[]): readonly T[] | undefined => (list.length === 0 ? undefined : list);
  return {
    references: given(toUris(sortImages(images).references)),
    referenceVideos: given(typed('video', videos)),
    referenceAudio: given(typed('audio', audios)),
  };
}

/** Fields of `metadata` that the model has. */
function toOptions(request: VideoRequest, known: RunwayModel | undefined): Fields {
  const { seed, audio, negativePrompt, contentModeration } = parseMetadata(request.metadata);
  const given = {
    seed,
    audio,
    negativePrompt,
    contentModeration: contentModeration && omitUndefined({ ...contentModeration }),
  };
  return Object.fromEntries(
    Object.entries(given).filter(([name]) => known === undefined || known.options.some((option) => option === name)),
  );
}

/** The body of `POST /v1/video_to_video`; images of an edit guide it at a second, or are references. */
function toChangeBody(request: VideoRequest): RequestBody {
  const { model, prompt, images, seconds, size, operation = 'edit' } = request;
  const known = modelOf(model);
  if (operation === 'edit' && seconds !== undefined)
    rejectField('duration', `cannot be given: ${model} keeps the length of the video`);
  if (size !== undefined) rejectField('size', `cannot be given: ${model} keeps the frame of the video`);
  const [source] = request.videos ?? [];
  if (source === undefined) return rejectField('inputs', `must hold the video that ${model} edits`);
  const keyframes = images
    .filter(({ role }) => role === 'keyframe')
    .map((image) => ({ uri: toMediaUrl(image), seconds: image.at ?? 0 }));
  const { references } = toReferenceFields({ ...request, videos: [] });
  const body = omitUndefined({
    model,
    [known?.source ?? 'videoUri']: toMediaUrl(source),
    promptText: prompt === '' ? undefined : prompt,
    keyframes: keyframes.length === 0 ? undefined : keyframes,
    references,
    mode: known?.extends ? operation : undefined,
    duration: operation === 'extend' ? (seconds ?? known?.seconds.default) : undefined,
    ...toOptions(request, known),
  });
  return applyExtraFields(body, request.extraFields);
}

type Endpoint = 'video' | 'text' | 'image';

function endpointOf({ operation = 'generate', model, images }: VideoRequest): Endpoint {
  const known = modelOf(model);
  if (operation !== 'generate' || (known !== undefined && !known.text && !known.image)) return 'video';
  const { first, last } = sortImages(images);
  return first === undefined && last === undefined ? 'text' : 'image';
}

/** The vendor's body; models that are not in the table are only checked by the vendor. */
function toBody(request: VideoRequest): RequestBody {
  const { model, seconds, size, prompt } = request;
  if (request.mode !== undefined) rejectField('mode', 'is not known to this model');
  const known = modelOf(model);
  const endpoint = endpointOf(request);
  if (endpoint === 'video') return toChangeBody(request);
  if (known !== undefined && endpoint === 'text' && !known.text)
    rejectField('image', `is needed: ${model} begins with an image`);
  const duration = seconds ?? known?.seconds.default ?? DEFAULT_SECONDS;
  if (known) checkSeconds(duration, known.seconds, model);
  const body = omitUndefined({
    model,
    ...(endpoint === 'image'
      ? { promptImage: toPromptImage(request, known?.maxFrames ?? 2) }
      : toReferenceFields(request)),
    promptText: prompt === '' ? undefined : prompt,
    ...toFrameFields(size, endpoint === 'text' ? known?.text : known?.image),
    duration,
    ...toOptions(request, known),
  });
  return applyExtraFields(body, request.extraFields);
}

function checkSeconds(duration: number, offered: ModelCapability['seconds'], model: string): void {
  if ('values' in offered && !offered.values.includes(duration))
    rejectField('duration', `must be ${offered.values.join(', ')} seconds for ${model}`);
  if (!('values' in offered) && (duration < offered.min || duration > offered.max))
    rejectField('duration', `must be ${offered.min} to ${offered.max} seconds for ${model}`);
}

// Uploads

/** URIs are valid for 24 hours (docs.dev.runwayml.com/assets/uploads). */
const URI_LIFETIME_MS = 23 * HOUR_MS;

/** Requests an upload URL in the vendor's storage and posts the file there as a form. */
async function sendUpload(file: Required<MediaFile>, context: AdapterContext) {
  const url = endpointUrl(context, '/v1/uploads');
  const asked = await postJson(context, url, headersOf(context), { filename: file.filename, type: 'ephemeral' });
  const place = asObject(asked.json);
  const [uri, address] = [asText(place?.runwayUri), asUrl(place?.uploadUrl)];
  if (!isSuccessStatus(asked) || uri === undefined || address === undefined)
    return { error: parseError(asked, context.now()) };
  const form = toMultipart(asObject(place?.fields) as RequestBody, file, 'file');
  const headers = { 'content-type': form.contentType };
  const stored = await context.sendJson({
    method: 'POST',
    url: address,
    headers,
    body: form.body,
    signal: context.signal,
  });
  if (!isSuccessStatus(stored)) return { error: parseError(stored, context.now()) };
  return { uri, expiresAtMs: context.now() + URI_LIFETIME_MS };
}

// Status mapping

/** A list of URLs; relays write them in the same members as other vendors. */
const URL_PLACES = ['output'];

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
  return finishedTask(fileUrlOf(task, URL_PLACES), response);
}

const headersOf = (context: AdapterContext) => ({ ...bearerHeaders(context), 'x-runway-version': '2024-11-06' });
const taskUrl = (id: string, context: AdapterContext) => endpointUrl(context, `/v1/tasks/${encodeURIComponent(id)}`);

/** Adapter for Runway. Tasks carry no id of the client, so a lost one cannot be found again: no `findTask`. */
export const runway: VendorAdapter = {
  name: 'runway',
  title: 'Runway',
  defaultBaseUrl: 'https://api.dev.runwayml.com',
  credentials: API_KEY_CREDENTIALS,
  models: RUNWAY_MODELS,
  unlistedWays: () => UNLISTED_WAYS,
  metadata: parseMetadata.schema,
  droppedMetadata({ model }) {
    const known = modelOf(model);
    const all = Object.keys(parseMetadata.schema.properties);
    return known === undefined ? [] : all.filter((name) => !known.options.some((option) => option === name));
  },
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

  inlineBytes: { image: MAX_INLINE_BYTES, video: MAX_INLINE_BYTES, audio: MAX_INLINE_BYTES },
  upload: {
    maxBytes: UPLOAD_BYTES,
    send: sendUpload,
    isForgotten: ({ message, reason }) => reason === 'user' && /runway:|upload|asset|uri\b/i.test(message),
  },
  billingFactors(request) {
    const known = modelOf(request.model);
    const body = toBody(request);
    // The result of an edit is as long as its source.
    const usual = request.inputSeconds ?? DEFAULT_SECONDS;
    const { duration = usual, ratio, resolution, audio } = body;
    // Models with audio generate it unless it is switched off.
    const hasAudio = known?.options.includes('audio') ? audio !== false : undefined;
    const word = asText(ratio)?.replace(/^auto_/, '') ?? '';
    const factors = knownFactors(
      defined({
        size: /^\d{3,4}:\d{3,4}$/.test(word) ? toSize(word) : undefined,
        resolution: resolution ?? (word !== asText(ratio) ? word : undefined),
        audio: hasAudio,
      }),
    );
    return { seconds: parseSeconds(duration, 'duration'), factors };
  },

  async submit(request, context) {
    const url = endpointUrl(context, `/v1/${endpointOf(request)}_to_video`);
    const response = await postJson(context, url, headersOf(context), toBody(request));
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

  content: async (_handle, raw) => publicFile(fileUrlOf(unwrapTask(raw), URL_PLACES)),

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
