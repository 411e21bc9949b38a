import type { Static, TSchema } from 'typebox';
import {
  describeWays,
  fits,
  type GenerationWay,
  type InputKind,
  isRatioOffered,
  type VideoOperation,
} from '../../contract/generation-ways.ts';
import type { VendorId } from '../../contract/model-kinds.ts';
import { asObject, defined, isObject } from '../../contract/objects.ts';
import { type CallFacts, isChatPrice, type Price, type VideoPrice } from '../../contract/pricing.ts';
import { type GenerationBody, STANDARD_FIELDS, VideoBody } from '../../contract/video.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import { memoizeByObject } from '../platform/cache.ts';
import { runWithinTime } from '../platform/concurrency.ts';
import type { UploadedFile } from '../platform/http/body.ts';
import type { ModelCaller } from '../platform/http/route-registry.ts';
import { validatorFor } from '../platform/http/schema-validation.ts';
import { type BodyImages, JsonRejectedError, NO_IMAGES, parseRequestJson } from '../platform/json.ts';
import { sniffMedia } from '../platform/media-length.ts';
import { assertNoPrivateUrls } from '../platform/outbound/guard.ts';
import type { UnsupportedRequestError } from '../upstreams/upstream.ts';
import type {
  Json,
  ModelCapability,
  RequestInput,
  RequestJson,
  VendorAdapter,
  VideoRequest,
} from '../vendors/adapter.ts';
import {
  assertInputsFit,
  type InputResolver,
  NO_INPUTS,
  type ResolvedInputs,
  sortInputs,
  spellNames,
} from './input-resolver.ts';
import {
  arrangeMedia,
  findMedia,
  type GivenInput,
  type GivenMedia,
  type InputSource,
  isInputPart,
  kindsOfImages,
  type MediaUse,
  normalizeDataUrls,
  parseInputs,
  parseOperation,
  sizeOf,
  typedKinds,
  withImages,
} from './request-media.ts';
import { type ModelChoice, ratioField } from './video-models.ts';

/** The body of a generation request in the unified or OpenAI's format, with unknown members. */
export type GenerationRequestBody = Partial<Static<typeof GenerationBody>> & { readonly [key: string]: unknown };

/** The same body in strict form: numbers as numbers, `metadata` as an object, and no empty strings. */
interface StrictBody {
  readonly model?: string;
  readonly prompt?: string;
  readonly duration?: number;
  readonly seconds?: string;
  readonly size?: string;
  readonly mode?: string;
  readonly metadata?: { readonly [key: string]: unknown };
  readonly callback_url?: string;
  readonly [key: string]: unknown;
}

/** A video request as every format parses it, before its model and vendor are known. */
export interface GenerationRequest {
  readonly model: string;
  readonly prompt: string;
  /**
   * Images and other media of the unified or OpenAI's format as sent by the caller; the model decides which of them are
   * usable.
   */
  readonly media?: GivenMedia;
  /** The typed inputs, before files are found and roles are filled in. */
  readonly inputs?: readonly GivenInput[];
  /** The field in which the caller names files, for messages; default: the older field of their type. */
  readonly filesField?: 'inputs';
  /** Default: generate. */
  readonly operation?: VideoOperation;
  readonly seconds?: number;
  readonly size?: string;
  readonly mode?: string;
  readonly metadata: { readonly [key: string]: unknown };
  /**
   * The body, for media schemas, native fields and the task record; images in `bodyImages` are truncated to their
   * start.
   */
  readonly body: { readonly [key: string]: unknown };
  readonly bodyImages?: BodyImages;
  /** The body in the vendor's own format, on the vendor-format routes. */
  readonly officialBody?: VideoRequest['officialBody'];
  /** With `officialBody`: the vendor whose format it is; models of other vendors cannot be requested with it. */
  readonly officialVendor?: VendorId;
  /** With `officialBody`: the vendor operation the caller used. */
  readonly officialOperation?: string;
  /** Whether the format permits a request without a prompt, from an image alone. */
  readonly isPromptOptional?: boolean;
  /** The caller's own id for the task. */
  readonly externalId?: string;
  /** The caller's callback URL. */
  readonly callbackUrl?: string;
  /** False: refuse the video instead of letting it wait for a slot. Default: true. */
  readonly queue?: boolean;
}

