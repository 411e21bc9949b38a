import { CHAT_VENDORS } from '../../contract/channels.ts';
import { MODEL_ID_PATTERN, type ModelKind } from '../../contract/model-kinds.ts';
import type { Price } from '../../contract/pricing.ts';
import type { ModelRow } from './catalog.ts';
import type { ChannelVendor } from './directory.ts';

/** A model a channel could serve, with the price of its row or its initial price. */
export interface SuggestedModel {
  readonly id: string;
  readonly kind: ModelKind;
  readonly price: Price;
  /** `shipped`: from its row, or from the list of this release; `suggested`: estimated from the name. */
  readonly source: 'shipped' | 'suggested';
}

interface KnownModels {
  readonly rows: readonly ModelRow[];
  readonly shipped: readonly {
    readonly id: string;
    readonly vendor: string;
    readonly kind: ModelKind;
    readonly price: Price;
  }[];
  /** Estimates the kind and price of an unknown chat model from its name. */
  readonly estimate: (id: string) => Pick<SuggestedModel, 'kind' | 'price'>;
  readonly isUncallable: (id: string) => boolean;
}

interface ServedModels {
  readonly vendor: ChannelVendor;
  readonly models: readonly string[];
  /** Upstream names, by public names. */
  readonly modelMapping: object;
}

/**
 * Models that an upstream lists and its channel does not serve yet. A video upstream without a list is assumed to have
 * its vendor's models. Excluded are models of another vendor's rows, names that are invalid here, and models that no
 * endpoint of a chat upstream runs.
 */
export function suggestModels(
  { vendor, models, modelMapping }: ServedModels,
  listed: readonly string[],
  known: KnownModels,
): SuggestedModel[] {
  const served = new Set<unknown>([...models, ...Object.values(modelMapping)]);
  const own = known.shipped.filter((model) => model.vendor === vendor).map(({ id }) => id);
  const ids = isChatVendor(vendor) || listed.length > 0 ? listed : own;
  return [...new Set(ids)]
    .filter((id) => !served.has(id) && MODEL_ID.test(id) && !(isChatVendor(vendor) && known.isUncallable(id)))
    .map((id) => suggestModel(id, vendor, known))
    .filter((model) => model !== undefined);
}

/** Undefined for a model of another vendor, and for a video model unknown to this release. */
export function suggestModel(
  id: string,
  vendor: ChannelVendor,
  { rows, shipped, estimate }: KnownModels,
): SuggestedModel | undefined {
  const row = rows.find((each) => each.id === id);
  if (row !== undefined) {
    const target = row.alias_of === null ? row : rows.find((each) => each.id === row.alias_of);
    const price = row.price ?? target?.price;
    if (target?.vendor !== vendor || price == null) return undefined;
    return { id, kind: target.kind, price: JSON.parse(price) as Price, source: 'shipped' };
  }
  const known = shipped.find((model) => model.id === id);
  if (known !== undefined)
    return known.vendor === vendor ? { id, kind: known.kind, price: known.price, source: 'shipped' } : undefined;
  if (!isChatVendor(vendor)) return undefined;
  return { id, ...estimate(id), source: 'suggested' };
}

const MODEL_ID = new RegExp(MODEL_ID_PATTERN);

const isChatVendor = (vendor: string): boolean => (CHAT_VENDORS as readonly string[]).includes(vendor);
