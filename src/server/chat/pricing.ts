import type { ChatPrice, ResolvedModel, VideoPrice } from '../channels/channels.ts';
import type { Usage } from './usage.ts';

const PER = 1_000_000;

/** Whole quota, rounded up once, so that nothing used is free. Exact beyond 2^53 too, and at most the largest safe integer. */
export function costOf(price: ChatPrice, { promptTokens, completionTokens }: Usage): number {
  const input = price.input_per_million ?? 0;
  const output = price.output_per_million ?? 0;
  const millionths = promptTokens * input + completionTokens * output;
  if (Number.isSafeInteger(millionths)) return Math.ceil(millionths / PER);
  const exact = BigInt(promptTokens) * BigInt(input) + BigInt(completionTokens) * BigInt(output);
  const cost = (exact + BigInt(PER - 1)) / BigInt(PER);
  return cost > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(cost);
}

export const isChatPrice = (price: ResolvedModel['price']): price is ChatPrice =>
  'input_per_million' in price || 'output_per_million' in price;

/** What a picture costs, by the rule videos are priced by. */
export type PriceOf = (
  price: VideoPrice,
  meter: { readonly seconds: number; readonly factors: { readonly [factor: string]: string } },
) => number;

/** One spelling for the many that upstreams read alike: `1024X1024`, `1024*1024`, `01024x1024`. */
function plainSize(size: string): string {
  const [, width, height] = /^\s*0*(\d+)\s*[x*×]\s*0*(\d+)\s*$/i.exec(size) ?? [];
  return width === undefined || height === undefined ? size : `${width}x${height}`;
}

/** A picture's size as the price names it, in whatever spelling the caller has it: no other one is cheaper. */
export function pricedSize({ multipliers }: VideoPrice, size: unknown): string | undefined {
  if (typeof size !== 'string') return undefined;
  const plain = plainSize(size);
  return Object.keys(multipliers?.size ?? {}).find((named) => plainSize(named) === plain) ?? size;
}