/** Images of a request that are not kept as text in its body. */
export interface RequestImages {
  readonly files: readonly UploadedFile[];
  readonly bodyImages: BodyImages;
}

/** Reads a body in the unified or OpenAI's format, which share their fields. */
export function parseGenerationRequest(
  given: GenerationRequestBody,
  { files, bodyImages }: RequestImages,
  defaultModel: string | undefined,
): GenerationRequest {
  const body = toStrictBody(given);
  const model = body.model ?? defaultModel;
  if (model === undefined) throw invalidRequest('model is required.', 'model');
  // callback_url has rules of its own; inputs may be JSON in a text, so their URLs are checked once they are parsed.
  const { callback_url: callbackUrl, inputs: _, ...rest } = body;
  assertNoPrivateUrls(rest);
  if (body.duration !== undefined && body.seconds !== undefined && Number(body.seconds) !== body.duration) {
    throw invalidRequest('duration and seconds contradict each other.', 'seconds');
  }
  const inputs = parseInputs(body.inputs, files, bodyImages);
  return {
    model,
    prompt: body.prompt ?? '',
    media: findMedia(
      withoutFileReference(body),
      files.filter(({ field }) => !isInputPart(field)),
      bodyImages,
    ),
    inputs: [...inputs, ...fileReference(body)],
    filesField: inputs.length === 0 ? undefined : 'inputs',
    operation: parseOperation(body.operation),
    seconds: body.duration ?? (body.seconds === undefined ? undefined : Number(body.seconds)),
    size: body.size,
    mode: body.mode,
    metadata: body.metadata ?? {},
    body,
    bodyImages,
    callbackUrl: callbackUrl || undefined,
    queue: parseQueue(body.queue),
  };
}

/** OpenAI's `input_reference: {file_id}` is an image without a role. */
function fileReference({ input_reference: given }: StrictBody): readonly GivenInput[] {
  const fileId = isObject(given) ? given.file_id : undefined;
  if (typeof fileId !== 'string' || fileId === '') return [];
  return [{ param: 'input_reference', type: 'image', role: undefined, source: { fileId } }];
}
const withoutFileReference = (body: StrictBody): StrictBody =>
  fileReference(body).length === 0 ? body : { ...body, input_reference: undefined };

const NEVER_EMPTY = ['size', 'mode', 'duration', 'seconds', 'metadata', 'image', 'images', 'input_reference'] as const;

/** An empty string is a field that a form or a client left blank. */
function toStrictBody(given: GenerationRequestBody): StrictBody {
  const body: Record<string, unknown> = { ...given };
  for (const field of NEVER_EMPTY) {
    const value = body[field];
    if (typeof value === 'string' && value.trim() === '') delete body[field];
  }
  if (body.duration !== undefined) body.duration = parseSeconds(body.duration, 'duration');
  if (body.seconds !== undefined) body.seconds = String(parseSeconds(body.seconds, 'seconds'));
  if (body.metadata !== undefined) body.metadata = normalizeDataUrls(parseMetadata(body.metadata));
  return body as StrictBody;
}

function parseSeconds(value: unknown, param: string): number {
  const seconds = Number(value);
  if (seconds >= 1 && seconds <= 3600) return seconds;
  throw invalidRequest(`${param} must be from 1 to 3600.`, param);
}

/** A form has no booleans. */
const parseQueue = (value: unknown): boolean => value !== false && value !== 'false' && value !== '0' && value !== 0;

function parseMetadata(value: unknown): object {
  if (typeof value !== 'string') return value as object;
  try {
    const parsed = parseRequestJson(Buffer.from(value));
    if (isObject(parsed)) return parsed;
  } catch (error) {
    if (!(error instanceof JsonRejectedError)) throw error;
  }
  throw invalidRequest('metadata must be the JSON of an object.', 'metadata');
}

/**
 * The request an adapter receives, once model and task are known.
 * @throws AppError for media the model does not support
 */
