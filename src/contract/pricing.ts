import Type, { type Static } from 'typebox';
import {
  type AppliedMultiplier,
  isCharged,
  MAX_QUOTA,
  type PricedCall,
  type PriceLine,
  Quota,
  sumOfLines,
} from './price-terms-and-exact-sum.ts';
import { ChatPrice } from './token-prices-and-cost-calculation.ts';

/**
 * The only price calculation: the usage of a call and the price of its model give price terms, and these the quota. Pure and exact (whole
 * numbers and BigInt, no floating point), so that the server, the console, the command line and the documents show the
 * same figure that is charged.
 */

/** Facts of a video or image that a line or a multiplier of its price may depend on. A price that names any other never applies. */
export const PRICE_FACTS: ReadonlySet<string> = new Set([
  'seconds',
  'resolution',
  'size',
  'ratio',
  'mode',
  'audio',
  'input_images',
  'input_video',
  'frames',
  'units',
]);

/** Prices stored by earlier releases may name others; a price that is saved may not. */
const Factor = Type.String({ pattern: '^[a-z_]{1,32}$', description: [...PRICE_FACTS].join(', ') });

const Multipliers = Type.Record(
  Factor,
  Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Type.Number({ minimum: 0, maximum: 1000 }), {
    maxProperties: 50,
  }),
  {
    maxProperties: 10,
    additionalProperties: false,
    description: 'By factor (mode, resolution, size, audio) and value: `{mode: {pro: 2}}`.',
  },
);

/** A line of a price that depends on facts. `when` names facts and the values they may have; without it a line always fits. */
const MediaLine = Type.Object(
  {
    when: Type.Optional(
      Type.Record(
        Factor,
        Type.Array(
          Type.Union([Type.String({ minLength: 1, maxLength: 64 }), Type.Integer({ minimum: 0 }), Type.Boolean()]),
          { minItems: 1, maxItems: 100 },
        ),
        { maxProperties: 10, additionalProperties: false },
      ),
    ),
    per_call: Type.Optional(Quota),
    per_second: Type.Optional(Quota),
    per_input_image: Type.Optional(Quota),
    per_unit: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1_000_000_000, description: 'May have six decimals: a token costs little.' }),
    ),
    max_units: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1_000_000_000, description: 'With per_unit: what is reserved for.' }),
    ),
    max_units_per_second: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1_000_000_000, description: 'Reserved for on top, for each second.' }),
    ),
  },
  { additionalProperties: false },
);
export type MediaLine = Static<typeof MediaLine>;

/**
 * Price of a video or image: `per_call + per_second × seconds`, or the first of `lines` that fits its facts, times the multipliers that
 * apply, rounded up. With `settle_by: "vendor"` the vendor's own figures are charged, never more than was reserved.
 */
export const VideoPrice = Type.Object(
  {
    per_call: Type.Optional(Quota),
    per_second: Type.Optional(Quota),
    lines: Type.Optional(Type.Array(MediaLine, { minItems: 1, maxItems: 50 })),
    multipliers: Type.Optional(Multipliers),
    settle_by: Type.Optional(Type.Enum(['request', 'vendor'])),
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
  readonly inputImages?: number;
  /** The vendor's own count of what it made, to a millionth; undefined: not known yet. */
  readonly units?: number | undefined;
}

/** No line of a price fits. */
export class UnpricedError extends Error {}

export const isChatPrice = (price: Price): price is ChatPrice =>
  'input_per_million' in price || 'output_per_million' in price;

/**
 * What a video or a picture costs. Multipliers are taken as the decimals they are written as: 1.1 is eleven tenths.
 *
 * @throws RangeError where the result is no safe integer, or a multiplier is negative or not finite
 * @throws UnpricedError where no line fits
 */
export function priceMedia(price: VideoPrice, facts: MediaFacts): PricedCall {
  const { seconds, images = 1, inputImages = 0 } = facts;
  const rates: MediaLine = price.lines === undefined ? price : fittingLine(price.lines, facts);
  const lines = [
    line('per_call', images, rates.per_call),
    line('per_second', seconds, rates.per_second),
    line('per_input_image', inputImages, rates.per_input_image),
    unitLine(facts.units ?? maxUnits(rates, seconds), rates.per_unit),
  ].filter(isCharged);
  const multipliers = appliedMultipliers(price, facts.factors);
  const quota = sumOfLines(lines, multipliers);
  if (quota > MAX_QUOTA) throw new RangeError('the price is out of range');
  return { lines, multipliers, quota: Number(quota) };
}

/** @throws UnpricedError */
function fittingLine(lines: readonly MediaLine[], facts: MediaFacts): MediaLine {
  const found = lines.find(({ when = {} }) =>
    Object.entries(when).every(([name, values]) => {
      const value = factValue(facts, name);
      return value !== undefined && values.some((each) => String(each) === value);
    }),
  );
  if (found === undefined) throw new UnpricedError('no line of the price fits');
  return found;
}

function factValue({ seconds, inputImages = 0, units, factors }: MediaFacts, name: string): string | undefined {
  if (name === 'seconds') return String(seconds);
  if (name === 'input_images') return String(inputImages);
  if (name === 'units') return units === undefined ? undefined : String(units);
  return Object.hasOwn(factors, name) ? factors[name] : undefined;
}

const line = (label: string, quantity: number, unitQuota = 0): PriceLine => ({ label, quantity, unitQuota, per: 1 });

/** Rates and counts that may have decimals are exact to this part. */
const MICRO = 1_000_000;

/** The most units a video can be billed: what is reserved for until the vendor has counted. */
const maxUnits = ({ max_units: fixed = 0, max_units_per_second: each = 0 }: MediaLine, seconds: number): number =>
  Math.round((fixed + each * seconds) * MICRO) / MICRO;

const unitLine = (quantity: number, rate = 0): PriceLine =>
  Number.isInteger(rate)
    ? line('per_unit', quantity, rate)
    : { label: 'per_unit', quantity, unitQuota: Math.round(rate * MICRO), per: MICRO };

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
