import { defined } from '../../contract/omit-undefined.ts';
import { type CallFacts, priceCall } from '../../contract/price-calls-and-videos.ts';
import type { VideoPrice } from '../../contract/pricing.ts';
import type { ChatPrice } from '../../contract/token-prices-and-cost-calculation.ts';

/** Images priced each, whatever tokens they take. */
export interface PerImagePrice {
  readonly price: VideoPrice;
  /** Size and quality as the price names them. */
  readonly factors: Readonly<Record<string, string>>;
  /** How many images the request asks for. */
  readonly count: number;
  /** What the plan of the account multiplies prices by. */
  readonly planFactor: number;
}

export const isPerImagePrice = (price: ChatPrice | PerImagePrice): price is PerImagePrice => 'factors' in price;

/** The facts by which a number of images is priced. */
export const perImageFacts = ({ factors, planFactor }: PerImagePrice, images: number, surcharge: number): CallFacts =>
  defined({
    ...factors,
    images,
    surcharge: surcharge > 0 ? surcharge : undefined,
    plan_factor: planFactor === 1 ? undefined : planFactor,
  });

/** Cost of a number of images without a surcharge, in whole quota; at most the largest safe integer. */
export function perImageQuota(price: PerImagePrice, images: number): number {
  return Math.min(priceCall(price.price, perImageFacts(price, images, 0)).quota, Number.MAX_SAFE_INTEGER);
}
