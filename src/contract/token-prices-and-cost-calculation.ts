import Type, { type Static } from 'typebox';
import {
  isCharged,
  MAX_QUOTA,
  type PricedCall,
  type PriceLine,
  Quota,
  sumOfLines,
  TOKENS_PER_PRICE,
} from './price-terms-and-exact-sum.ts';

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
  readonly parts?: Readonly<Partial<Record<TokenPart, number>>> | undefined;
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
