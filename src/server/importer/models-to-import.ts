import type { ModelKind } from '../../contract/model-kinds.ts';
import type { Price } from '../../contract/pricing.ts';
import type { ChannelVendor } from '../channels/directory.ts';
import type { ImportedChannel } from './mapping/channels.ts';
import { objectOf } from './mapping/column-values.ts';
import { mapped, type Outcome, skipped } from './mapping/outcome.ts';
import { isStated, mapPrice, type ObservedRatios, readPrices } from './mapping/prices.ts';
import type { ImportTarget } from './service-functions-for-import-types.ts';
import type { ProgramName } from './source/detect-program.ts';
import type { SourceDatabase } from './source/source-database.ts';

/** A model as its row is to be. */
export interface ImportedModel {
  readonly id: string;
  readonly vendor: ChannelVendor;
  readonly kind: ModelKind;
  readonly price: Price;
}

/** Models that return pictures are called like chat models and priced by the piece. */
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
  const vendors = new Map<string, ChannelVendor>();
  for (const { vendor, models } of channels)
    for (const model of models) if (!vendors.has(model)) vendors.set(model, vendor);
  const rows: (readonly [string, Outcome<ImportedModel>])[] = [];
  for (const [id, vendor] of vendors) {
    const isVideo = target.isVideoVendor(vendor);
    const observed = isStated(id, prices) ? {} : await observedRatios(source, id);
    const outcome = mapPrice(id, vendor, isVideo, prices, observed);
    if (outcome.kind === 'skipped') rows.push([id, skipped(`${outcome.reason}; give it a price before it is used`)]);
    else rows.push([id, mapped(toModel(id, vendor, isVideo, outcome.value), outcome.remarks)]);
  }
  return rows;
}

function toModel(id: string, vendor: ChannelVendor, isVideo: boolean, price: Price): ImportedModel {
  if (isVideo) return { id, vendor, kind: 'video', price };
  const perCall = 'per_call' in price ? price.per_call : undefined;
  return IMAGE_MODEL.test(id) && perCall !== undefined
    ? { id, vendor, kind: 'image', price: { per_call: perCall } }
    : { id, vendor, kind: 'chat', price };
}

/** By what the newest logged call of a model was charged. */
async function observedRatios(source: SourceDatabase, model: string): Promise<ObservedRatios> {
  if (source.tables.get('logs')?.includes('other') !== true) return {};
  const [row] = await source.query(
    'select [other] from [logs] where [type] = 2 and [model_name] = ? order by [id] desc limit 1',
    [model],
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
