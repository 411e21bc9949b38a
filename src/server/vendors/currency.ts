/** Default prices follow the vendors' public lists. Quota of one unit of the display currency, a US dollar unless it is renamed. */
const QUOTA_PER_USD = 500_000;
/** Lists in yuan are converted at this rate, which an administrator changes by changing the prices. */
const CNY_PER_USD = 7;

/** Quota of an amount of US dollars, whole. */
export const usd = (amount: number): number => Math.round(amount * QUOTA_PER_USD);

/** Quota of an amount of yuan, whole. */
export const cny = (amount: number): number => Math.round((amount * QUOTA_PER_USD) / CNY_PER_USD);

const TOKENS = 1_000_000;
const MICRO = 1_000_000;

/** Quota of one token by a price a million tokens, to a millionth. */
export const usdPerToken = (amount: number): number => Math.round((amount * QUOTA_PER_USD * MICRO) / TOKENS) / MICRO;
export const cnyPerToken = (amount: number): number =>
  Math.round((amount * QUOTA_PER_USD * MICRO) / (CNY_PER_USD * TOKENS)) / MICRO;
