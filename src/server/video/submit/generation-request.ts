import type { Static } from 'typebox';
import { defined } from '../../../contract/omit-undefined.ts';
import { STANDARD_FIELDS } from '../../../contract/standard-generation-field-names.ts';
import type { VendorId } from '../../../contract/vendor-ids.ts';
import { type GenerationBody, VIDEO_JSON_LIMIT } from '../../../contract/video.ts';
import { AppError, invalidRequest } from '../../platform/app-error.ts';
import type { UploadedFile } from '../../platform/http/multipart.ts';
import type { KeptLongTexts } from '../../platform/keep-long-texts.ts';
import { isSameText, type TextInBytes } from '../../platform/long-text.ts';
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
  /** The whole body, for media schemas, native fields and the record of the task; those of its texts are cut that are in `longTexts`. */
  readonly body: { readonly [key: string]: unknown };
  readonly longTexts?: KeptLongTexts | undefined;
  /** The body in the vendor's own format, on the vendor-format routes. */
  readonly officialBody?: VideoRequest['officialBody'] | undefined;
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

/** What a request has beside the fields of its body. */
export interface RequestPictures {
  readonly files: readonly UploadedFile[];
  readonly longTexts: KeptLongTexts;
}

/** Reads the body of the unified and the OpenAI format, which share their fields. */
export function parseGenerationRequest(
  body: GenerationRequestBody,
  { files, longTexts }: RequestPictures,
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
    images: parseImages(body, files, longTexts),
    seconds,
    size: body.size,
    mode: body.mode,
    metadata: body.metadata ?? {},
    body,
    longTexts,
    callbackUrl: callbackUrl || undefined,
  };
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (seconds < 1 || seconds > 3600) throw invalidRequest('seconds must be from 1 to 3600.', 'seconds');
  return seconds;
}

/** `image`, then `images`, then `input_reference`, then uploaded parts; the same text twice counts once. */
function parseImages(
  body: GenerationRequestBody,
  files: readonly UploadedFile[],
  longTexts: KeptLongTexts,
): MediaInput[] {
  const reference = body.input_reference;
  const given: [path: string, text: string | undefined][] = [
    ['image', body.image],
    ...(body.images ?? []).map((text, index): [string, string] => [`images.${index}`, text]),
    typeof reference === 'object' ? ['input_reference.image_url', reference.image_url] : ['input_reference', reference],
  ];
  const seen: (string | TextInBytes)[] = [];
  const media: MediaInput[] = [];
  let total = 0;
  for (const [path, inBody] of given) {
    const text = longTexts.get(path) ?? inBody;
    if (text === undefined || seen.some((other) => isSameText(other, text))) continue;
    const param = path === 'input_reference.image_url' ? 'input_reference' : path;
    seen.push(text);
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
