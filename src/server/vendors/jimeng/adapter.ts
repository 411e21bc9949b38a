import { Type } from 'typebox';
import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import type { TaskStatus } from '../../../contract/task-states.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import type { AdapterContext } from '../../upstreams/upstream.ts';
import type { Json, MediaInput, QueryOutcome, VendorAdapter, VideoRequest } from '../adapter-types.ts';
import { KEY_PAIR_CREDENTIALS } from '../credential-schemas-and-forms.ts';
import { failedTask, readReason, rejectedPoll, UNKNOWN_FAILURE, unreadablePoll } from '../error-mapping.ts';
import { acceptedSubmit, finishedTask, publicFile, refusedSubmit } from '../json-http-calls-and-outcomes.ts';
import { assertMaxSize, type MediaText, toBase64 } from '../media-to-base64-or-url.ts';
import { createMetadataParser } from '../metadata-parser.ts';
import { matchAspectRatio, parseSeconds, rejectField } from '../parse-seconds-ratio-and-price-factors.ts';
import { classifyFailureWord, readTaskState } from '../read-task-state.ts';
import { applyExtraFields, omitUndefined, type RequestBody } from '../request-body.ts';
import { asId, asText, asUrl, firstUrl, toRawResponse } from '../untrusted-json.ts';
import { jimengImages } from './image-generation.ts';
import { JIMENG_KEYS, JIMENG_MODELS, JIMENG_RATIOS, type JimengModel } from './models.ts';
import { isError, OK, parseCode, parseError, sendAction, TERMINAL_CODES } from './signed-calls-and-errors.ts';

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
const MAX_IMAGE_BYTES = 4_700_000;

const modelOf = ({ model }: VideoRequest): JimengModel | undefined =>
  Object.hasOwn(JIMENG_KEYS, model) ? JIMENG_KEYS[model] : undefined;

/** The vendor's key for this model and this many pictures; unknown names are checked by the vendor only. */
function toReqKey(model: string, known: JimengModel | undefined, images: number): string {
  if (!known) return model;
  return (
    known.keys[images] ?? rejectField('images', `must be another number of pictures for ${model}; ${images} do not fit`)
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

/** `1280x720` is a ratio here; `720P` must be the model's own resolution, since no field could change it. */
function toRatio(size: string | undefined, known: JimengModel | undefined): string | undefined {
  if (size === undefined || (known && size.toLowerCase() === known.resolution)) return undefined;
  return (
    matchAspectRatio(size, JIMENG_RATIOS) ??
    rejectField('size', `must be width x height in a ratio of ${JIMENG_RATIOS.join(', ')}`)
  );
}

/** The body without its pictures. */
function toFields(request: VideoRequest): RequestBody & { readonly req_key: string } {
  const known = modelOf(request);
  const req_key = toReqKey(request.model, known, request.images.length);
  if (request.officialBody) {
    // The gateway delivers callbacks, not the vendor.
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

/** All URLs, or all Base64: the vendor takes one or the other, so of a mixture the URLs are downloaded. */
async function toImageFields({ images, officialBody }: VideoRequest, context: AdapterContext): Promise<RequestBody> {
  if (officialBody || images.length === 0) return {};
  for (const image of images) assertMaxSize(image, MAX_IMAGE_BYTES, 'image');
  const urls = images.flatMap((image) => (image.kind === 'url' ? [image.url] : []));
  if (urls.length === images.length) return { image_urls: urls };
  const load = async (image: MediaInput): Promise<MediaText> =>
    image.kind === 'url' ? (await context.fetchImage(image.url, MAX_IMAGE_BYTES)).data : (toBase64(image) ?? '');
  return { binary_data_base64: await Promise.all(images.map(load)) };
}

// Status mapping

/** The vendor's own words beside the common ones. */
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
  // Here even a text that is no URL counts as a damaged response.
  if (url === undefined && (data.video_url ?? '') !== '') throw unreadablePoll(response);
  return finishedTask(url, response, code);
}

const videoUrlOf = (data: UntrustedObject | undefined): string | undefined =>
  asUrl(data?.video_url) ?? firstUrl(data?.video_urls);

// The vendor

function parseHandle(handle: Json): { readonly reqKey: string; readonly id: string } {
  const { reqKey, id } = asObject(handle) ?? {};
  return { reqKey: asText(reqKey) ?? '', id: asText(id) ?? '' };
}

export const jimeng: VendorAdapter = {
  name: 'jimeng',
  title: 'Jimeng',
  defaultBaseUrl: 'https://visual.volcengineapi.com',
  credentials: KEY_PAIR_CREDENTIALS,
  models: JIMENG_MODELS,
  metadata: parseMetadata.schema,
  formFields: { seconds: 'duration', ratio: 'metadata.aspect_ratio', seed: 'metadata.seed' },
  presentation: { hidesModel: true },
  example: {
    model: 'jimeng_v30',
    prompt: 'a paper crane takes off',
    duration: 5,
    metadata: { aspect_ratio: '9:16', seed: 7 },
  },
  // Polling gives new URLs for twelve hours, as long as the vendor keeps the task.
  artifactUrlLifetimeMs: 55 * 60_000,

  images: jimengImages,

  billingFactors(request) {
    const { frames = FRAMES_PER_SECOND * DEFAULT_SECONDS + 1 } = toFields(request);
    if (typeof frames !== 'number') rejectField('frames', 'must be an integer');
    const seconds = parseSeconds(Math.ceil((frames - 1) / FRAMES_PER_SECOND), 'frames');
    const resolution = modelOf(request)?.resolution;
    return { seconds, factors: resolution === undefined ? {} : { resolution } };
  },

  handleOf: ({ id, model }) => (/^jimeng_/.test(model) ? { reqKey: model, id } : undefined),

  async submit(request, context) {
    const fields = toFields(request);
    const body: RequestBody = { ...fields, ...(await toImageFields(request, context)) };
    const response = await sendAction(context, 'submit', body);
    if (isError(response)) return refusedSubmit(parseError(response, context.now()), response);
    const id = parseCode(response) === OK ? asId(asObject(asObject(response.json)?.data)?.task_id) : undefined;
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
      // "done" stands for success and failure; the code beside it distinguishes them.
      const isDone = word !== undefined && ['SUCCESS', 'FAILURE'].includes(readTaskState(word));
      const ends = number !== OK && (TERMINAL_CODES.has(number) || (isDone && reason !== 'rate'));
      if (ends) return failedTask(toRawResponse(response), { reason, cause, code, message, httpStatus });
      throw rejectedPoll(parseError(response, context.now()));
    }
    if (parseCode(response) !== OK || data === undefined || word === undefined) throw unreadablePoll(response);
    return toOutcome(data, response);
  },

  content: async (_handle, raw) => publicFile(videoUrlOf(asObject(asObject(raw)?.data))),

  async checkCredentials(context) {
    const response = await sendAction(context, 'query', { req_key: 'jimeng_t2v_v30', task_id: '0' });
    return isError(response) ? { ok: false, error: parseError(response, context.now()) } : { ok: true };
  },
};
