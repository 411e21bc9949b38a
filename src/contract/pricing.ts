import type { Static } from 'typebox';
import Type from 'typebox';

/**
 * Building blocks of every price: terms, their exact sum, and the result. Computed in integers and BigInt, without
 * floating point.
 */

const Quota = Type.Integer({ minimum: 0, maximum: 1_000_000_000_000, description: 'Whole quota.' });

/** One term of a price. The sum of the terms times the multipliers is the quota before rounding up. */
export interface PriceLine {
  /** The price's key without `_per_million`; tokens without a price of their own count as `input` or `output`. */
  readonly label: string;
  /** Calls, seconds, tokens, or a vendor's units, which may have six decimals. */
  readonly quantity: number;
  /** Integer quota per `per` of the quantity. */
  readonly unitQuota: number;
  /** 1 for calls and seconds; a million for tokens and for rates with decimals. */
  readonly per: 1 | 1_000_000;
  /** The term is exempt from multipliers. */
  readonly isPlain?: boolean;
}

/** A multiplier that was applied, with the factor and value that selected it. */
interface AppliedMultiplier {
  readonly factor: string;
  readonly value: string;
  readonly by: number;
}

interface PricedCall {
  /** Non-zero terms, in the order of addition. */
  readonly lines: readonly PriceLine[];
  readonly multipliers: readonly AppliedMultiplier[];
  /** Integer quota, rounded up once, so that no usage is free. */
  readonly quota: number;
}

/** Token prices are per million tokens. */
export const TOKENS_PER_PRICE = 1_000_000;

/** Maximum decimal places of a multiplier; a price with more is rejected when saved. */
export const MAX_MULTIPLIER_DECIMALS = 9;

/** Amounts that may have decimals, such as a vendor's units, are exact to a millionth. */
const MILLION = 1_000_000n;

/** A quantity in millionths, exact for whole numbers. */
export const toMillionths = (quantity: number): bigint =>
  Number.isInteger(quantity) ? BigInt(quantity) * MILLION : BigInt(Math.round(quantity * 1_000_000));

const MAX_QUOTA = BigInt(Number.MAX_SAFE_INTEGER);

const isCharged = ({ quantity, unitQuota }: PriceLine): boolean => quantity > 0 && unitQuota > 0;

/**
 * Sum of the terms times the multipliers, rounded up once. Multipliers are exact decimals: 1.1 is eleven tenths.
 *
 * @throws RangeError if a multiplier is negative or not finite
 */
function sumOfLines(lines: readonly PriceLine[], multipliers: readonly AppliedMultiplier[]): bigint {
  let numerator = 0n;
  for (const { quantity, unitQuota, per } of lines)
    numerator += toMillionths(quantity) * BigInt(unitQuota) * BigInt(TOKENS_PER_PRICE / per);
  let denominator = MILLION * BigInt(TOKENS_PER_PRICE);
  for (const { by } of multipliers) {
    const [top, bottom] = toFraction(by);
    numerator *= top;
    denominator *= bottom;
  }
  return (numerator + denominator - 1n) / denominator;
}

function toFraction(value: number): [numerator: bigint, denominator: bigint] {
  if (!Number.isFinite(value) || value < 0) throw new RangeError('a multiplier is a number, not negative');
  const [whole = '0', decimals = ''] = value.toFixed(MAX_MULTIPLIER_DECIMALS).split('.');
  return [BigInt(whole + decimals), 10n ** BigInt(decimals.length)];
}

/** Kinds of tokens that may have a price of their own, with the rate that applies otherwise. */
export const TOKEN_PARTS = {
  cached_input: 'input',
  cache_write: 'input',
  cache_write_1h: 'input',
  audio_input: 'input',
  image_input: 'input',
  audio_output: 'output',
  image_output: 'output',
} as const;
/** Kind of tokens that may have a price of its own. */
export type TokenPart = keyof typeof TOKEN_PARTS;
/** Each part with its total and the name of its rate. */
const PARTS = Object.entries(TOKEN_PARTS).map(
  ([part, whole]) => [part as TokenPart, whole, `${part as TokenPart}_per_million`] as const,
);

