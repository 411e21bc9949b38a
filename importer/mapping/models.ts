import type { ModelKind } from '../../src/contract/model-kinds.ts';
import type { ChatPrice, Price } from '../../src/contract/pricing.ts';
import type { ChannelVendor } from '../../src/server/channels/tables.ts';
import type { ImportTarget } from '../import-target.ts';
import type { ProgramName, SourceDatabase } from '../source.ts';
import {
  BUILT_IN_PRICES,
  type BuiltInPrices,
  PRICE_OPTIONS,
  type PriceOption,
  type Ratios,
} from './built-in-prices.ts';
import type { ImportedChannel } from './channels.ts';
import {
  type Decimal,
  mapped,
  multiply,
  type Outcome,
  objectOf,
  parseObject,
  round,
  skipped,
  toDecimal,
} from './values.ts';

/** A model to store. */
export interface ImportedModel {
  readonly id: string;
  readonly vendor: ChannelVendor;
  readonly kind: ModelKind;
  readonly price: Price;
}

/** Models that return images are called like chat models and priced per image. */
const IMAGE_MODEL = /^(?:dall-e|gpt-image|flux|stable-diffusion)/i;

/** The models that channels of the source serve, with their prices. */
export async function modelsToImport(
  source: SourceDatabase,
  options: ReadonlyMap<string, string>,
  program: ProgramName,
  channels: readonly ImportedChannel[],
  target: Pick<ImportTarget, 'isVideoVendor' | 'quotaPerUnit'>,
): Promise<(readonly [string, Outcome<ImportedModel>])[]> {
  const prices = readPrices(options, program);
  const rows: (readonly [string, Outcome<ImportedModel>])[] = [];
  for (const [id, vendor, others] of vendorsByModel(channels)) {
    const isVideo = target.isVideoVendor(vendor);
    const observed = isStated(id, prices) ? {} : await observedRatios(source, id);
    const outcome = mapPrice(id, vendor, isVideo, prices, observed);
    if (outcome.kind === 'skipped') rows.push([id, skipped(`${outcome.reason}; give it a price before it is used`)]);
    else rows.push([id, mapped(toModel(id, vendor, isVideo, outcome.value), [...others, ...outcome.remarks])]);
  }
  return rows;
}

/**
 * The vendor of each model, with a remark if channels of others list it too: here a model has one. It is that of the
 * channel which the source would try first.
 */
function vendorsByModel(
  channels: readonly ImportedChannel[],
): (readonly [id: string, vendor: ChannelVendor, remarks: readonly string[]])[] {
  const preferred = channels.toSorted(
    (one, other) => Number(other.isEnabled) - Number(one.isEnabled) || other.priority - one.priority,
  );
  const vendors = new Map<string, Set<ChannelVendor>>();
  for (const model of channels.flatMap(({ models }) => models)) vendors.set(model, new Set());
  for (const { vendor, models } of preferred) for (const model of models) vendors.get(model)?.add(vendor);
  return [...vendors].map(([id, [vendor, ...others]]) => [
    id,
    vendor as ChannelVendor,
    others.length === 0 ? [] : [`channels of ${vendor} serve it here, those of ${others.join(', ')} do not`],
  ]);
}

function toModel(id: string, vendor: ChannelVendor, isVideo: boolean, price: Price): ImportedModel {
  if (isVideo) return { id, vendor, kind: 'video', price };
  const perCall = 'per_call' in price ? price.per_call : undefined;
  return IMAGE_MODEL.test(id) && perCall !== undefined
    ? { id, vendor, kind: 'image', price: { per_call: perCall } }
    : { id, vendor, kind: 'chat', price };
}

/** The ratios by which the newest logged call of a model was charged. */
async function observedRatios(source: SourceDatabase, model: string): Promise<ObservedRatios> {
  if (source.tables.get('logs')?.includes('other') !== true) return {};
  const [row] = await source.query(
    `select [other] from [logs] where [type] = 2 and [model_name] = ? and ${source.exactly('[model_name]')} = ?
     order by [id] desc limit 1`,
    [model, model],
  );
  const other = row === undefined ? undefined : objectOf(row, 'other');
  const numberOf = (key: string): number | undefined => {
    const value = other?.[key];
    return typeof value === 'number' && value >= 0 ? value : undefined;
  };
  return {
    modelRatio: numberOf('model_ratio'),
    completionRatio: numberOf('completion_ratio'),
    cacheRatio: numberOf('cache_ratio'),
    modelPrice: numberOf('model_price'),
  };
}

/** One price option: its stored entries, and the program's built-in ones. */
interface PriceTable {
  readonly stored: Ratios;
  readonly builtIn: Ratios;
}

