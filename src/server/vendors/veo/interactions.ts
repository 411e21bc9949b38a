import { sortImages } from '../../../contract/generation-ways.ts';
import { asObject, defined, type UntrustedObject } from '../../../contract/objects.ts';
import type { TaskStatus } from '../../../contract/task-states.ts';
import type { BufferedResponse, OutboundRequest } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import {
  type Artifact,
  type BilledFacts,
  billedUnits,
  type Json,
  knownFactors,
  parseSeconds,
  type QueryOutcome,
  type RequestJson,
  rejectField,
  type VendorAdapter,
  type VideoRequest,
} from '../adapter.ts';
import {
  acceptedSubmit,
  applyExtraFields,
  failedTask,
  isRefusedSubmit,
  omitUndefined,
  type RequestBody,
  readReason,
  refusedSubmit,
  rejectedPoll,
  successWithoutArtifact,
  toRawResponse,
  UNKNOWN_FAILURE,
  unreadablePoll,
  unwrapTask,
} from '../json-calls.ts';
import {
  asArray,
  asId,
  asText,
  asUrl,
  classifyFailureWord,
  isSuccessStatus,
  normaliseStateWord,
  readTaskState,
} from '../untrusted-json.ts';
import { fileIdOf, geminiFile, geminiRequest } from './gemini.ts';
import {
  isRefusalText,
  parseGoogleError,
  refusalCause,
  TokenRequestFailed,
  toCode,
  toFailedOperation,
} from './google.ts';
import { familyOf, OMNI_INPUT_SECONDS } from './models.ts';
import {
  countNotFound,
  type EncodedImage,
  type EncodedMedia,
  inlineFile,
  isStorageUri,
  MAX_RESPONSE_BYTES,
  type NotFoundCount,
  parseMissing,
  parseOmniMetadata,
  resolveFrame,
  storageUri,
  toEncodedMedia,
  type VeoRoute,
} from './request.ts';
import { credentialsOf, recoverTokenFailure, sendWithToken, storedFile, throwPollFailed } from './vertex.ts';

/**
 * Videos through Google's Interactions (ai.google.dev/gemini-api/docs/omni): the
 * only API of the Omni models, for a key of the Gemini API and for a service account
 * of Vertex AI. Interactions run in the background and are polled by their id.
 */
type InteractionsApi = Required<Pick<VendorAdapter, 'submit' | 'query' | 'content' | 'deleteTask'>>;

interface Call {
  readonly method?: OutboundRequest['method'];
  /** Path below `interactions`. */
  readonly path?: string;
  readonly body?: RequestJson;
}

/** Vertex AI serves them only at its global endpoint, whatever the location of the channel. */
function send(context: AdapterContext, route: VeoRoute, { method, path = '', body }: Call): Promise<BufferedResponse> {
  if (route === 'gemini') {
    const request = geminiRequest(context, `interactions${path}`, body, method);
    return context.sendJson({ ...request, maxBytes: MAX_RESPONSE_BYTES });
  }
  const project = encodeURIComponent(credentialsOf(context).project);
  const there = `v1beta1/projects/${project}/locations/global/interactions${path}`;
  const verb = method ?? (body === undefined ? 'GET' : 'POST');
  return sendWithToken(context, defined({ method: verb, path: there, location: 'global', body }));
}

const handleOf = (stored: Json): InteractionHandle =>
  parseInteractionHandle(stored) ?? { route: 'gemini', interaction: '' };

const readInteraction = ({ route, interaction }: InteractionHandle, context: AdapterContext) =>
  recoverTokenFailure(send(context, route, { path: `/${encodeURIComponent(interaction)}` }), throwPollFailed);

/**
 * Waits for the file: the Gemini API may still be writing it when
 * its interaction has ended, and it cannot be fetched before.
 */
async function awaitFile(done: QueryOutcome, context: AdapterContext): Promise<QueryOutcome> {
  const file = fileIdOf(asUrl(findVideo(done.raw)?.uri) ?? '');
  if (file === undefined) return done;
  const reply = await context.sendJson(geminiRequest(context, `files/${file}`));
  const state = isSuccessStatus(reply) ? asObject(reply.json)?.state : undefined;
  if (state === 'PROCESSING') return { ...done, state: 'IN_PROGRESS' };
  if (state !== 'FAILED') return done;
  return failedTask(done.raw, { reason: 'other', cause: 'no_result', code: 'FILE_FAILED' });
}

