import type { ModelKind } from '../../../../contract/model-kinds.ts';
import { type ChatPrice, TOKEN_PARTS, type TokenPart, type VideoPrice } from '../../../../contract/pricing.ts';
import { type PriceLineFormValues, toLines, toPriceLineFormValues } from './price-line-form-values.ts';

/** One multiplier of a price as its form holds it. */
export interface MultiplierFormValues {
  readonly key: number;
  readonly factor: string;
  readonly value: string;
  readonly by: number | string;
}
export const TOKEN_PART_NAMES = Object.keys(TOKEN_PARTS) as readonly TokenPart[];
/** Names of rates without `_per_million`. */
export type RateName = TokenPart | 'input' | 'output';
const RATES: readonly RateName[] = ['input', 'output', ...TOKEN_PART_NAMES];
/** Credits a million tokens by rate; empty: the price names none. */
export type RateFormValues = Readonly<Record<RateName, number | string>>;
/** A tier of a chat price as its form holds it. */
export interface TierFormValues extends RateFormValues {
  readonly key: number;
  readonly above: number | string;
}
/** A price as its form holds it, in credits; quota is whole and small, which nobody wants to type. */
export interface PriceFormValues {
  readonly perCall: number | string;
  readonly perSecond: number | string;
  readonly rates: RateFormValues;
  readonly tiers: readonly TierFormValues[];
  readonly multipliers: readonly MultiplierFormValues[];
  /** The price has lines instead of one rate. */
  readonly isLined: boolean;
  readonly lines: readonly PriceLineFormValues[];
  readonly settleBy: 'request' | 'vendor';
}

/** The shapes of the contract's prices, each key optional as they are sent. */
export type AnyPrice = VideoPrice & ChatPrice;

export const DECIMALS = 6;

export function toPriceFormValues(price: AnyPrice | null, perUnit: number): PriceFormValues {
  const credits = (quota: number | undefined): number => Number(((quota ?? 0) / perUnit).toFixed(DECIMALS + 3));
  const pairs = Object.entries(price?.multipliers ?? {}).flatMap(([factor, values]) =>
    Object.entries(values).map(([value, by]) => ({ factor, value, by })),
  );
  return {
    perCall: credits(price?.per_call),
    perSecond: credits(price?.per_second),
    rates: {
      ...toRateDrafts(price ?? {}, credits),
      input: credits(price?.input_per_million),
      output: credits(price?.output_per_million),
    },
    tiers: (price?.tiers ?? []).map((tier, key) => ({
      ...toRateDrafts(tier, credits),
      key,
      above: tier.above_input_tokens,
    })),
    multipliers: pairs.map((pair, key) => ({ ...pair, key })),
    isLined: price?.lines !== undefined,
    lines: toPriceLineFormValues(price?.lines, perUnit),
    settleBy: price?.settle_by ?? 'request',
  };
}

export function toPrice(draft: PriceFormValues, kind: ModelKind, perUnit: number): AnyPrice {
  const quota = (credits: number | string): number => Math.round(Number(credits) * perUnit);
  if (kind === 'chat') {
    const tiers = draft.tiers
      .map((tier) => ({ above_input_tokens: Number(tier.above), ...toRates(tier, quota) }))
      .filter((tier) => tier.above_input_tokens > 0 && Object.keys(tier).length > 1);
    return {
      ...toRates(draft.rates, quota),
      ...(Number(draft.perCall) > 0 ? { per_call: quota(draft.perCall) } : {}),
      ...(tiers.length > 0 ? { tiers } : {}),
    };
  }
  const multipliers: Record<string, Record<string, number>> = {};
  for (const { factor, value, by } of draft.multipliers) {
    const name = factor.trim();
    if (name !== '' && value.trim() !== '') multipliers[name] = { ...multipliers[name], [value.trim()]: Number(by) };
  }
  const plain = { per_call: quota(draft.perCall), per_second: quota(draft.perSecond) };
  const settled = draft.settleBy === 'vendor' ? { settle_by: 'vendor' as const } : {};
  const price = draft.isLined ? { lines: toLines(draft.lines, perUnit), ...settled } : { ...plain, ...settled };
  return Object.keys(multipliers).length === 0 ? price : { ...price, multipliers };
}

type Rates = Omit<ChatPrice, 'tiers' | 'per_call'>;

const toRateDrafts = (rates: Rates, credits: (quota: number | undefined) => number): RateFormValues =>
  Object.fromEntries(
    RATES.map((name) => {
      const quota = rates[`${name}_per_million`];
      return [name, quota === undefined ? '' : credits(quota)];
    }),
  ) as RateFormValues;

const toRates = (drafts: RateFormValues, quota: (credits: number | string) => number): Rates =>
  Object.fromEntries(
    RATES.filter((name) => drafts[name] !== '').map((name) => [`${name}_per_million`, quota(drafts[name])]),
  );
