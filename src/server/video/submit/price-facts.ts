import { asObject, isObject } from '../../../contract/is-object.ts';
import type { CallFacts } from '../../../contract/price-calls-and-videos.ts';
import { isChatPrice, type Price, type VideoPrice } from '../../../contract/pricing.ts';
import type { VendorAdapter, VideoRequest } from '../../vendors/adapter.ts';

/** Names vendors give a video among the inputs. */
const VIDEO_INPUT = /(^|_)videos?(_|$)/;

const isGiven = (value: unknown): boolean =>
  typeof value === 'string' ? value !== '' : Array.isArray(value) ? value.length > 0 : isObject(value);

function isVideoItem(item: unknown): boolean {
  const type = asObject(item)?.type;
  return typeof type === 'string' && VIDEO_INPUT.test(type);
}

/** A field named after it, or an element of a list whose `type` says so. */
const hasVideoInput = (fields: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(fields).some(
    ([name, value]) => (VIDEO_INPUT.test(name) && isGiven(value)) || (Array.isArray(value) && value.some(isVideoItem)),
  );

const isFact = (value: unknown): value is string | number | boolean =>
  (typeof value === 'string' && value !== '' && value.length <= 64) ||
  typeof value === 'boolean' ||
  (typeof value === 'number' && Number.isSafeInteger(value));

/**
 * What the price of a request is applied to. A price of the old form sees what it always saw, the factors of the adapter, so that a
 * multiplier that never applied does not begin to; a price with lines sees every fact of the request.
 *
 * @throws UnsupportedRequestError as the adapter does
 */
export function toPriceFacts(price: Price, adapter: VendorAdapter, request: VideoRequest): CallFacts {
  const { seconds, factors } = adapter.billingFactors(request);
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
    input_video: String(hasVideoInput({ ...metadata, ...request.officialBody })),
    input_images: images.length,
    seconds,
  };
}
