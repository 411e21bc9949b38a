import { MAX_QUOTA, type PricedCall, type PriceLine, sumOfLines } from './price-terms-and-exact-sum.ts';
import { isChatPrice, type Price, priceMedia } from './pricing.ts';
import { priceTokens, TOKEN_PARTS, type TokenFacts, type TokenPart } from './token-prices-and-cost-calculation.ts';

/**
 * What a price is applied to, by name, as it is stored and shown in receipts. Of model calls: `input_tokens`, `output_tokens`,
 * the parts of `TOKEN_PARTS`, `images`, `surcharge` (quota). Of both: `plan_factor`. Of videos: `seconds` and the factors of their prices.
 */
export type CallFacts = Readonly<Record<string, string | number>>;

/** Amounts; multipliers are for the facts that name a choice. */
const COUNTS: ReadonlySet<string> = new Set(['seconds', 'images', 'surcharge', 'input_images', 'units', 'plan_factor']);

const PARTS = Object.keys(TOKEN_PARTS) as TokenPart[];

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
  if (parts !== undefined) for (const part of PARTS) if ((parts[part] ?? 0) > 0) facts[part] = parts[part] ?? 0;
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
  const parts = Object.fromEntries(PARTS.map((part) => [part, numberOf(facts, part)]));
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