/** @param route By the channel's credentials; handles keep it afterwards. */
export const interactionsBy = (route: VeoRoute): Pick<InteractionsApi, 'submit'> => ({
  async submit(request, context) {
    const body = toInteractionBody(request, toEncodedMedia(request), route, context.options);
    const reply = await recoverTokenFailure<BufferedResponse | TokenRequestFailed>(
      send(context, route, { body }),
      (it) => it,
    );
    if (reply instanceof TokenRequestFailed) return { kind: 'refused', error: reply.error, raw: null };
    const interaction = interactionIn(reply.json);
    const isRefused = !isSuccessStatus(reply) || isRefusedSubmit(reply, interaction);
    if (isRefused) return refusedSubmit(parseGoogleError(reply, context.now(), 'model'), reply);
    const id = asInteractionId(interaction?.id);
    return acceptedSubmit(id, reply, toInteractionHandle({ route, interaction: id ?? '' }));
  },
});

/** The calls for submitted interactions. */
export const interactions: Omit<InteractionsApi, 'submit'> = {
  async query(stored, context) {
    const handle = handleOf(stored);
    const outcome = parseInteraction(await readInteraction(handle, context), handle, context);
    const isFile = outcome.state === 'SUCCESS' && outcome.artifact?.kind === 'protected';
    return isFile && handle.route === 'gemini' ? awaitFile(outcome, context) : outcome;
  },

  /**
   * Either in the customer's bucket, a file of the Gemini API, or inside the interaction, which is polled once more.
   */
  async content(stored, raw, variant, context) {
    if (variant !== undefined && variant !== 'video')
      throw new UnsupportedRequestError('Gemini Omni has only the video.', 'variant');
    const { uri } = findVideo(raw) ?? {};
    if (isStorageUri(uri)) return storedFile(uri, context);
    const url = asUrl(uri);
    const handle = handleOf(stored);
    if (url !== undefined && handle.route === 'gemini') return geminiFile(url, context);
    if (url !== undefined) return { kind: 'fetch', url, headers: {}, trusted: false };
    const reply = await readInteraction(handle, context);
    if (!isSuccessStatus(reply)) throw rejectedPoll(parseGoogleError(reply, context.now(), 'missing'));
    const video = findVideo(interactionIn(reply.json));
    return inlineFile(asText(video?.data), video?.mime_type, reply);
  },

  /** Stops a running interaction, which could not be deleted otherwise, and deletes it. */
  async deleteTask(stored, context) {
    const { route, interaction } = handleOf(stored);
    const path = `/${encodeURIComponent(interaction)}`;
    await send(context, route, { path: `${path}/cancel`, body: {} });
    await send(context, route, { method: 'DELETE', path });
  },
};

/**
 * The task that the inputs are used for. Of a first and a last frame the model infers their use by itself: there is no
 * task of that name.
 */
function taskOf({ operation = 'generate' }: VideoRequest, { images, videos }: EncodedMedia): string | undefined {
  if (operation !== 'generate') return operation;
  const { first, last, references } = sortImages(images);
  if (references.length > 0 || videos.length > 0) return 'reference_to_video';
  return first !== undefined && last === undefined ? 'image_to_video' : undefined;
}

/**
 * Delivery of the video. The Gemini API stores a file; Vertex AI needs a bucket for that, and otherwise puts the video
 * into its responses.
 */
function deliveryOf(request: VideoRequest, route: VeoRoute, options: AdapterContext['options']) {
  if (route === 'gemini') return { delivery: 'uri' };
  const bucket = storageUri(parseOmniMetadata(request.metadata).storageUri, options.storage_uri);
  return bucket === undefined ? {} : { delivery: 'uri', gcs_uri: bucket };
}

const toParts = (type: 'image' | 'video', media: readonly EncodedImage[]) =>
  media.map(({ data, mimeType }) => ({ type, data, mime_type: mimeType }));

/** Length and frame of the result: an edited video keeps those of its source, an extended one its frame. */
function resolveResult(request: VideoRequest) {
  const { model, operation, inputSeconds = OMNI_INPUT_SECONDS } = request;
  const frame = resolveFrame(request, familyOf(model));
  const { task = operation, aspectRatio, durationSeconds = request.seconds } = parseOmniMetadata(request.metadata);
  const keepsFrame = task === 'edit' || task === 'extend';
  if (keepsFrame && aspectRatio !== undefined)
    rejectField('metadata.aspectRatio', `cannot be given: ${model} keeps the frame of the video`);
  if (operation === 'edit' && durationSeconds !== undefined)
    rejectField(frame.param, `cannot be given: ${model} keeps the length of the video`);
  return {
    resolution: frame.resolution,
    aspectRatio: keepsFrame ? undefined : frame.aspectRatio,
    seconds: operation === 'edit' ? inputSeconds : frame.seconds,
  };
}

