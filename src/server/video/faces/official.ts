import { invalid } from '../../platform/errors.ts';
import { refuseInsideAddresses } from '../../platform/outbound/named-addresses.ts';
import { readMedia } from '../media.ts';
import type { Wish } from '../requests.ts';
import type { Json } from '../vendor.ts';

type Body = { readonly [key: string]: unknown };

const text = (body: Body, key: string): string | undefined => {
  const value = body[key];
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw invalid(`${key} must be a string.`, key);
  return value;
};

/** Kling's own body: `model_name`, `prompt`, `image`, `duration` as a string, and so on; it reaches the vendor as it came. */
export function klingWish(body: Body, family: 'text' | 'image'): Wish {
  refuseInsideAddresses(body);
  const image = text(body, 'image');
  if (family === 'image' && image === undefined && text(body, 'image_tail') === undefined)
    throw invalid('image is required.', 'image');
  const seconds = text(body, 'duration') ?? '5';
  if (!/^[1-9]\d{0,2}$/.test(seconds)) throw invalid('duration must be whole seconds, as a string.', 'duration');
  return {
    model: text(body, 'model_name') ?? 'kling-v1',
    prompt: text(body, 'prompt') ?? '',
    images: family === 'image' && image !== undefined ? [readMedia(image, 'image')] : [],
    seconds: Number(seconds),
    mode: text(body, 'mode') ?? 'std',
    metadata: {},
    body,
    official: body as { [key: string]: Json },
    officialOf: 'kling',
    officialOperation: family === 'text' ? 'text2video' : 'image2video',
  };
}

/** Jimeng's own body: `req_key` names the model. */
export function jimengWish(body: Body): Wish {
  const model = text(body, 'req_key');
  if (model === undefined) throw invalid('req_key is required.', 'req_key');
  refuseInsideAddresses(body);
  return {
    model,
    prompt: text(body, 'prompt') ?? '',
    images: [...list(body, 'image_urls'), ...list(body, 'binary_data_base64')],
    metadata: {},
    body,
    official: body as { [key: string]: Json },
    officialOf: 'jimeng',
  };
}

function list(body: Body, key: string) {
  const value = body[key] ?? [];
  if (!Array.isArray(value)) throw invalid(`${key} must be a list of strings.`, key);
  return value.map((each: unknown, index) => {
    if (typeof each !== 'string') throw invalid(`${key} must be a list of strings.`, key);
    return readMedia(each, `${key}.${index}`);
  });
}
