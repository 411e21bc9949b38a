import type { Static } from 'typebox';
import Type from 'typebox';

/** What prices of every kind are made of: terms, their exact sum, and the result. Whole numbers and BigInt, no floating point. */

const Quota = Type.Integer({ minimum: 0, maximum: 1_000_000_000_000, description: 'Whole quota.' });

/** One term of a price. All of them together, times the multipliers, are the quota before it is rounded up. */
export interface PriceLine {
  /** The key of the price, without `_per_million`; tokens that have no price of their own count as `input` or `output`. */
  readonly label: string;
  /** Calls, seconds, tokens, or units of a vendor, which may have six decimals. */
  readonly quantity: number;
  /** Whole quota for each `per` of the quantity. */
  readonly unitQuota: number;
  /** 1 for calls and seconds, a million for tokens and for rates with decimals. */
  readonly per: 1 | 1_000_000;
  /** Multipliers do not apply to it. */
  readonly isPlain?: boolean;
}

/** A multiplier that applied, with the factor and value that selected it. */
interface AppliedMultiplier {
  readonly factor: string;
  readonly value: string;
  readonly by: number;
}

interface PricedCall {
  /** Terms that are not zero, in the order they are added. */
  readonly lines: readonly PriceLine[];
  readonly multipliers: readonly AppliedMultiplier[];
  /** Integer quota, rounded up once, so that no use is free. */
  readonly quota: number;
}

/** Tokens are priced by the million. */
export const TOKENS_PER_PRICE = 1_000_000;

/** Multipliers are read as decimals of at most this many places; a price with more is refused when it is saved. */
export const MAX_MULTIPLIER_DECIMALS = 9;

/** Amounts that may have decimals, such as units of a vendor, are exact to a millionth. */
const MILLION = 1_000_000n;

/** A quantity in millionths, exact for whole numbers. */
export const toMillionths = (quantity: number): bigint =>
  Number.isInteger(quantity) ? BigInt(quantity) * MILLION : BigInt(Math.round(quantity * 1_000_000));

const MAX_QUOTA = BigInt(Number.MAX_SAFE_INTEGER);

const isCharged = ({ quantity, unitQuota }: PriceLine): boolean => quantity > 0 && unitQuota > 0;

/**
 * The sum of the terms times the multipliers, rounded up once. Multipliers are taken as the decimals they are written as:
 * 1.1 is eleven tenths.
 *
 * @throws RangeError where a multiplier is negative or not finite
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

/** Kinds of tokens that may have a price of their own, and what they cost without one. */
export const TOKEN_PARTS = {
  cached_input: 'input',
  cache_write: 'input',
  cache_write_1h: 'input',
  audio_input: 'input',
  image_input: 'input',
  audio_output: 'output',
} as const;
export type TokenPart = keyof typeof TOKEN_PARTS;
/** Each part with the whole it belongs to and the name of its rate, made once as every call needs it. */
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
};

/**
 * Price of a chat model, quota per million tokens and per call. A part without a price of its own costs what input or output
 * costs. The tier with the highest bound that the input exceeds replaces the rates it names, for the whole call.
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
export type ChatPrice = Static<typeof ChatPrice>;

/** Billable usage of a model call. Whole tokens. */
export interface TokenFacts {
  /** All input tokens, cached ones included. */
  readonly promptTokens: number;
  /** All output tokens, reasoning included. */
  readonly completionTokens: number;
  /** Tokens of these that may cost apart. No token is in two parts, so they never exceed the totals. */
  readonly parts?: Readonly<Partial<Record<TokenPart, number>>>;
}

/** What a model call costs by its tokens. At most the largest safe integer. */
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

/** The quota of `priceTokens` without the terms, for speed: this runs twice for every model call. */
export function tokenQuota(price: ChatPrice, facts: TokenFacts): number {
  if (price.tiers !== undefined || facts.parts !== undefined) return priceTokens(price, facts).quota;
  const { input_per_million: input = 0, output_per_million: output = 0, per_call: perCall = 0 } = price;
  const millionths = facts.promptTokens * input + facts.completionTokens * output + perCall * TOKENS_PER_PRICE;
  return Number.isSafeInteger(millionths) ? Math.ceil(millionths / TOKENS_PER_PRICE) : priceTokens(price, facts).quota;
}

