/**
 * Quota of one unit of the display currency, a US dollar unless it is renamed. Default prices follow the vendors'
 * public lists.
 */
const QUOTA_PER_USD = 500_000;
/** Conversion rate for price lists in yuan; an administrator changes the prices, not the rate. */
const CNY_PER_USD = 7;

/** Converts US dollars to whole quota. */
export const usd = (amount: number): number => Math.round(amount * QUOTA_PER_USD);

/** Converts yuan to whole quota. */
export const cny = (amount: number): number => Math.round((amount * QUOTA_PER_USD) / CNY_PER_USD);

const TOKENS = 1_000_000;
const MICRO = 1_000_000;

/** Converts US dollars per million tokens to quota per token, rounded to a millionth. */
export const usdPerToken = (amount: number): number => Math.round((amount * QUOTA_PER_USD * MICRO) / TOKENS) / MICRO;
/** Converts yuan per million tokens to quota per token, rounded to a millionth. */
export const cnyPerToken = (amount: number): number =>
  Math.round((amount * QUOTA_PER_USD * MICRO) / (CNY_PER_USD * TOKENS)) / MICRO;