/**
 * The body of one submit (`CreateModelInteraction` of github.com/googleapis/js-genai); lengths are texts such as `8s`.
 */
export function toInteractionBody(
  request: VideoRequest,
  media: EncodedMedia,
  route: VeoRoute,
  options: AdapterContext['options'] = {},
): RequestBody {
  if (request.mode !== undefined) rejectField('mode', 'is not known to Gemini Omni');
  const family = familyOf(request.model);
  if (media.images.length > family.references) rejectField('images', `are more than ${request.model} takes`);
  const { seconds, resolution, aspectRatio } = resolveResult(request);
  const task = parseOmniMetadata(request.metadata).task ?? taskOf(request, media);
  const duration = request.operation === 'edit' ? undefined : `${seconds}s`;
  const format = omitUndefined({ type: 'video', aspect_ratio: aspectRatio, resolution, duration });
  const body = omitUndefined({
    model: request.model,
    input: [
      ...toParts('video', media.videos),
      ...toParts('image', media.images),
      { type: 'text', text: request.prompt },
    ],
    background: true,
    response_format: omitUndefined({ ...format, ...deliveryOf(request, route, options) }),
    generation_config: task === undefined ? undefined : { video_config: { task } },
  });
  return applyExtraFields(body, request.extraFields);
}

/** The billed parameters; audio is always generated. */
export function interactionBillingFactors(request: VideoRequest) {
  const { seconds, resolution } = resolveResult(request);
  const body = applyExtraFields({ response_format: { duration: `${seconds}s`, resolution } }, request.extraFields);
  const format = body.response_format as { readonly [key: string]: Json };
  const requested = typeof format.duration === 'string' ? format.duration.replace(/s$/, '') : format.duration;
  return {
    seconds: parseSeconds(requested, 'duration'),
    factors: knownFactors({ resolution: format.resolution, size: request.size, audio: true }),
  };
}

/** Stored data of an interaction. `missing` counts consecutive 404s. */
interface InteractionHandle {
  readonly route: VeoRoute;
  readonly interaction: string;
  readonly missing?: NotFoundCount;
}

/** Undefined for the handle of an operation. */
export function parseInteractionHandle(handle: Json): InteractionHandle | undefined {
  const { route, interaction, missing } = asObject(handle) ?? {};
  const id = asText(interaction);
  if (id === undefined) return undefined;
  return { route: route === 'vertex' ? 'vertex' : 'gemini', interaction: id, missing: parseMissing(missing) };
}

const toInteractionHandle = ({ route, interaction, missing }: InteractionHandle): Json =>
  omitUndefined({ route, interaction, missing: missing && { ...missing } });

/** Part of a URL's path, so it must not start with a dot. */
const INTERACTION_ID = /^\w[\w.=-]{0,254}$/;

function asInteractionId(value: unknown): string | undefined {
  const id = asId(value);
  return id !== undefined && INTERACTION_ID.test(id) ? id : undefined;
}

/** `requires_action` waits for the result of a tool, and no tool is ever given, so it would never end. */
const STATES: Readonly<Record<string, TaskStatus>> = {
  incomplete: 'FAILURE',
  budget_exceeded: 'FAILURE',
  requires_action: 'FAILURE',
};

/** The interaction without the envelope of a relay. */
const interactionIn = (json: unknown): UntrustedObject | undefined => unwrapTask(json);

/** The steps of the model; undefined if the list is damaged. */
function outputSteps(interaction: UntrustedObject): readonly UntrustedObject[] | undefined {
  const steps = asArray(interaction.steps ?? []);
  return steps?.map(asObject).filter((step) => step !== undefined && step.type === 'model_output') as
    | readonly UntrustedObject[]
    | undefined;
}

const contentOf = (step: UntrustedObject): readonly UntrustedObject[] =>
  (asArray(step.content) ?? []).map(asObject).filter((block) => block !== undefined);

/** The last video of an interaction: in a step of its model, or next to the steps. */
function findVideo(interaction: unknown): UntrustedObject | undefined {
  const whole = asObject(interaction);
  if (!whole) return undefined;
  const blocks = (outputSteps(whole) ?? []).flatMap(contentOf).filter(({ type }) => type === 'video');
  return blocks.at(-1) ?? asObject(whole.output_video);
}

function toArtifact(video: UntrustedObject): Artifact | undefined {
  if (asUrl(video.uri) !== undefined || isStorageUri(video.uri)) return { kind: 'protected' };
  return asText(video.data) === undefined ? undefined : { kind: 'inline' };
}

