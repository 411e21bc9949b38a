import { invalidRequest } from '../../platform/app-error.ts';
import { isBase64, type KeptLongTexts, NO_LONG_TEXTS, withLongTexts } from '../../platform/long-text.ts';
import { assertNoPrivateUrls, assertPublicUrl } from '../../platform/outbound/guard.ts';
import type { MediaInput } from '../../vendors/adapter.ts';
import type { GenerationRequest } from '../submit/generation-request.ts';
import { parseMedia, withoutDataUrlPrefix } from '../submit/parse-image-input.ts';

type Body = { readonly [key: string]: unknown };

export type KlingOperation = 'text2video' | 'image2video' | 'omni-video';

const MAX_EXTERNAL_ID_LENGTH = 200;

/**
 * A request in Kling's own format: `model_name` (or `model`), `prompt`, `image`, `duration` as a string, and so on. All other
 * fields reach the vendor unchanged.
 */
export function parseKlingRequest(
  given: Body,
  operation: KlingOperation,
  longTexts: KeptLongTexts = NO_LONG_TEXTS,
): GenerationRequest {
  const body = toStrictBody(given, KLING_FIELDS);
  assertNoPrivateUrls({ ...body, callback_url: undefined });
  const image = optionalText(body, 'image');
  if (operation === 'image2video' && image === undefined && optionalText(body, 'image_tail') === undefined)
    throw invalidRequest('image is required.', 'image');
  const seconds = optionalText(body, 'duration') ?? '5';
  if (!/^[1-9]\d{0,2}$/.test(seconds)) throw invalidRequest('duration must be whole seconds, as a string.', 'duration');
  const { model_name: _, model: __, ...rest } = body;
  const model = klingModelOf(body, operation);
  return {
    model,
    prompt: optionalText(body, 'prompt') ?? '',
    // The omni endpoint takes a prompt for each shot instead.
    isPromptOptional: operation === 'image2video' || (operation === 'omni-video' && body.multi_shot === true),
    images:
      operation === 'image2video' && image !== undefined ? [parseMedia(longTexts.get('image') ?? image, 'image')] : [],
    seconds: Number(seconds),
    mode: optionalText(body, 'mode') ?? 'std',
    metadata: {},
    body,
    longTexts,
    officialBody: { ...toOfficialBody(rest, longTexts), model_name: model },
    officialVendor: 'kling',
    officialOperation: operation,
    callbackUrl: callbackUrlOf(body),
  };
}

/** The vendor's defaults of its endpoints. */
function klingModelOf(body: Body, operation: KlingOperation): string {
  const [modelName, model] = [optionalText(body, 'model_name'), optionalText(body, 'model')];
  if (modelName !== undefined && model !== undefined && modelName !== model)
    throw invalidRequest('model and model_name contradict each other.', 'model');
  return modelName ?? model ?? (operation === 'omni-video' ? 'kling-video-o1' : 'kling-v1');
}

/** The caller's own id of a task, by which it can be found later. @throws AppError `invalid_request` */
export function externalIdOf(body: Body): string | undefined {
  const id = optionalText(withoutNulls(body), 'external_task_id');
  if (id !== undefined && id.length > MAX_EXTERNAL_ID_LENGTH)
    throw invalidRequest(
      `external_task_id must have at most ${MAX_EXTERNAL_ID_LENGTH} characters.`,
      'external_task_id',
    );
  return id || undefined;
}

/** A request in Jimeng's own format, where `req_key` names the model. */
export function parseJimengRequest(given: Body, longTexts: KeptLongTexts = NO_LONG_TEXTS): GenerationRequest {
  const body = toStrictBody(given, JIMENG_FIELDS);
  const model = optionalText(body, 'req_key');
  if (model === undefined) throw invalidRequest('req_key is required.', 'req_key');
  assertNoPrivateUrls({ ...body, callback_url: undefined });
  return {
    model,
    prompt: optionalText(body, 'prompt') ?? '',
    images: [
      ...parseMediaList(body, 'image_urls', longTexts),
      ...parseMediaList(body, 'binary_data_base64', longTexts),
    ],
    metadata: {},
    body,
    longTexts,
    officialBody: toOfficialBody(body, longTexts),
    officialVendor: 'jimeng',
    callbackUrl: callbackUrlOf(body),
  };
}

/** What the vendor gets. Pictures stay in the bytes; any other long text is checked whole, and JSON may have to write it otherwise. */
function toOfficialBody(body: Body, longTexts: KeptLongTexts): NonNullable<GenerationRequest['officialBody']> {
  const official = withLongTexts(body, longTexts, (text, path) => {
    const bare = withoutDataUrlPrefix(text);
    if (isBase64(bare)) return bare;
    const whole = String(text);
    assertPublicUrl(path, whole);
    return whole;
  });
  return official as NonNullable<GenerationRequest['officialBody']>;
}

/** The vendors' clients send null for fields they leave out. */
const withoutNulls = (body: Body): Body =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));

/** How a vendor writes fields that clients send as a text or as a number, and its fields of media. */
interface NativeFields {
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
  readonly media: readonly string[];
}
const KLING_FIELDS: NativeFields = {
  texts: ['duration', 'external_task_id'],
  numbers: ['cfg_scale'],
  media: ['image', 'image_tail', 'static_mask', 'image_list', 'video_list'],
};
const JIMENG_FIELDS: NativeFields = {
  texts: ['task_id'],
  numbers: ['seed', 'frames'],
  media: ['image_urls', 'binary_data_base64'],
};

const bareOf = (value: unknown): unknown => (typeof value === 'string' ? withoutDataUrlPrefix(value) : value);

/** The body as its vendor documents it: null and empty media are left out, Base64 is bare, numbers have the vendor's form. */
function toStrictBody(given: Body, { texts, numbers, media }: NativeFields): Body {
  const body: Record<string, unknown> = withoutNulls(given);
  for (const field of media) {
    const value = body[field];
    if (value === '' || (Array.isArray(value) && value.every((each) => each === null || each === '')))
      delete body[field];
    else if (value !== undefined) body[field] = Array.isArray(value) ? value.map(bareOf) : bareOf(value);
  }
  for (const field of texts) if (Number.isSafeInteger(body[field])) body[field] = String(body[field]);
  for (const field of numbers) {
    const value = body[field];
    if (typeof value === 'string' && /^ *-?\d{1,15}(\.\d{1,15})? *$/.test(value)) body[field] = Number(value);
  }
  return body;
}

/** Where the caller wants to be called back; an empty text counts as absent. The submit checks the address. */
function callbackUrlOf(body: Body): string | undefined {
  const url = optionalText(body, 'callback_url') || undefined;
  if (url !== undefined && url.length > 2_000) throw invalidRequest('callback_url is too long.', 'callback_url');
  return url;
}

function optionalText(body: Body, key: string): string | undefined {
  const value = body[key];
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw invalidRequest(`${key} must be a string.`, key);
  return value;
}

function parseMediaList(body: Body, key: string, longTexts: KeptLongTexts): MediaInput[] {
  const value = body[key] ?? [];
  if (!Array.isArray(value)) throw invalidRequest(`${key} must be a list of strings.`, key);
  return value.map((each: unknown, index) => {
    if (typeof each !== 'string') throw invalidRequest(`${key} must be a list of strings.`, key);
    const param = `${key}.${index}`;
    return parseMedia(longTexts.get(param) ?? each, param);
  });
}
