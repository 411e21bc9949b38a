import { asObject } from '../../../contract/is-object.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import type { ImageGeneration, ImageModel, ImageOutcome } from '../adapter-types.ts';
import { readTaskState } from '../read-task-state.ts';
import { omitUndefined, type RequestBody } from '../request-body.ts';
import { asArray, asId, asUrl, ownEntry } from '../untrusted-json.ts';
import { ERROR_CLASSES, OK, parseCode, parseError, sendAction } from './signed-calls-and-errors.ts';

/** Jimeng's image models. Source: volcengine.com/docs/85621, the image pages. Prices follow the vendor's public list. */
const IMAGE_MODELS: readonly ImageModel[] = [
  { id: 'jimeng_t2i_v30', title: 'Jimeng pictures 3.0', perCall: 14_000 },
  { id: 'jimeng_t2i_v31', title: 'Jimeng pictures 3.1', perCall: 14_000 },
  { id: 'jimeng_t2i_v40', title: 'Jimeng pictures 4.0', perCall: 14_000 },
  { id: 'jimeng_i2i_v30', title: 'Jimeng pictures 3.0, from a picture', perCall: 14_000 },
  { id: 'jimeng_seedream46_cvtob', title: 'Seedream 4.6', perCall: 16_000 },
];

/** Keys that make as many images as the prompt asks for, each of them billed, unless `force_single` is set. */
const MODELS_WITH_SEVERAL_IMAGES: ReadonlySet<string> = new Set(['jimeng_t2i_v40']);

const MAX_MESSAGE_LENGTH = 500;

/** An unknown code does not show that the request is at fault, so another channel may be tried. */
function parseImageError(response: BufferedResponse, nowMs: number): VendorError {
  const error = parseError(response, nowMs);
  const isUnknown = ownEntry(ERROR_CLASSES, error.code) === undefined;
  const message = error.message.slice(0, MAX_MESSAGE_LENGTH);
  return isUnknown ? { ...error, message, reason: 'capacity', retryable: true } : { ...error, message };
}

const failure = (reason: VendorError['reason'], message: string): VendorError => ({
  reason,
  retryable: false,
  httpStatus: 200,
  code: '',
  message,
});

export const jimengImages: ImageGeneration = {
  models: IMAGE_MODELS,

  async submit({ model, prompt, inputImages, width, height, seed }, context) {
    const urls = inputImages.filter((image) => /^https?:/i.test(image));
    const inline = inputImages.filter((image) => !/^https?:/i.test(image));
    if (urls.length > 0 && inline.length > 0)
      return { error: failure('user', 'Pictures must be given all by address, or all inline.') };
    const hasSize = width !== undefined && height !== undefined;
    const body: RequestBody = omitUndefined({
      req_key: model,
      prompt,
      image_urls: urls.length > 0 ? urls : undefined,
      binary_data_base64: inline.length > 0 ? inline : undefined,
      width: hasSize ? width : undefined,
      height: hasSize ? height : undefined,
      seed,
      force_single: MODELS_WITH_SEVERAL_IMAGES.has(model) ? true : undefined,
    });
    const response = await sendAction(context, 'submit', body);
    const envelope = asObject(response.json);
    const id = parseCode(response) === OK ? asId(asObject(envelope?.data)?.task_id) : undefined;
    return id === undefined ? { error: parseImageError(response, context.now()) } : { id };
  },

  async query(model, id, context): Promise<ImageOutcome> {
    const options = JSON.stringify({ return_url: true });
    const response = await sendAction(context, 'query', { req_key: model, task_id: id, req_json: options });
    const envelope = asObject(response.json);
    const data = asObject(envelope?.data);
    const state = readTaskState(data?.status);
    if (parseCode(response) !== OK) {
      const error = parseImageError(response, context.now());
      const isFinal = error.reason === 'policy' || error.reason === 'user' || state === 'SUCCESS';
      return isFinal ? { kind: 'failed', error } : { kind: 'working' };
    }
    if (data?.status === 'not_found' || state === 'FAILURE')
      return { kind: 'failed', error: failure('missing', 'The model provider lost the picture.') };
    if (state !== 'SUCCESS') return { kind: 'working' };
    const urls = (asArray(data?.image_urls) ?? []).map(asUrl).filter((url) => url !== undefined);
    if (urls.length > 0) return { kind: 'done', urls };
    return { kind: 'failed', error: failure('other', 'The model provider gave no picture.') };
  },
};
