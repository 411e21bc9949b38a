import type { Static } from 'typebox';
import type { VendorId } from '../../contract/model-kinds.ts';
import { defined, isObject } from '../../contract/objects.ts';
import { type GenerationBody, STANDARD_FIELDS } from '../../contract/video.ts';
import { invalidRequest } from '../platform/app-error.ts';
import type { UploadedFile } from '../platform/http/body.ts';
import { JsonRejectedError } from '../platform/json.ts';
import { type BodyImages, parseRequestJson } from '../platform/json-scanner.ts';
import { assertNoPrivateUrls } from '../platform/outbound/guard.ts';
import type { Json, MediaInput, VideoRequest } from '../vendors/adapter.ts';
import { arrangeMedia, findMedia, type GivenMedia, type MediaUse, normalizeDataUrls } from './request-images.ts';

export type GenerationRequestBody = Partial<Static<typeof GenerationBody>> & { readonly [key: string]: unknown };

/** The same in its strict form: numbers as numbers, `metadata` as an object, nothing empty. */
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

/** A request for a video as every format parses it, before its model and vendor are known. */
export interface GenerationRequest {
  readonly model: string;
  readonly prompt: string;
  /** Of a vendor's own format; the others have `media`. */
  readonly images: readonly MediaInput[];
  /** Pictures and other media as they were given; which of them can be used is known with the model. */
  readonly media?: GivenMedia;
  readonly seconds?: number;
  readonly size?: string;
  readonly mode?: string;
  readonly metadata: { readonly [key: string]: unknown };
  /** The body, for media schemas, native fields and the record of the task; of the images in `bodyImages` it has only the start. */
  readonly body: { readonly [key: string]: unknown };
  readonly bodyImages?: BodyImages;
  /** The body in the vendor's own format, on the vendor-format routes. */
  readonly officialBody?: VideoRequest['officialBody'];
  /** With `officialBody`: whose format it is; other vendors' models cannot be requested with it. */
  readonly officialVendor?: VendorId;
  /** With `officialBody`: the vendor's operation that was called. */
  readonly officialOperation?: string;
  /** Whether the format permits a request without a prompt, from an image alone. */
  readonly isPromptOptional?: boolean;
  /** The caller's own id of the task. */
  readonly externalId?: string;
  /** Where the caller wants to be called back. */
  readonly callbackUrl?: string;
}

/** Images of a request that are not text in its body. */
export interface RequestImages {
  readonly files: readonly UploadedFile[];
  readonly bodyImages: BodyImages;
}

/** Reads the body of the unified and the OpenAI format, which share their fields. */
export function parseGenerationRequest(
  given: GenerationRequestBody,
  { files, bodyImages }: RequestImages,
  defaultModel: string | undefined,
): GenerationRequest {
  const body = toStrictBody(given);
  const model = body.model ?? defaultModel;
  if (model === undefined) throw invalidRequest('model is required.', 'model');
  // The address that is called back is checked by rules of its own.
  const { callback_url: callbackUrl, ...rest } = body;
  assertNoPrivateUrls(rest);
  if (body.duration !== undefined && body.seconds !== undefined && Number(body.seconds) !== body.duration) {
    throw invalidRequest('duration and seconds contradict each other.', 'seconds');
  }
  return {
    model,
    prompt: body.prompt ?? '',
    images: [],
    media: findMedia(body, files, bodyImages),
    seconds: body.duration ?? (body.seconds === undefined ? undefined : Number(body.seconds)),
    size: body.size,
    mode: body.mode,
    metadata: body.metadata ?? {},
    body,
    bodyImages,
    callbackUrl: callbackUrl || undefined,
  };
}

const NEVER_EMPTY = ['size', 'mode', 'duration', 'seconds', 'metadata', 'image', 'images', 'input_reference'] as const;

/** An empty text is a field that a form or a client left blank. */
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

/** What an adapter is given, once model and task are known. @throws AppError for media the model cannot take */
export function toVideoRequest(
  generation: GenerationRequest,
  resolved: Pick<VideoRequest, 'taskId' | 'model' | 'extraFields'>,
  use: MediaUse,
): VideoRequest {
  const { prompt, seconds, size, mode, metadata, officialBody, officialOperation, body, media } = generation;
  const { images, fields } = media === undefined ? { images: generation.images } : arrangeMedia(media, use);
  const native = Object.entries(body).filter(
    // Vendors call nobody back: we do.
    ([key]) => !STANDARD_FIELDS.has(key) && key !== 'callback_url' && fields?.has(key) !== true,
  );
  return {
    ...resolved,
    prompt,
    images,
    metadata,
    nativeFields: Object.fromEntries(native) as { [key: string]: Json },
    ...defined({ seconds, size, mode, officialBody, officialOperation }),
  };
}

const ACTIONS = ['textGenerate', 'generate', 'firstTailGenerate'] as const;

/** The requested operation, as the unified task's `action` names it, by the number of images. */
export function actionOf({ images, officialBody }: VideoRequest): string {
  // A vendor's own body may name a last frame beside the image.
  const count = images.length + (officialBody?.image_tail === undefined ? 0 : 1);
  return ACTIONS[count] ?? 'referenceGenerate';
}