/** Prices of the source: those its options state, and those its program applies without stating them. */
interface SourcePrices {
  /** Quota of one US dollar. */
  readonly quotaPerUnit: number;
  readonly tables: Readonly<Record<PriceOption, PriceTable>>;
  readonly builtIn: BuiltInPrices;
  /** Ratio of models in no table; undefined: the program rejects them. */
  readonly otherModels: number | undefined;
  /** Models priced by an expression. */
  readonly expressions: ReadonlySet<string>;
}

/** Ratios of recent calls of a model in the source's log, which reveal the defaults that no option states. */
interface ObservedRatios {
  readonly modelRatio?: number;
  readonly completionRatio?: number;
  readonly cacheRatio?: number;
  readonly modelPrice?: number;
}

/** The program's own default (common/constants.go). */
const DEFAULT_QUOTA_PER_UNIT = 500_000;

/** In new-api's single-user mode, models without a price are charged by this ratio. */
const SELF_USE_RATIO = 37.5;

/** Reads the prices of a source from its options. */
export function readPrices(options: ReadonlyMap<string, string>, program: ProgramName): SourcePrices {
  const builtIn = BUILT_IN_PRICES[program];
  const tableOf = (key: PriceOption): PriceTable => ({
    stored: toRatios(options.get(key)),
    builtIn: (builtIn.storedReplaces && options.has(key) ? undefined : builtIn.tables[key]) ?? new Map(),
  });
  const perUnit = Number(options.get('QuotaPerUnit') ?? DEFAULT_QUOTA_PER_UNIT);
  const modes = Object.entries(parseObject(options.get('billing_setting.billing_mode') ?? '') ?? {});
  return {
    quotaPerUnit: Number.isFinite(perUnit) && perUnit > 0 ? perUnit : DEFAULT_QUOTA_PER_UNIT,
    tables: Object.fromEntries(PRICE_OPTIONS.map((key) => [key, tableOf(key)])) as SourcePrices['tables'],
    builtIn,
    otherModels: options.get('SelfUseModeEnabled') === 'true' ? SELF_USE_RATIO : builtIn.otherModels,
    expressions: new Set(modes.filter(([, mode]) => mode !== 'ratio').map(([model]) => model)),
  };
}

/** Whether the options alone determine a model's price, so that no logged call is needed. */
function isStated(model: string, { tables, builtIn }: SourcePrices): boolean {
  const name = builtIn.lookupName(model);
  if (tables.ModelPrice.stored.has(name)) return true;
  const stored = tables.CompletionRatio.stored.get(name);
  const { ratio, fixed } = builtIn.outputRatio(name);
  return tables.ModelRatio.stored.has(name) && stored !== undefined && (!fixed || stored === ratio);
}

function toRatios(text: string | undefined): Ratios {
  const entries = Object.entries(parseObject(text ?? '') ?? {});
  return new Map(entries.filter((entry): entry is [string, number] => typeof entry[1] === 'number' && entry[1] >= 0));
}

/** Vendors whose `ModelPrice` is per second of video; that of the other video vendors is per call. */
const PRICED_BY_SECOND: ReadonlySet<string> = new Set(['sora', 'veo', 'wan']);
/** The source's price factor for Sora's larger sizes (relay/channel/task/sora). */
const SORA_SIZES = { size: { '1792x1024': 1.666667, '1024x1792': 1.666667 } };
/** Price of a one-hour cache write relative to a five-minute one: 6 / 3.75. */
const ONE_HOUR_WRITE: Decimal = { value: 16n, places: 1 };
/** A ratio of 1 is 1 quota per token. */
const TOKENS_PER_PRICE: Decimal = { value: 1_000_000n, places: 0 };
const MAX_RATE = 1_000_000_000_000n;

/**
 * The price of a model here, rounded to whole quota per million tokens. Remarks list what was rounded and what no
 * option states. A stored price takes precedence, then a logged call, then the program's built-in price.
 */
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
    if (!result.exact) remarks.push('its price is no whole number and was rounded');
    return result.quota > MAX_RATE || result.quota < 0n ? undefined : Number(result.quota);
  };
  const name = prices.builtIn.lookupName(model);
  const fixed = callPrice(name, isVideo, prices, observed, remarks);
  const price =
    fixed === undefined
      ? isVideo
        ? undefined
        : ratioPrice(name, vendor, prices, observed, quota, remarks)
      : fixedPrice(vendor, isVideo, quota(fixed, prices.quotaPerUnit));
  return price === undefined
    ? skipped('no price of it is stored there, no logged call shows one, and its program has none built in')
    : mapped(price, [...new Set(remarks)]);
}

const BUILT_IN =
  "its price is its program's own, which no option states and which differs between releases; compare it";