const textOf = (steps: readonly UntrustedObject[]): string =>
  steps
    .flatMap(contentOf)
    .map(({ type, text }) => (type === 'text' ? (asText(text) ?? '') : ''))
    .join(' ')
    .trim()
    .slice(0, 1_000);

/**
 * The vendor's reason for a missing video: an error of a step,
 * the first error of the interaction, or the model's own text.
 */
function toFailure(
  interaction: UntrustedObject,
  steps: readonly UntrustedObject[],
  raw: Json,
  word: string,
): QueryOutcome {
  const broken = steps.map(({ error }) => asObject(error)).find((error) => error !== undefined);
  if (broken) return toFailedOperation(broken, raw);
  const reported = readReason(asArray(interaction.errors)?.[0], interaction.error, interaction.fail_reason);
  const message = reported.message ?? textOf(steps);
  const code = toCode(reported.code) || normaliseStateWord(word).toUpperCase();
  if (isRefusalText(message))
    return failedTask(raw, { reason: 'policy', cause: refusalCause(message) ?? 'result_refused', code, message });
  const meaning = classifyFailureWord(word) ?? UNKNOWN_FAILURE;
  const cause = meaning.cause ?? (readTaskState(word) === 'SUCCESS' ? 'no_result' : undefined);
  return failedTask(raw, { ...meaning, cause, code, message });
}

function parseStatus(interaction: UntrustedObject, raw: Json): QueryOutcome {
  const word = asText(interaction.status) ?? '';
  const state = readTaskState(word, STATES);
  const steps = outputSteps(interaction);
  if (state !== 'SUCCESS' && state !== 'FAILURE') return { state, raw };
  if (!steps) return { state: 'UNKNOWN', raw };
  if (state === 'FAILURE') return toFailure(interaction, steps, raw, word);
  const video = findVideo(interaction);
  if (video) {
    const artifact = toArtifact(video);
    // Damaged data in place of the video does not mean that there is none.
    return artifact ? { state: 'SUCCESS', artifact, raw } : { state: 'UNKNOWN', raw };
  }
  const errors = [interaction.errors ?? [], interaction.error ?? []].flat();
  const isExplained = textOf(steps) !== '' || errors.length > 0 || steps.some(({ error }) => error);
  return isExplained ? toFailure(interaction, steps, raw, word) : successWithoutArtifact(raw);
}

const markBase64 = (block: unknown): unknown => {
  const content = asObject(block);
  if (typeof content?.data !== 'string') return block;
  return { ...content, data: `[${content.data.length} characters of Base64]` };
};

/** Replaces images and videos inside the steps by a marker, because a task's row must not hold megabytes. */
function redactMedia(reply: BufferedResponse): Json {
  const interaction = interactionIn(reply.json);
  if (!interaction) return toRawResponse(reply);
  const marked = asArray(interaction.steps)?.map((entry) => {
    const step = asObject(entry);
    const content = asArray(step?.content);
    return step && content ? { ...step, content: content.map(markBase64) } : entry;
  });
  const { output_video: video } = interaction;
  return defined({ ...interaction, steps: marked ?? interaction.steps, output_video: markBase64(video) }) as Json;
}

/**
 * Parses the response to one poll of an interaction.
 * @throws PollFailed
 */
function parseInteraction(
  reply: BufferedResponse,
  handle: InteractionHandle,
  context: Pick<AdapterContext, 'now'>,
): QueryOutcome {
  const raw = redactMedia(reply);
  if (!isSuccessStatus(reply)) {
    const error = parseGoogleError(reply, context.now(), 'missing');
    if (error.reason !== 'missing' || error.code !== 'NOT_FOUND') throw rejectedPoll(error);
    return countNotFound(handle.missing, {
      error,
      raw,
      nowMs: context.now(),
      toHandle: (missing) => toInteractionHandle({ ...handle, missing }),
    });
  }
  const interaction = interactionIn(reply.json);
  if (!interaction || asId(interaction.id) !== handle.interaction) throw unreadablePoll(reply);
  const outcome = parseStatus(interaction, raw);
  const { route, interaction: id } = handle;
  return handle.missing ? { handle: toInteractionHandle({ route, interaction: id }), ...outcome } : outcome;
}

/** Video tokens in the usage of an interaction, by which it is billed. */
export function billedVideoTokens(raw: Json): BilledFacts | undefined {
  const usage = asObject(asObject(raw)?.usage);
  const counts = (asArray(usage?.output_tokens_by_modality) ?? []).map(asObject);
  const video = counts.find((count) => asText(count?.modality)?.toLowerCase() === 'video');
  return billedUnits(video?.tokens, video?.token_count, video?.tokenCount);
}
