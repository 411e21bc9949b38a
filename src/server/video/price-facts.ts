import { asObject, defined, isObject } from '../../contract/objects.ts';
import { type CallFacts, isChatPrice, type Price, type VideoPrice } from '../../contract/pricing.ts';
import type { VendorAdapter, VideoRequest } from '../vendors/adapter.ts';

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
