import type { Static } from 'typebox';
import { defined } from '../../../contract/omit-undefined.ts';
import { STANDARD_FIELDS } from '../../../contract/standard-generation-field-names.ts';
import type { VendorId } from '../../../contract/vendor-ids.ts';
import { type GenerationBody, VIDEO_JSON_LIMIT } from '../../../contract/video.ts';
import { AppError, invalidRequest } from '../../platform/app-error.ts';
import type { UploadedFile } from '../../platform/http/multipart.ts';
import { assertNoPrivateUrls } from '../../platform/outbound/assert-no-private-urls.ts';
import type { Json, MediaInput, VideoRequest } from '../../vendors/adapter-types.ts';
import { fromUpload, parseMedia } from './parse-image-input.ts';

export type GenerationRequestBody = Partial<Static<typeof GenerationBody>> & { readonly [key: string]: unknown };

/** A request for a video as every format parses it, before its model and vendor are known. */
export interface GenerationRequest {
  readonly model: string;
  readonly prompt: string;
  readonly images: readonly MediaInput[];
  readonly seconds?: number | undefined;
  readonly size?: string | undefined;
  readonly mode?: string | undefined;
  readonly metadata: { readonly [key: string]: unknown };
  /** The whole body, for media schemas, native fields and the record of the task. */
  readonly body: { readonly [key: string]: unknown };
  /** The body in the vendor's own format, on the vendor-format routes. */
  readonly officialBody?: { readonly [key: string]: Json } | undefined;
  /** With `officialBody`: whose format it is; other vendors' models cannot be requested with it. */
  readonly officialVendor?: VendorId | undefined;
  /** With `officialBody`: the vendor's operation that was called. */
  readonly officialOperation?: string | undefined;
  /** Whether the format permits a request without a prompt, from an image alone. */
  readonly isPromptOptional?: boolean | undefined;
  /** The caller's own id of the task. */
  readonly externalId?: string | undefined;
  /** Where the caller wants to be called back. */
  readonly callbackUrl?: string | undefined;
}

/** Reads the body of the unified and the OpenAI format, which share their fields. */
export function parseGenerationRequest(
  body: GenerationRequestBody,
  files: readonly UploadedFile[],
  defaultModel: string | undefined,
): GenerationRequest {
  const model = body.model ?? defaultModel;
  if (model === undefined) throw invalidRequest('model is required.', 'model');
  // The address that is called back is checked by rules of its own.
  const { callback_url: callbackUrl, ...rest } = body;
  assertNoPrivateUrls(rest);
  if (body.duration !== undefined && body.seconds !== undefined && Number(body.seconds) !== body.duration) {
    throw invalidRequest('duration and seconds contradict each other.', 'seconds');
  }
  const seconds = body.duration ?? (body.seconds === undefined ? undefined : parseSeconds(body.seconds));
  return {
    model,
    prompt: body.prompt ?? '',
    images: parseImages(body, files),
    seconds,
    size: body.size,
    mode: body.mode,
    metadata: body.metadata ?? {},
    body,
    callbackUrl: callbackUrl || undefined,
  };
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (seconds < 1 || seconds > 3600) throw invalidRequest('seconds must be from 1 to 3600.', 'seconds');
  return seconds;
}

/** `image`, then `images`, then `input_reference`, then uploaded parts; the same text twice counts once. */
function parseImages(body: GenerationRequestBody, files: readonly UploadedFile[]): MediaInput[] {
  const reference = body.input_reference;
  const texts: [string, string][] = [
    ...(body.image === undefined ? [] : [['image', body.image] as [string, string]]),
    ...(body.images ?? []).map((text, index): [string, string] => [`images.${index}`, text]),
    ...(reference === undefined
      ? []
      : [['input_reference', typeof reference === 'string' ? reference : reference.image_url] as [string, string]]),
  ];
  const seen = new Set<string>();
  const media: MediaInput[] = [];
  let total = 0;
  for (const [param, text] of texts) {
    if (seen.has(text)) continue;
    seen.add(text);
    total += text.length;
    if (total > VIDEO_JSON_LIMIT) throw new AppError('body_too_large', { params: { limit: '32 MB' }, param });
    media.push(parseMedia(text, param));
  }
  return [...media, ...files.map(fromUpload)];
}

/** What an adapter is given, once model and task are known. */
export function toVideoRequest(
  { prompt, images, seconds, size, mode, metadata, officialBody, officialOperation, body }: GenerationRequest,
  resolved: Pick<VideoRequest, 'taskId' | 'model' | 'extraFields'>,
): VideoRequest {
  const native = Object.entries(body).filter(
    // Vendors call nobody back: we do.
    ([key]) => !STANDARD_FIELDS.has(key) && key !== 'callback_url',
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
export function actionOf({ images, officialBody }: GenerationRequest): string {
  // A vendor's own body may name a last frame beside the image.
  const count = images.length + (officialBody?.image_tail === undefined ? 0 : 1);
  return ACTIONS[count] ?? 'referenceGenerate';
}