/**
 * The most that so many tokens can cost, whatever parts they turn out to be and although fewer than `promptTokens` may be
 * read: what is reserved for a call.
 *
 * @param mayUseAudio whether any of them can be audio, which costs many times as much as text
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
  return tokenQuota(
    { input_per_million: most.input, output_per_million: most.output, per_call: price.per_call ?? 0 },
    { promptTokens: facts.promptTokens, completionTokens: facts.completionTokens },
  );
}

const AUDIO: ReadonlySet<TokenPart> = new Set(['audio_input', 'audio_output']);

/** Whether audio has a price of its own in any tier. */
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
 * The only price calculation: the usage of a call and the price of its model give price terms, and these the quota. Pure and exact (whole
 * numbers and BigInt, no floating point), so that the server, the console, the command line and the documents show the
 * same figure that is charged.
 */

/** Facts of a video or image that a line or a multiplier of its price may depend on. A price that names any other never applies. */
export const PRICE_FACTS: ReadonlySet<string> = new Set([
  'seconds',
  'resolution',
  'size',
  'quality',
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
interface MediaFacts {
  /** Whole seconds; 0 for pictures. */
  readonly seconds: number;
  /** How many pictures were made; default 1. */
  readonly images?: number;
  /** Values of the factors a price may have multipliers for, such as `{mode: 'pro', audio: 'true'}`. */
  readonly factors: Readonly<Record<string, string>>;
  readonly inputImages?: number;
  /** The vendor's own count of what it made, to a millionth; undefined: not known yet. */
  readonly units?: number;
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

/**
 * What a price is applied to, by name, as it is stored and shown in receipts. Of model calls: `input_tokens`, `output_tokens`,
 * the parts of `TOKEN_PARTS`, `images`, `surcharge` (quota). Of both: `plan_factor`. Of videos: `seconds` and the factors of their prices.
 */
export type CallFacts = Readonly<Record<string, string | number>>;

/** Amounts; multipliers are for the facts that name a choice. */
const COUNTS: ReadonlySet<string> = new Set(['seconds', 'images', 'surcharge', 'input_images', 'units', 'plan_factor']);

const PART_FACTS = Object.keys(TOKEN_PARTS) as TokenPart[];

/**
 * @param surcharge quota that is added to the price
 * @param planFactor what the plan of the account multiplies prices by
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

/** What the plan of the account multiplied the price by, as the call was charged. */
export const planFactorOf = (facts: CallFacts): number => {
  const factor = Object.hasOwn(facts, 'plan_factor') ? facts.plan_factor : undefined;
  return typeof factor === 'number' ? factor : 1;
};

/** The same call on a plan that multiplies prices: exact, and rounded up once. @throws RangeError as `priceMedia` does */
export function withPlanFactor(priced: PricedCall, factor: number): PricedCall {
  if (factor === 1) return priced;
  const multipliers = [...priced.multipliers, { factor: 'plan_factor', value: '', by: factor }];
  const quota = sumOfLines(priced.lines, multipliers);
  return { ...priced, multipliers, quota: quota > MAX_QUOTA ? Number.MAX_SAFE_INTEGER : Number(quota) };
}

/** Whole quota times a factor, rounded up; at most the largest safe integer. */
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
 * What a call costs: every charge and every receipt is this function of a price and of facts that are stored with the call.
 *
 * @throws RangeError as `priceMedia` does
 */
export function priceCall(price: Price, facts: CallFacts): PricedCall {
  const listed = isChatPrice(price) ? priceTokens(price, toTokenFacts(facts)) : priceMedia(price, toMediaFacts(facts));
  const priced = withPlanFactor(listed, planFactorOf(facts));
  const surcharge = numberOf(facts, 'surcharge');
  if (surcharge === 0) return priced;
  // On top of what multipliers apply to, and never multiplied itself.
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
    seconds: numberOf(facts, 'seconds'),
    images: Object.hasOwn(facts, 'images') ? numberOf(facts, 'images') : 1,
    factors,
  };
}

/** Whether a line may apply to a video of so many seconds. */
const isForSeconds = ({ when }: MediaLine, seconds: number): boolean =>
  when?.seconds === undefined || when.seconds.some((each) => String(each) === String(seconds));

/**
 * The least a video of so many seconds costs before its other facts are known: by the cheapest of the lines that may apply, without
 * multipliers. Quota.
 */
export function minimumVideoPrice(price: VideoPrice, seconds: number): number {
  const { lines, multipliers: _, ...rates } = price;
  if (lines === undefined) return priceMedia(rates, { seconds, factors: {} }).quota;
  const fitting = lines.filter((line) => isForSeconds(line, seconds));
  const quotas = (fitting.length > 0 ? fitting : lines).map(
    ({ when: __, ...line }) => priceMedia({ lines: [line] }, { seconds, factors: {} }).quota,
  );
  return Math.min(...quotas);
}
