import { withPlanFactor } from '../../contract/price-calls-and-videos.ts';
import {
  type ChatPrice,
  priceTokens,
  type TokenFacts,
  tokenQuota,
} from '../../contract/token-prices-and-cost-calculation.ts';

/** Cost of a call by tokens on a plan, without a surcharge, in whole quota. Nearly all plans have the factor 1. */
export const quotaWithPlanFactor = (price: ChatPrice, usage: TokenFacts, planFactor: number): number =>
  planFactor === 1 ? tokenQuota(price, usage) : withPlanFactor(priceTokens(price, usage), planFactor).quota;