export function toVideoRequest(
  generation: GenerationRequest,
  resolved: Pick<VideoRequest, 'taskId' | 'model' | 'extraFields'>,
  use: MediaUse,
  { inputs, inputSeconds }: ResolvedInputs = NO_INPUTS,
  promptName?: VendorAdapter['promptName'],
): VideoRequest {
  const { operation = 'generate' } = generation;
  const { prompt, seconds, size, mode, metadata, officialBody, officialOperation, body, media } = generation;
  const { images, fields } = media === undefined ? { images: [] } : arrangeMedia(media, use);
  const filesField = images.length === 0 ? generation.filesField : undefined;
  // Prompts in a vendor's own format name inputs by their positions.
  const typed = sortInputs(inputs, officialBody === undefined);
  if (images.length > 0 && typed.images.length > 0)
    throw invalidRequest('inputs and the older image fields cannot both hold images.', 'inputs');
  // A model without ways has only its vendor's own format, which the vendor checks.
  const isVendorChecked = officialBody !== undefined && use.capability?.ways.length === 0;
  if (!isVendorChecked && (inputs.length > 0 || operation !== 'generate')) {
    const older = kindsOfImages(images).map((kind, index) => ({
      ...kind,
      param: 'image',
      media: images[index] ?? { url: '' },
    }));
    assertInputsFit([...older, ...inputs], { ...use, operation });
  }
  const native = Object.entries(body).filter(
    // We never pass callback URLs to vendors; we send callbacks ourselves.
    ([key]) => !STANDARD_FIELDS.has(key) && key !== 'callback_url' && fields?.has(key) !== true,
  );
  return {
    ...resolved,
    prompt: spellNames(prompt, inputs, typed.ordered, promptName),
    images: [...images, ...typed.images],
    videos: typed.videos,
    audios: typed.audios,
    operation,
    metadata,
    nativeFields: Object.fromEntries(native) as { [key: string]: Json },
    ...defined({ seconds, size, mode, inputSeconds, officialBody, officialOperation, filesField }),
    ...(body.seconds !== undefined && body.duration === undefined && { lengthField: 'seconds' as const }),
  };
}

/** Media in `metadata` or in arguments of a media schema, which the ways do not describe. */
export const hasOtherMedia = ({ metadata, extraFields }: VideoRequest): boolean =>
  extraFields.length > 0 || /"(?:https?|oss|data|asset|mm_file):|[A-Za-z0-9+/]{64}/.test(JSON.stringify(metadata));

const isOfferedLength = ({ seconds }: Pick<ModelCapability, 'seconds'>, asked: number): boolean =>
  'values' in seconds ? seconds.values.includes(asked) : asked >= seconds.min && asked <= seconds.max;

const describeLengths = ({ seconds }: Pick<ModelCapability, 'seconds'>): string =>
  'values' in seconds ? seconds.values.join(', ') : `${seconds.min} to ${seconds.max}`;

/** Whether a resolution is one of these, whatever its case. */
export const isIn = (names: readonly string[], asked: string): boolean =>
  names.some((name) => name.toLowerCase() === asked.toLowerCase());

/** Type and role of each input. */
export const kindsOf = ({ images, videos = [], audios = [] }: VideoRequest): readonly InputKind[] => [
  ...kindsOfImages(images),
  ...typedKinds('video', videos),
  ...typedKinds('audio', audios),
];

/**
 * Refuses inputs, a length or a resolution that the model does not offer together; vendors would refuse them once the
 * price is reserved.
 * @throws AppError `invalid_request`
 * @throws UnsupportedRequestError as the adapter does
 */