/** The price of one call or one second in dollars; undefined: the model is priced by ratio. */
function callPrice(
  name: string,
  isVideo: boolean,
  { tables, builtIn }: SourcePrices,
  observed: ObservedRatios,
  remarks: string[],
): number | undefined {
  const stored = tables.ModelPrice.stored.get(name);
  if (stored !== undefined) return stored;
  // Tasks fall back to the built-in price even if the stored table lacks the model.
  const own = (isVideo ? builtIn.tables.ModelPrice : tables.ModelPrice.builtIn)?.get(name);
  if (own === undefined && tables.ModelRatio.stored.has(name)) return undefined;
  if (observed.modelPrice !== undefined || observed.modelRatio !== undefined) return observed.modelPrice;
  if (own !== undefined) remarks.push(BUILT_IN);
  return own;
}

function fixedPrice(vendor: ChannelVendor, isVideo: boolean, quota: number | undefined): Price | undefined {
  if (quota === undefined) return undefined;
  if (!isVideo) return { per_call: quota, input_per_million: 0, output_per_million: 0 };
  if (!PRICED_BY_SECOND.has(vendor)) return { per_call: quota };
  return vendor === 'sora' ? { per_second: quota, multipliers: SORA_SIZES } : { per_second: quota };
}

type ToQuota = (...factors: readonly (number | Decimal)[]) => number | undefined;

function ratioPrice(
  name: string,
  vendor: ChannelVendor,
  prices: SourcePrices,
  observed: ObservedRatios,
  quota: ToQuota,
  remarks: string[],
): ChatPrice | undefined {
  const { tables, builtIn } = prices;
  const ratio = inputRatio(name, prices, observed, remarks);
  if (ratio === undefined) return undefined;
  const rate = (...factors: readonly (number | undefined)[]): number | undefined =>
    factors.includes(undefined) ? undefined : quota(ratio, TOKENS_PER_PRICE, ...(factors as number[]));
  const part = (key: PriceOption, seen?: number): number | undefined =>
    tables[key].stored.get(name) ?? seen ?? tables[key].builtIn.get(name);
  const [input, output] = [rate(), rate(outputRatio(name, prices, observed, remarks))];
  if (input === undefined || output === undefined) return undefined;
  const isClaude = vendor === 'anthropic' || name.includes('claude');
  const write = part('CreateCacheRatio') ?? (isClaude ? builtIn.cacheWrite : undefined);
  const audio = part('AudioRatio');
  const parts = {
    cached_input_per_million: rate(part('CacheRatio', observed.cacheRatio)),
    cache_write_per_million: rate(write),
    cache_write_1h_per_million: write === undefined ? undefined : quota(ratio, TOKENS_PER_PRICE, write, ONE_HOUR_WRITE),
    audio_input_per_million: rate(audio),
    audio_output_per_million: rate(audio, part('AudioCompletionRatio')),
    image_input_per_million: rate(part('ImageRatio')),
  };
  const known = Object.entries(parts).filter(([, value]) => value !== undefined);
  return { input_per_million: input, output_per_million: output, ...Object.fromEntries(known) };
}

/** Models priced by image, second or character: an unstated default ratio for tokens does not apply to them. */
const NOT_BY_TOKEN = /^(?:dall-e|gpt-image|cogview|wanx|ali-stable|stable-diffusion|flux|imagen|tts-|whisper|deepl)/i;

function inputRatio(
  name: string,
  { tables, otherModels }: SourcePrices,
  observed: ObservedRatios,
  remarks: string[],
): number | undefined {
  const known = tables.ModelRatio.stored.get(name) ?? observed.modelRatio;
  if (known !== undefined) return known;
  const own = tables.ModelRatio.builtIn.get(name);
  if (own !== undefined) {
    remarks.push(BUILT_IN);
    return own;
  }
  if (otherModels === undefined || NOT_BY_TOKEN.test(name)) return undefined;
  remarks.push(`nothing states a price of it; its program charges such models by a ratio of ${otherModels}`);
  return otherModels;
}

function outputRatio(
  name: string,
  { tables, builtIn }: SourcePrices,
  observed: ObservedRatios,
  remarks: string[],
): number {
  const stored = tables.CompletionRatio.stored.get(name);
  const { ratio, fixed } = builtIn.outputRatio(name);
  // The program applies its own rules first, except for names with a path.
  const isIgnored = fixed && !name.includes('/') && stored !== ratio;
  if (stored !== undefined && !isIgnored) return stored;
  if (observed.completionRatio !== undefined) return observed.completionRatio;
  const own = fixed ? ratio : (tables.CompletionRatio.builtIn.get(name) ?? ratio);
  remarks.push(
    stored === undefined
      ? `its output costs ${shown(own)} times its input: its program's own ratio, which no option states`
      : `its output costs ${shown(own)} times its input: its program fixes that and ignores the stored ${shown(stored)}`,
  );
  return own;
}

const shown = (ratio: number): number => Number(ratio.toFixed(6));
