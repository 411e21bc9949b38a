import Type, { type Static } from 'typebox';
import {
  type AppliedMultiplier,
  isCharged,
  MAX_QUOTA,
  type PricedCall,
  type PriceLine,
  Quota,
  sumOfLines,
} from './price-lines.ts';
import { ChatPrice } from './token-pricing.ts';

/**
 * The only price calculation: the usage of a call and the price of its model give price terms, and these the quota. Pure and exact (whole
 * numbers and BigInt, no floating point), so that the server, the console, the command line and the documents show the
 * same figure that is charged.
 */

const Factor = Type.String({ pattern: '^[a-z_]{1,32}$' });

/** Price of a video or image: `per_call + per_second × seconds`, times the multipliers that apply, rounded up. */
export const VideoPrice = Type.Object(
  {
    per_call: Type.Optional(Quota),
    per_second: Type.Optional(Quota),
    multipliers: Type.Optional(
      Type.Record(
        Factor,
        Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Type.Number({ minimum: 0, maximum: 1000 }), {
          maxProperties: 50,
        }),
        {
          maxProperties: 10,
          additionalProperties: false,
          description: 'By factor (mode, resolution, size, audio) and value: `{mode: {pro: 2}}`.',
        },
      ),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);
export type VideoPrice = Static<typeof VideoPrice>;

export const Price = Type.Union([VideoPrice, ChatPrice]);
export type Price = Static<typeof Price>;

/** Billable usage of a video or an image, as the vendor's adapter read it from the request. */
export interface MediaFacts {
  /** Whole seconds; 0 for pictures. */
  readonly seconds: number;
  /** How many pictures were made; default 1. */
  readonly images?: number;
  /** Values of the factors a price may have multipliers for, such as `{mode: 'pro', audio: 'true'}`. */
  readonly factors: Readonly<Record<string, string>>;
}

export const isChatPrice = (price: Price): price is ChatPrice =>
  'input_per_million' in price || 'output_per_million' in price;

/**
 * What a video or a picture costs. Multipliers are taken as the decimals they are written as: 1.1 is eleven tenths.
 *
 * @throws RangeError where the result is no safe integer, or a multiplier is negative or not finite
 */
export function priceMedia(price: VideoPrice, { seconds, images = 1, factors }: MediaFacts): PricedCall {
  const lines = [line('per_call', images, price.per_call), line('per_second', seconds, price.per_second)].filter(
    isCharged,
  );
  const multipliers = appliedMultipliers(price, factors);
  const quota = sumOfLines(lines, multipliers);
  if (quota > MAX_QUOTA) throw new RangeError('the price is out of range');
  return { lines, multipliers, quota: Number(quota) };
}

const line = (label: string, quantity: number, unitQuota = 0): PriceLine => ({ label, quantity, unitQuota, per: 1 });

/** Only own properties count: a request may name `constructor` as its mode. */
function appliedMultipliers({ multipliers }: VideoPrice, factors: MediaFacts['factors']): AppliedMultiplier[] {
  return Object.entries(multipliers ?? {}).flatMap(([factor, values]) => {
    const value = Object.hasOwn(factors, factor) ? factors[factor] : undefined;
    const by = value === undefined || !Object.hasOwn(values, value) ? undefined : values[value];
    return value === undefined || by === undefined ? [] : [{ factor, value, by }];
  });
}

/** Normalizes spellings that upstreams treat as the same size: `1024X1024`, `1024*1024`, `01024x1024`. */
function normalizeSize(size: string): string {
  const [, width, height] = /^\s*0*(\d+)\s*[x*×]\s*0*(\d+)\s*$/i.exec(size) ?? [];
  return width === undefined || height === undefined ? size : `${width}x${height}`;
}

/** A picture's size as the price names it, whatever its spelling in the request, so that no spelling is cheaper. */
export function findPricedSize({ multipliers }: VideoPrice, size: unknown): string | undefined {
  if (typeof size !== 'string') return undefined;
  const normalized = normalizeSize(size);
  return Object.keys(multipliers?.size ?? {}).find((named) => normalizeSize(named) === normalized) ?? size;
}