export function assertOffered(
  request: VideoRequest,
  adapter: Pick<VendorAdapter, 'billingFactors' | 'formFields' | 'passthrough'>,
  capability: ModelCapability | undefined,
): void {
  // Upstreams of a passed-through format may offer more than the vendor did.
  if (capability === undefined || adapter.passthrough === true || request.officialBody) return;
  const { seconds: billed, factors } = adapter.billingFactors(request);
  assertFiles(request, capability);
  if (hasOtherMedia(request)) return;
  const { operation = 'generate', model } = request;
  const all = capability.ways.filter((way) => way.operation === operation);
  const fitting = all.filter((way) => fits(way, kindsOf(request)));
  if (all.length === 0) return;
  if (fitting.length === 0)
    throw invalidRequest(`The inputs cannot be used together: ${model} takes: ${describeWays(all)}.`, 'inputs');
  const resolved = withResolution(fitting, factors.resolution, request, { capability, adapter });
  const ways = withRatio(resolved, request, { capability, adapter });
  const { seconds = isOfferedLength(capability, billed) ? billed : undefined } = request;
  if (seconds !== undefined) assertLength(ways, seconds, request, capability);
}

/** The ways that offer the resolution. */
function withResolution(
  ways: readonly GenerationWay[],
  resolution: string | undefined,
  { size, model }: VideoRequest,
  {
    capability,
    adapter,
  }: { readonly capability: ModelCapability; readonly adapter: Pick<VendorAdapter, 'formFields'> },
): readonly GenerationWay[] {
  if (resolution === undefined || capability.resolutions.length === 0) return ways;
  // No resolution can be chosen where the inputs determine it.
  const found = ways.filter(
    ({ resolutions = capability.resolutions }) => resolutions.length === 0 || isIn(resolutions, resolution),
  );
  if (found.length > 0) return found;
  const param = size === undefined ? (adapter.formFields.resolution ?? 'size') : 'size';
  const offered = [...new Set(ways.flatMap((way) => way.resolutions ?? capability.resolutions))];
  throw invalidRequest(`${param} must be one of ${offered.join(', ')} for ${model} with these inputs.`, param);
}

/**
 * The ways that offer the ratio. A size in pixels beside inputs that determine the ratio only names the resolution, and
 * words such as `adaptive` are left to the vendor.
 */
function withRatio(
  ways: readonly GenerationWay[],
  { size = '', model, metadata }: VideoRequest,
  {
    capability,
    adapter,
  }: { readonly capability: ModelCapability; readonly adapter: Pick<VendorAdapter, 'formFields'> },
): readonly GenerationWay[] {
  const field = ratioField(adapter.formFields);
  const named = field === undefined ? undefined : metadata[field];
  const asked = typeof named === 'string' && /^\d+:\d+$/.test(named.trim()) ? named.trim() : undefined;
  const found = ways.filter((way) =>
    asked === undefined ? isRatioOffered(way, size) : (way.ratios ?? capability.ratios).includes(asked),
  );
  if (found.length > 0) return found;
  const param = asked === undefined ? 'size' : `metadata.${field}`;
  const offered = [...new Set(ways.flatMap((way) => way.ratios ?? capability.ratios))];
  if (offered.length === 0) throw invalidRequest(`${param} cannot be given for ${model} with these inputs.`, param);
  throw invalidRequest(`${param} must be one of ${offered.join(', ')} for ${model} with these inputs.`, param);
}

function assertLength(
  ways: readonly GenerationWay[],
  seconds: number,
  { seconds: asked, model, operation = 'generate', lengthField = 'duration' }: VideoRequest,
  capability: ModelCapability,
): void {
  const isOffered = ways.some((way) =>
    way.seconds === undefined ? isOfferedLength(capability, seconds) : way.seconds.includes(seconds),
  );
  const lengths = [...new Set(ways.flatMap((way) => way.seconds ?? []))].toSorted((one, other) => one - other);
  // The length of an edited video is that of its source.
  if (isOffered || (asked === undefined && lengths.length === 0)) return;
  if (lengths.length === 0 && operation === 'generate')
    throw invalidRequest(`${lengthField} must be ${describeLengths(capability)} seconds for ${model}.`, lengthField);
  if (lengths.length === 0)
    throw invalidRequest(`${lengthField} cannot be given for ${model} with these inputs.`, lengthField);
  throw invalidRequest(
    `${lengthField} must be ${lengths.join(', ')} seconds for ${model} with these inputs and this resolution.`,
    lengthField,
  );
}

