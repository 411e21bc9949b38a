import type { ChatPrice, Price } from '../../../contract/pricing.ts';
import type { ChannelVendor } from '../../channels/directory.ts';
import { parseObject } from './column-values.ts';
import { type Decimal, multiply, round, toDecimal } from './decimal.ts';
import { mapped, type Outcome, skipped } from './outcome.ts';

/** Prices of the source as its options state them; a map that was never changed is not stored. */
export interface SourcePrices {
  /** Quota of one US dollar. */
  readonly quotaPerUnit: number;
  readonly modelPrice: Ratios;
  readonly modelRatio: Ratios;
  readonly completionRatio: Ratios;
  readonly cacheRatio: Ratios;
  readonly createCacheRatio: Ratios;
  readonly audioRatio: Ratios;
  readonly audioCompletionRatio: Ratios;
  readonly imageRatio: Ratios;
  /** Models with an expression for a price. */
  readonly expressions: ReadonlySet<string>;
}

type Ratios = ReadonlyMap<string, number>;

/** What newer calls of a model were charged by, from the source's log: it shows the defaults that no option states. */
export interface ObservedRatios {
  readonly modelRatio?: number | undefined;
  readonly completionRatio?: number | undefined;
  readonly cacheRatio?: number | undefined;
  readonly modelPrice?: number | undefined;
}

/** The program's own default (common/constants.go). */
const DEFAULT_QUOTA_PER_UNIT = 500_000;

export function readPrices(options: ReadonlyMap<string, string>): SourcePrices {
  const ratios = (key: string): Ratios => toRatios(options.get(key));
  const perUnit = Number(options.get('QuotaPerUnit') ?? DEFAULT_QUOTA_PER_UNIT);
  const modes = Object.entries(parseObject(options.get('billing_setting.billing_mode') ?? '') ?? {});
  return {
    quotaPerUnit: Number.isFinite(perUnit) && perUnit > 0 ? perUnit : DEFAULT_QUOTA_PER_UNIT,
    modelPrice: ratios('ModelPrice'),
    modelRatio: ratios('ModelRatio'),
    completionRatio: ratios('CompletionRatio'),
    cacheRatio: ratios('CacheRatio'),
    createCacheRatio: ratios('CreateCacheRatio'),
    audioRatio: ratios('AudioRatio'),
    audioCompletionRatio: ratios('AudioCompletionRatio'),
    imageRatio: ratios('ImageRatio'),
    expressions: new Set(modes.filter(([, mode]) => mode !== 'ratio').map(([model]) => model)),
  };
}

function toRatios(text: string | undefined): Ratios {
  const entries = Object.entries(parseObject(text ?? '') ?? {});
  return new Map(entries.filter((entry): entry is [string, number] => typeof entry[1] === 'number' && entry[1] >= 0));
}

/** Vendors whose `ModelPrice` is for each second of the video; the other video vendors' is for each call. */
const PRICED_BY_SECOND: ReadonlySet<string> = new Set(['sora', 'veo', 'wan']);
/** The larger sizes of Sora cost this much more there (relay/channel/task/sora). */
const SORA_SIZES = { size: { '1792x1024': 1.666667, '1024x1792': 1.666667 } };
/** A one-hour cache write costs this much of a five-minute one: 6 / 3.75. */
const ONE_HOUR_WRITE: Decimal = { value: 16n, places: 1 };
/** By ratio, a ratio of 1 is 1 quota for a token. */
const TOKENS_PER_PRICE: Decimal = { value: 1_000_000n, places: 0 };
const MAX_RATE = 1_000_000_000_000n;

/** The price of a model here, as near as whole quota by the million tokens come; a remark says what was rounded. */
export function mapPrice(
  model: string,
  vendor: ChannelVendor,
  isVideo: boolean,
  prices: SourcePrices,
  observed: ObservedRatios = {},
): Outcome<Price> {
  if (prices.expressions.has(model)) return skipped('its price is an expression, which cannot be carried over');
  const remarks: string[] = [];
  const quota = (...factors: readonly (number | Decimal)[]): number | undefined => {
    const decimals = factors.map((factor) => (typeof factor === 'number' ? toDecimal(factor) : factor));
    if (decimals.includes(undefined)) return undefined;
    const result = round(multiply(...(decimals as Decimal[])));
    if (!result.exact) remarks.push('its price is no whole number of quota and was rounded');
    return result.quota > MAX_RATE || result.quota < 0n ? undefined : Number(result.quota);
  };
  const fixed = prices.modelPrice.get(model) ?? observed.modelPrice;
  const price =
    fixed === undefined
      ? isVideo
        ? undefined
        : ratioPrice(model, prices, observed, quota)
      : fixedPrice(vendor, isVideo, quota(fixed, prices.quotaPerUnit));
  return price === undefined ? skipped(missingPrice(model, isVideo, prices)) : mapped(price, [...new Set(remarks)]);
}

function fixedPrice(vendor: ChannelVendor, isVideo: boolean, quota: number | undefined): Price | undefined {
  if (quota === undefined) return undefined;
  if (!isVideo) return { per_call: quota, input_per_million: 0, output_per_million: 0 };
  if (!PRICED_BY_SECOND.has(vendor)) return { per_call: quota };
  return vendor === 'sora' ? { per_second: quota, multipliers: SORA_SIZES } : { per_second: quota };
}

type ToQuota = (...factors: readonly (number | Decimal)[]) => number | undefined;

function ratioPrice(
  model: string,
  prices: SourcePrices,
  observed: ObservedRatios,
  quota: ToQuota,
): ChatPrice | undefined {
  const ratio = prices.modelRatio.get(model) ?? observed.modelRatio;
  const completion = prices.completionRatio.get(model) ?? observed.completionRatio;
  if (ratio === undefined || completion === undefined) return undefined;
  const rate = (...factors: readonly (number | Decimal)[]) => quota(ratio, TOKENS_PER_PRICE, ...factors);
  const optional = (ratios: Ratios, fallback?: number): number | undefined => {
    const factor = ratios.get(model) ?? fallback;
    return factor === undefined ? undefined : rate(factor);
  };
  const [input, output] = [rate(), rate(completion)];
  if (input === undefined || output === undefined) return undefined;
  const write = prices.createCacheRatio.get(model);
  const audio = prices.audioRatio.get(model);
  const spoken = prices.audioCompletionRatio.get(model);
  const parts = {
    cached_input_per_million: optional(prices.cacheRatio, observed.cacheRatio),
    cache_write_per_million: optional(prices.createCacheRatio),
    cache_write_1h_per_million: write === undefined ? undefined : rate(write, ONE_HOUR_WRITE),
    audio_input_per_million: optional(prices.audioRatio),
    audio_output_per_million: audio === undefined || spoken === undefined ? undefined : rate(audio, spoken),
    image_input_per_million: optional(prices.imageRatio),
  };
  const known = Object.entries(parts).filter(([, value]) => value !== undefined);
  return { input_per_million: input, output_per_million: output, ...Object.fromEntries(known) };
}

function missingPrice(model: string, isVideo: boolean, prices: SourcePrices): string {
  if (isVideo) return 'no price of it is stored there';
  return prices.modelRatio.has(model)
    ? "its output was priced by the program's own default, which no option and no logged call shows"
    : 'no price of it is stored there, and no logged call shows one';
}
