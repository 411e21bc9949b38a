import { type CallFacts, priceCall, withPlanFactor } from '../../contract/call-pricing.ts';
import { defined } from '../../contract/omit-undefined.ts';
import type { VideoPrice } from '../../contract/pricing.ts';
import { type ChatPrice, priceTokens, type TokenFacts, tokenQuota } from '../../contract/token-pricing.ts';

/** Pictures that are paid by the piece. */
export interface PiecePrice {
  readonly price: VideoPrice;
  /** Size and quality as the price names them. */
  readonly factors: Readonly<Record<string, string>>;
  /** How many are asked for. */
  readonly count: number;
  /** What the plan of the account multiplies prices by. */
  readonly planFactor: number;
}

export const isPiecePrice = (price: ChatPrice | PiecePrice): price is PiecePrice => 'factors' in price;

/** What so many pictures cost by. */
export const pieceFacts = ({ factors, planFactor }: PiecePrice, images: number, surcharge: number): CallFacts =>
  defined({
    ...factors,
    images,
    surcharge: surcharge > 0 ? surcharge : undefined,
    plan_factor: planFactor === 1 ? undefined : planFactor,
  });

/** Cost of the pictures without a surcharge, in whole quota; at most the largest safe integer. */
export function pieceQuota(price: PiecePrice, images: number): number {
  return Math.min(priceCall(price.price, pieceFacts(price, images, 0)).quota, Number.MAX_SAFE_INTEGER);
}

/** Cost of a call by tokens on a plan, without a surcharge, in whole quota. Nearly all plans multiply nothing. */
export const plannedQuota = (price: ChatPrice, usage: TokenFacts, planFactor: number): number =>
  planFactor === 1 ? tokenQuota(price, usage) : withPlanFactor(priceTokens(price, usage), planFactor).quota;
