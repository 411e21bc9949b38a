import { defined } from '../../contract/omit-undefined.ts';
import { UnsupportedRequestError } from '../upstreams/vendor-errors.ts';
import { asText } from './untrusted-json.ts';

/**
 * Price factors from a vendor's body; what is not known is left out. Sound counts where it is said either way.
 *
 * @param factors As read from the body, so a value may have any type: media schemas of administrators write into it.
 */
export const knownFactors = (factors: {
  readonly resolution?: unknown;
  readonly size?: string | undefined;
  readonly audio?: unknown;
}): { readonly [factor: string]: string } =>
  defined({
    resolution: asText(factors.resolution),
    size: factors.size,
    audio: typeof factors.audio === 'boolean' ? String(factors.audio) : undefined,
  });

const MAX_SECONDS = 3_600;

/** Whole seconds from a vendor's body, where they may be a number or a text; the price depends on them. */
export function parseSeconds(value: unknown, param: string): number {
  const seconds = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value;
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_SECONDS)
    return seconds;
  throw new UnsupportedRequestError(`${param} must be whole seconds, from 1 to ${MAX_SECONDS}.`, param);
}

/** Frames are rounded to whole macroblocks: OpenAI's own 1792x1024 is 1.6 % off 16:9. */
const RATIO_TOLERANCE = 0.02;

/** `16:9` from `1280x720` or `1280*720`, if it is one of `ratios` (within 2 %); undefined otherwise. */
export function matchAspectRatio(size: string, ratios: readonly string[]): string | undefined {
  const match = /^(\d{1,5})\s*[x*×]\s*(\d{1,5})$/i.exec(size);
  const asked = match ? Number(match[1]) / Number(match[2]) : Number.NaN;
  return ratios.find((ratio) => {
    const [width = 0, height = 1] = ratio.split(':').map(Number);
    return Math.abs(asked / (width / height) - 1) < RATIO_TOLERANCE;
  });
}

/** Refuses a common field that this vendor does not have. */
export function rejectField(param: string, why: string): never {
  throw new UnsupportedRequestError(`${param} ${why}.`, param);
}