const RATES = {
  input_per_million: Type.Optional(Quota),
  output_per_million: Type.Optional(Quota),
  cached_input_per_million: Type.Optional(Quota),
  cache_write_per_million: Type.Optional(Quota),
  cache_write_1h_per_million: Type.Optional(Quota),
  audio_input_per_million: Type.Optional(Quota),
  image_input_per_million: Type.Optional(Quota),
  audio_output_per_million: Type.Optional(Quota),
  image_output_per_million: Type.Optional(Quota),
};

/**
 * Price of a chat model: quota per million tokens and per call. A part without its own price costs the input or output
 * rate. The highest tier whose threshold the input exceeds replaces the rates it names, for the whole call.
 */
export const ChatPrice = Type.Object(
  {
    ...RATES,
    per_call: Type.Optional(Quota),
    tiers: Type.Optional(
      Type.Array(
        Type.Object(
          {
            above_input_tokens: Type.Integer({ minimum: 1, maximum: 100_000_000, description: 'All input tokens.' }),
            ...RATES,
          },
          { additionalProperties: false, minProperties: 2 },
        ),
        { maxItems: 10 },
      ),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);
/** Price of a chat model. */
export type ChatPrice = Static<typeof ChatPrice>;

/** Billable usage of a model call, in whole tokens. */
export interface TokenFacts {
  /** All input tokens, including cached ones. */
  readonly promptTokens: number;
  /** All output tokens, including reasoning. */
  readonly completionTokens: number;
  /**
   * Subsets of these tokens that may have their own price. Subsets are disjoint, so their sum never exceeds the totals.
   */
  readonly parts?: Readonly<Partial<Record<TokenPart, number>>>;
}

/** Price of a model call, computed from its tokens. At most the largest safe integer. */
export function priceTokens(price: ChatPrice, facts: TokenFacts): PricedCall {
  const rates = ratesFor(price, facts.promptTokens);
  const left = { input: facts.promptTokens, output: facts.completionTokens };
  const apart: PriceLine[] = [];
  for (const [part, whole, rate] of PARTS) {
    const unitQuota = rates[rate];
    if (unitQuota === undefined) continue;
    const quantity = Math.min(facts.parts?.[part] ?? 0, left[whole]);
    left[whole] -= quantity;
    apart.push({ label: part, quantity, unitQuota, per: TOKENS_PER_PRICE });
  }
  const lines: PriceLine[] = [
    { label: 'per_call', quantity: 1, unitQuota: price.per_call ?? 0, per: 1 },
    { label: 'input', quantity: left.input, unitQuota: rates.input_per_million ?? 0, per: TOKENS_PER_PRICE },
    { label: 'output', quantity: left.output, unitQuota: rates.output_per_million ?? 0, per: TOKENS_PER_PRICE },
    ...apart,
  ];
  const charged = lines.filter(isCharged);
  const quota = sumOfLines(charged, []);
  return { lines: charged, multipliers: [], quota: quota > MAX_QUOTA ? Number.MAX_SAFE_INTEGER : Number(quota) };
}

/**
 * Upper bound for the cost of a call, used for its reservation: covers any split into parts, and fewer input tokens
 * than `promptTokens`.
 *
 * @param mayUseAudio whether any of the tokens can be audio, which costs many times as much as text
 */
export function maxTokenQuota(price: ChatPrice, facts: TokenFacts, mayUseAudio: boolean): number {
  const most = { input: 0, output: 0 };
  const reachable = (price.tiers ?? []).filter((tier) => tier.above_input_tokens < facts.promptTokens);
  for (const rates of [price, ...reachable]) {
    most.input = Math.max(most.input, rates.input_per_million ?? 0);
    most.output = Math.max(most.output, rates.output_per_million ?? 0);
    for (const [part, whole, rate] of PARTS)
      if (mayUseAudio || !AUDIO.has(part)) most[whole] = Math.max(most[whole], rates[rate] ?? 0);
  }
  return priceTokens(
    { input_per_million: most.input, output_per_million: most.output, per_call: price.per_call ?? 0 },
    { promptTokens: facts.promptTokens, completionTokens: facts.completionTokens },
  ).quota;
}

const AUDIO: ReadonlySet<TokenPart> = new Set(['audio_input', 'audio_output']);

/** Whether any tier has a separate price for audio. */
export const hasAudioRate = (price: ChatPrice): boolean =>
  [price, ...(price.tiers ?? [])].some(
    (rates) => rates.audio_input_per_million !== undefined || rates.audio_output_per_million !== undefined,
  );

function ratesFor(price: ChatPrice, promptTokens: number): Omit<ChatPrice, 'tiers'> {
  let reached: NonNullable<ChatPrice['tiers']>[number] | undefined;
  for (const tier of price.tiers ?? [])
    if (promptTokens > tier.above_input_tokens && tier.above_input_tokens > (reached?.above_input_tokens ?? 0))
      reached = tier;
  return reached === undefined ? price : { ...price, ...reached };
}

/**
 * The only price calculation: usage and price give price terms, and the terms give quota. Pure and exact (integers and
 * BigInt, no floating point), so that server, console, command line and documents show exactly the figure that is
 * charged.
 */

/**
 * Facts of a video or image that a price line or multiplier may depend on. A price that names an unknown fact never
 * applies.
 */
export const PRICE_FACTS: ReadonlySet<string> = new Set([
  'seconds',
  'resolution',
  'size',
  'quality',
  'ratio',
  'mode',
  'audio',
  'input_images',
  'input_seconds',
  'input_video',
  'frames',
  'units',
]);

/** Prices stored by earlier releases may name other facts; a price being saved may not. */
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

/**
 * A price line that depends on facts. `when` lists facts with their accepted values; a line without `when` always
 * matches.
 */
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
    per_input_second: Type.Optional(Quota),
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
/** A price line that depends on facts. */
export type MediaLine = Static<typeof MediaLine>;

/**
 * Price of a video or image: `per_call + per_second × seconds`, or the first matching entry of `lines`, times the
 * applicable multipliers, rounded up. With `settle_by: "vendor"` the vendor's own figures are charged, up to the
 * reserved amount.
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
/** Price of a video or image. */
export type VideoPrice = Static<typeof VideoPrice>;

/** Price of a model of any kind. */
export const Price = Type.Union([VideoPrice, ChatPrice]);
/** Price of a model of any kind. */
export type Price = Static<typeof Price>;

/** Billable usage of a video or an image, read from the request by the vendor's adapter. */
interface MediaFacts {
  /** Whole seconds; 0 for images. */
  readonly seconds: number;
  /** Number of generated images; default 1. */
  readonly images?: number;
  /** Values of the factors a price may have multipliers for, such as `{mode: 'pro', audio: 'true'}`. */
  readonly factors: Readonly<Record<string, string>>;
  readonly inputImages?: number;
  /** Whole seconds of the input videos and audio files, rounded up file by file. */
  readonly inputSeconds?: number;
  /** The vendor's own count of billed units, exact to a millionth; undefined: not known yet. */
  readonly units?: number;
}

/** Thrown when no price line matches. */
export class UnpricedError extends Error {}

/** Whether the price is that of a chat model. */
export const isChatPrice = (price: Price): price is ChatPrice =>
  'input_per_million' in price || 'output_per_million' in price;

/**
 * Price of a video or an image. Multipliers are exact decimals: 1.1 is eleven tenths.
 *
 * @throws RangeError if the result is not a safe integer, or a multiplier is negative or not finite
 * @throws UnpricedError if no line matches
 */
export function priceMedia(price: VideoPrice, facts: MediaFacts): PricedCall {
  const { seconds, images = 1, inputImages = 0, inputSeconds = 0 } = facts;
  const rates: MediaLine = price.lines === undefined ? price : fittingLine(price.lines, facts);
  const lines = [
    line('per_call', images, rates.per_call),
    line('per_second', seconds, rates.per_second),
    line('per_input_image', inputImages, rates.per_input_image),
    line('per_input_second', inputSeconds, rates.per_input_second),
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

function factValue(
  { seconds, inputImages = 0, inputSeconds = 0, units, factors }: MediaFacts,
  name: string,
): string | undefined {
  if (name === 'seconds') return String(seconds);
  if (name === 'input_images') return String(inputImages);
  if (name === 'input_seconds') return String(inputSeconds);
  if (name === 'units') return units === undefined ? undefined : String(units);
  return Object.hasOwn(factors, name) ? factors[name] : undefined;
}

const line = (label: string, quantity: number, unitQuota = 0): PriceLine => ({ label, quantity, unitQuota, per: 1 });

/** Rates and counts with decimals are exact to a millionth. */
const MICRO = 1_000_000;

/** Maximum units a video can be billed; reserved until the vendor reports the actual count. */
const maxUnits = ({ max_units: fixed = 0, max_units_per_second: each = 0 }: MediaLine, seconds: number): number =>
  Math.round((fixed + each * seconds) * MICRO) / MICRO;

const unitLine = (quantity: number, rate = 0): PriceLine =>
  Number.isInteger(rate)
    ? line('per_unit', quantity, rate)
    : { label: 'per_unit', quantity, unitQuota: Math.round(rate * MICRO), per: MICRO };

/** Own properties only: a request may name `constructor` as its mode. */
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

/** The price's name for an image size, whatever its spelling in the request, so that no spelling is cheaper. */
export function findPricedSize({ multipliers }: VideoPrice, size: unknown): string | undefined {
  if (typeof size !== 'string') return undefined;
  const normalized = normalizeSize(size);
  return Object.keys(multipliers?.size ?? {}).find((named) => normalizeSize(named) === normalized) ?? size;
}

/**
 * Named inputs of a price calculation, as stored and shown in receipts. Model calls: `input_tokens`, `output_tokens`,
 * the parts of `TOKEN_PARTS`, `images`, `surcharge` (quota). Both kinds: `plan_factor`. Videos: `seconds` and the
 * factors of their prices.
 */
export type CallFacts = Readonly<Record<string, string | number>>;

/** Facts that are amounts; multipliers only apply to facts that name a choice. */
const COUNTS: ReadonlySet<string> = new Set([
  'seconds',
  'images',
  'surcharge',
  'input_images',
  'input_seconds',
  'units',
  'plan_factor',
]);

const PART_FACTS = Object.keys(TOKEN_PARTS) as TokenPart[];

/**
 * @param surcharge quota added to the price
 * @param planFactor multiplier of the account's plan
 */
export function toTokenCallFacts(
  { promptTokens, completionTokens, parts }: TokenFacts,
  surcharge: number,
  planFactor = 1,
): CallFacts {
  const facts: Record<string, number> = { input_tokens: promptTokens, output_tokens: completionTokens };
  if (parts !== undefined) for (const part of PART_FACTS) if ((parts[part] ?? 0) > 0) facts[part] = parts[part] ?? 0;
  if (surcharge > 0) facts.surcharge = surcharge;
  if (planFactor !== 1) facts.plan_factor = planFactor;
  return facts;
}

/** The multiplier of the account's plan at the time of the charge. */
export const planFactorOf = (facts: CallFacts): number => {
  const factor = Object.hasOwn(facts, 'plan_factor') ? facts.plan_factor : undefined;
  return typeof factor === 'number' ? factor : 1;
};

/** Applies a plan's multiplier to a priced call: exact, and rounded up once. @throws RangeError as `priceMedia` does */
export function withPlanFactor(priced: PricedCall, factor: number): PricedCall {
  if (factor === 1) return priced;
  const multipliers = [...priced.multipliers, { factor: 'plan_factor', value: '', by: factor }];
  const quota = sumOfLines(priced.lines, multipliers);
  return { ...priced, multipliers, quota: quota > MAX_QUOTA ? Number.MAX_SAFE_INTEGER : Number(quota) };
}

/** Integer quota times a factor, rounded up; at most the largest safe integer. */
export function scaleQuota(quota: number, factor: number): number {
  if (factor === 1) return quota;
  const line: PriceLine = { label: '', quantity: 1, unitQuota: quota, per: 1 };
  return withPlanFactor({ lines: [line], multipliers: [], quota }, factor).quota;
}

const numberOf = (facts: CallFacts, name: string): number => {
  const value = Object.hasOwn(facts, name) ? facts[name] : undefined;
  return typeof value === 'number' ? value : 0;
};

/**
 * Price of a call. Every charge and every receipt is this function of a price and the facts stored with the call.
 *
 * @throws RangeError as `priceMedia` does
 */
export function priceCall(price: Price, facts: CallFacts): PricedCall {
  const listed = isChatPrice(price) ? priceTokens(price, toTokenFacts(facts)) : priceMedia(price, toMediaFacts(facts));
  const priced = withPlanFactor(listed, planFactorOf(facts));
  const surcharge = numberOf(facts, 'surcharge');
  if (surcharge === 0) return priced;
  // Added after the multipliers and never multiplied itself.
  const line: PriceLine = { label: 'surcharge', quantity: 1, unitQuota: surcharge, per: 1, isPlain: true };
  return {
    ...priced,
    lines: [...priced.lines, line],
    quota: Math.min(priced.quota + surcharge, Number.MAX_SAFE_INTEGER),
  };
}

function toTokenFacts(facts: CallFacts): TokenFacts {
  const parts = Object.fromEntries(PART_FACTS.map((part) => [part, numberOf(facts, part)]));
  return { promptTokens: numberOf(facts, 'input_tokens'), completionTokens: numberOf(facts, 'output_tokens'), parts };
}

function toMediaFacts(facts: CallFacts) {
  const named = Object.entries(facts).filter(([name]) => !COUNTS.has(name));
  const factors = Object.fromEntries(named.map(([name, value]) => [name, String(value)]));
  return {
    units: Object.hasOwn(facts, 'units') ? numberOf(facts, 'units') : undefined,
    inputImages: numberOf(facts, 'input_images'),
    inputSeconds: numberOf(facts, 'input_seconds'),
    seconds: numberOf(facts, 'seconds'),
    images: Object.hasOwn(facts, 'images') ? numberOf(facts, 'images') : 1,
    factors,
  };
}

/** Whether a line may apply to a video of that many seconds. */
const isForSeconds = ({ when }: MediaLine, seconds: number): boolean =>
  when?.seconds === undefined || when.seconds.some((each) => String(each) === String(seconds));

/**
 * Minimum price of a video of that many seconds while its other facts are unknown: the cheapest possible line, without
 * multipliers. If only the source is priced, as by models that edit, the source has that many seconds. Quota.
 */
export function minimumVideoPrice(price: VideoPrice, seconds: number): number {
  const { lines, multipliers: _, ...rates } = price;
  if (lines === undefined) return priceMedia(rates, { seconds, factors: {} }).quota;
  const fitting = lines.filter((line) => isForSeconds(line, seconds));
  const minimum = (inputSeconds: number): number => {
    const quotas = (fitting.length > 0 ? fitting : lines).map(
      ({ when: __, ...line }) => priceMedia({ lines: [line] }, { seconds, inputSeconds, factors: {} }).quota,
    );
    return Math.min(...quotas);
  };
  return minimum(0) || minimum(seconds);
}