/**
 * Refuses files of a format or a size that the model does not take.
 * @throws AppError `invalid_request`
 */
export function assertFiles(
  { images, videos = [], audios = [], filesField }: VideoRequest,
  { ways }: ModelCapability,
): void {
  const all = ways.flatMap(({ inputs }) => inputs);
  const check = (type: InputKind['type'], inputs: readonly RequestInput[]): void => {
    const rules = all.filter((rule) => rule.type === type);
    if (rules.length === 0) return;
    const formats = new Set(rules.flatMap((rule) => rule.formats ?? []));
    const maxBytes = Math.max(...rules.map((rule) => rule.maxBytes));
    for (const input of inputs) {
      // The source of a change may have a field of its own.
      const field = (input.role === 'source' ? undefined : filesField) ?? type;
      const mediaType = 'bytes' in input ? input.mediaType : input.upload?.mediaType;
      if (formats.size > 0 && mediaType !== undefined && !formats.has(mediaType)) {
        const names = [...formats].map((format) => format.replace(/^.*\//, ''));
        throw invalidRequest(`${field} cannot be used: the model takes ${names.join(', ')}.`, field);
      }
      if (sizeOf(input) > maxBytes)
        throw invalidRequest(`${field} is larger than the ${(maxBytes / 1e6).toFixed(1)} MB this model takes.`, field);
    }
  };
  check('image', images);
  check('video', videos);
  check('audio', audios);
}

/** An adapter's refusal as an error about the caller's field; adapters name the fields of the unified format. */
export function toCallerError(
  { message, param }: UnsupportedRequestError,
  { lengthField, filesField }: Pick<VideoRequest, 'lengthField' | 'filesField'>,
): AppError {
  const used = { duration: lengthField, image: filesField, images: filesField };
  const field = Object.entries(used).find(([name]) => name === param)?.[1];
  if (param === undefined || field === undefined) return invalidRequest(message, param);
  return invalidRequest(message.replace(new RegExp(`^${param}(?= )`), field), field);
}

const ACTIONS = ['textGenerate', 'generate', 'firstTailGenerate'] as const;

/** The requested operation, as named by the unified task's `action`; depends on the number of images. */
export function actionOf({ images, videos = [], operation, officialBody }: VideoRequest): string {
  if (operation !== undefined && operation !== 'generate') return operation;
  if (videos.length > 0 || images.some(({ role }) => role === 'reference')) return 'referenceGenerate';
  // A vendor's own body may contain a last frame alone.
  const count = images.length + (officialBody?.image_tail === undefined ? 0 : 1);
  return ACTIONS[count] ?? 'referenceGenerate';
}

interface RequestReaderDependencies {
  readonly inputs: Pick<InputResolver, 'find'>;
  readonly modelChoice: Pick<ModelChoice, 'defaultModel' | 'refusal'>;
}

/** The body of an edit or extension, which names the video in a field of its own. */
type ChangeBody = GenerationRequestBody & { readonly video?: string | { readonly id: string } };

/** Of a request whose images are texts of its body. */
const NO_FILES: RequestImages = { files: [], bodyImages: NO_IMAGES };

/** Reads the bodies of requests for videos, and fills in the models that they leave out. */
export class RequestReader {
  readonly #dependencies: RequestReaderDependencies;
  constructor(dependencies: RequestReaderDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Checks a body that no route has checked, by the rules of `POST /v1/videos`: arguments of a model's own schema are
   * allowed.
   * @throws AppError `invalid_request`
   */
  check(given: object): GenerationRequestBody {
    const checked = validatorFor(VideoBody)(given);
    if ('error' in checked) throw checked.error;
    return given as GenerationRequestBody;
  }

  /** @param needsModel the format has no default model */
  async read(
    body: GenerationRequestBody,
    caller: ModelCaller,
    images: RequestImages = NO_FILES,
    { needsModel = false }: { readonly needsModel?: boolean } = {},
  ): Promise<GenerationRequest> {
    const { modelChoice } = this.#dependencies;
    if (body.model !== undefined) return parseGenerationRequest(body, images, undefined);
    const model =
      (await this.#sourceModel(body, caller)) ?? (needsModel ? undefined : await modelChoice.defaultModel(caller));
    return parseGenerationRequest(body, images, model);
  }

  /**
   * Reads an edit or extension in OpenAI's format. Without a model it has that of the video.
   *
   * @param sourceField the field in which the caller names the video, for messages
   */
  async readChange(
    operation: 'edit' | 'extend',
    { video, prompt = '', ...rest }: ChangeBody,
    caller: ModelCaller,
    { files, bodyImages }: RequestImages = NO_FILES,
    sourceField: 'video' | 'id' = 'video',
  ): Promise<GenerationRequest> {
    const { inputs, modelChoice } = this.#dependencies;
    if (prompt.trim() === '') throw invalidRequest('prompt is required.', 'prompt');
    const file = files.find(({ field }) => field === 'video');
    const id = typeof video === 'string' ? video : video?.id;
    if (file === undefined && id === undefined) throw invalidRequest('video is required.', 'video');
    const found = id === undefined ? undefined : await inputs.find(id, caller);
    if (id !== undefined && found === undefined) throw new AppError('task_not_exist');
    const model = rest.model ?? found?.task?.model;
    if (model === undefined) throw await modelChoice.refusal(operation);
    const others = files.filter((each) => each !== file);
    const parsed = parseGenerationRequest(
      { ...rest, prompt, model, operation },
      { files: others, bodyImages },
      undefined,
    );
    const source = id === undefined ? toUploadedSource(file) : { fileId: id };
    const given = { param: sourceField, type: 'video', role: 'source', source } as const;
    return { ...parsed, inputs: [given, ...(parsed.inputs ?? [])] };
  }

  /**
   * The model of an edit or extension that names none: that of the video it changes. Undefined for other requests.
   * @throws AppError with the models that can, for a source without a model
   */
  async #sourceModel(body: GenerationRequestBody, caller: ModelCaller): Promise<string | undefined> {
    const { inputs, modelChoice } = this.#dependencies;
    const operation = parseOperation(body.operation);
    if (operation === 'generate') return undefined;
    const given = parseInputs(body.inputs, [], NO_IMAGES);
    const source = given.find(({ role }) => role === 'source') ?? given.find(({ type }) => type !== 'image');
    const fileId = source !== undefined && 'fileId' in source.source ? source.source.fileId : undefined;
    const task = fileId === undefined ? undefined : (await inputs.find(fileId, caller))?.task;
    if (task === undefined) throw await modelChoice.refusal(operation);
    return task.model;
  }
}

/** @throws AppError for anything but a video */
function toUploadedSource(file: UploadedFile | undefined): InputSource {
  const media = file === undefined ? undefined : sniffMedia(file.bytes);
  if (file === undefined || media?.type !== 'video')
    throw invalidRequest('video is not a video of a supported type (MP4, MOV, WebM).', 'video');
  return { bytes: file.bytes, mediaType: media.mediaType, filename: file.filename || 'video' };
}

/** A sound expression needs microseconds; this limit is elapsed time on a machine that may be busy. */
const MAX_CHECK_MS = 250;

/**
 * Whether a schema contains regular expressions. Also compiles the schema, so that compilation does not count towards a
 * request's time limit.
 */
const hasPatterns = memoizeByObject((schema: TSchema): boolean => {
  validatorFor(schema)({});
  return /"pattern(?:Properties)?":/.test(JSON.stringify(schema));
});

/** Limits the time of a check, because an administrator's expression may backtrack excessively on a caller's text. */
function checkInTime(schema: TSchema, value: unknown): ReturnType<ReturnType<typeof validatorFor>> {
  if (!hasPatterns(schema)) return validatorFor(schema)(value);
  const checked = runWithinTime(() => validatorFor(schema)(value), MAX_CHECK_MS);
  if (checked === undefined)
    throw invalidRequest('A pattern in the schema of the model takes too long on this request.');
  return checked;
}

interface Property {
  readonly 'x-upstream'?: string;
}

type SchemaProperties = Readonly<Record<string, Property>>;
const propertiesOf = (schema: TSchema | undefined): SchemaProperties =>
  (schema as { readonly properties?: SchemaProperties } | undefined)?.properties ?? {};

/** Whether a member of a body is an argument of the model's media schema. */
export const declaresArgument = (schema: TSchema | undefined, name: string): boolean =>
  Object.hasOwn(propertiesOf(schema), name);

/**
 * Checks the body of a request against its model's media schema and picks the arguments the schema declares, each with
 * its dotted path in the vendor's body (`x-upstream`, default: its own name at the top level). Without a schema nothing
 * is picked, and the prompt is required unless the format makes it optional.
 * @throws AppError `invalid_request`
 */
export function pickRequestArguments(
  schema: TSchema | undefined,
  {
    body,
    bodyImages = NO_IMAGES,
    isPromptOptional,
  }: Pick<GenerationRequest, 'body' | 'bodyImages' | 'isPromptOptional'>,
): VideoRequest['extraFields'] {
  if (schema === undefined) {
    const isMissing = typeof body.prompt !== 'string' || body.prompt.trim() === '';
    if (isMissing && isPromptOptional !== true) throw invalidRequest('prompt is required.', 'prompt');
    return [];
  }
  // A schema may constrain the length or the content of an image, so the check needs the images in full.
  const checked = checkInTime(schema, withImages(body, bodyImages, String));
  if ('error' in checked) throw checked.error;
  const whole = withImages(body, bodyImages, (image) => image);
  return Object.entries(propertiesOf(schema))
    .filter(([name]) => Object.hasOwn(whole, name) && !STANDARD_FIELDS.has(name))
    .map(([name, property]) => ({ path: property['x-upstream'] ?? name, value: whole[name] as RequestJson }));
}

/** Vendors' names for a video among the inputs. */
const VIDEO_INPUT = /(^|_)videos?(_|$)/;

const isGiven = (value: unknown): boolean =>
  typeof value === 'string' ? value !== '' : Array.isArray(value) ? value.length > 0 : isObject(value);

function isVideoItem(item: unknown): boolean {
  const type = asObject(item)?.type;
  return typeof type === 'string' && VIDEO_INPUT.test(type);
}

/** Whether a field is named after a video input, or a list element's `type` says so. */
const hasVideoInput = (fields: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(fields).some(
    ([name, value]) => (VIDEO_INPUT.test(name) && isGiven(value)) || (Array.isArray(value) && value.some(isVideoItem)),
  );

const isFact = (value: unknown): value is string | number | boolean =>
  (typeof value === 'string' && value !== '' && value.length <= 64) ||
  typeof value === 'boolean' ||
  (typeof value === 'number' && Number.isSafeInteger(value));

/**
 * The facts a request's price is applied to. A price of the old form only sees the adapter's factors, as it always has,
 * so that a multiplier that never applied does not start to; a price with lines sees every fact of the request.
 *
 * @throws UnsupportedRequestError as the adapter does
 */
export function toPriceFacts(price: Price, adapter: VendorAdapter, request: VideoRequest): CallFacts {
  const { seconds, factors, inputSeconds = request.inputSeconds ?? 0 } = adapter.billingFactors(request);
  if (isChatPrice(price) || (price as VideoPrice).lines === undefined) return { seconds, ...factors };
  const { metadata, size, mode, images } = request;
  const asked = {
    size,
    mode,
    resolution: metadata.resolution,
    ratio: metadata.ratio ?? metadata.aspect_ratio,
    frames: metadata.frames,
    audio: metadata.audio ?? metadata.generate_audio,
  };
  const known = Object.entries(asked).flatMap(([name, value]) => (isFact(value) ? [[name, String(value)]] : []));
  return {
    ...Object.fromEntries(known),
    ...factors,
    input_video: String(
      request.draft?.hasVideo === true ||
        (request.videos ?? []).length > 0 ||
        hasVideoInput({ ...metadata, ...request.officialBody }),
    ),
    ...defined({ input_seconds: inputSeconds > 0 ? inputSeconds : undefined }),
    input_images: images.length,
    seconds,
  };
}
