import type { TSchema } from 'typebox';
import { defined } from '../../contract/defined.ts';
import type { Channel, ResolvedModel } from './channel-directory.ts';
import type { ChannelConnection } from './credential-encryption.ts';
import type { ChannelRow, ModelRow } from './store.ts';

/** A channel in memory; a disabled one still serves the tasks pinned to it. */
export interface CatalogChannel {
  readonly channel: Channel;
  readonly enabled: boolean;
}

export interface ListedModel {
  readonly id: string;
  readonly vendor: Channel['vendor'];
  readonly kind: ResolvedModel['kind'];
  readonly createdAt: number;
}

/** Everything about channels and models that a request needs, built once for each version of the rows. */
export interface Catalog {
  readonly version: number;
  readonly channels: ReadonlyMap<number, CatalogChannel>;
  /** Enabled ones, aliases followed. */
  readonly models: ReadonlyMap<string, ResolvedModel>;
  /** Enabled models that an enabled channel serves, by name. */
  readonly listed: readonly ListedModel[];
  /** Whether any plan has a price factor or channels of its own. */
  readonly hasPlanTerms: boolean;
  /** Enabled channels by the models they name. */
  serving(model: Pick<ResolvedModel, 'id' | 'target' | 'vendor'>): readonly Channel[];
}

export const EMPTY_CATALOG = buildCatalog(0, [], []);

/** Pure: follows aliases and sorts channels under the models they serve. */
export function buildCatalog(version: number, channels: readonly CatalogChannel[], rows: readonly ModelRow[]): Catalog {
  const byModel = new Map<string, Channel[]>();
  for (const { channel, enabled } of channels) {
    if (!enabled) continue;
    for (const model of new Set(channel.models)) {
      const serving = byModel.get(model);
      if (serving === undefined) byModel.set(model, [channel]);
      else serving.push(channel);
    }
  }
  const servingCache = new Map<string, readonly Channel[]>();
  const serving: Catalog['serving'] = ({ id, target, vendor }) => {
    const key = `${id} ${target}`;
    const known = servingCache.get(key);
    if (known !== undefined) return known;
    const found = new Set([...(byModel.get(id) ?? []), ...(byModel.get(target) ?? [])]);
    const fitting = [...found].filter((channel) => channel.vendor === vendor);
    servingCache.set(key, fitting);
    return fitting;
  };
  const byId = new Map(rows.map((row) => [row.id, row]));
  const models = new Map<string, ResolvedModel>();
  const listed: ListedModel[] = [];
  for (const row of rows) {
    const model = resolveModel(row, byId);
    if (model === undefined) continue;
    models.set(row.id, model);
    if (serving(model).length > 0)
      listed.push({ id: row.id, vendor: model.vendor, kind: model.kind, createdAt: row.created_at });
  }
  const byChannelId = new Map(channels.map((each) => [each.channel.id, each]));
  return { version, channels: byChannelId, models, listed, hasPlanTerms: false, serving };
}

/** One step only: an alias of an alias cannot be saved, and is not followed. */
function resolveModel(row: ModelRow, byId: ReadonlyMap<string, ModelRow>): ResolvedModel | undefined {
  const target = row.alias_of === null ? row : byId.get(row.alias_of);
  if (row.enabled === 0 || target === undefined || target.enabled === 0) return undefined;
  const price = row.price ?? target.price;
  const schema = row.input_schema ?? target.input_schema;
  if (price === null) return undefined;
  return defined({
    id: row.id,
    target: target.id,
    vendor: target.vendor,
    kind: target.kind,
    price: JSON.parse(price) as ResolvedModel['price'],
    onRetirement: row.on_retirement === 'refuse' ? undefined : row.on_retirement,
    inputSchema: schema === null ? undefined : (JSON.parse(schema) as TSchema),
  });
}

/** A row as a channel, what is sealed of it opened already. */
export function toChannel(
  row: ChannelRow,
  credentials: Channel['credentials'],
  { extraHeaders, proxy }: ChannelConnection = {},
): Channel {
  const options = JSON.parse(row.options) as Channel['options'];
  const modelMapping = JSON.parse(row.model_mapping) as NonNullable<Channel['modelMapping']>;
  return defined({
    id: row.id,
    name: row.name,
    vendor: row.vendor,
    baseUrl: row.base_url,
    credentials,
    options,
    private: options.private === true,
    models: JSON.parse(row.models) as string[],
    priority: row.priority,
    weight: row.weight,
    modelMapping: Object.keys(modelMapping).length === 0 ? undefined : modelMapping,
    extraHeaders,
    proxy,
  });
}

/** Without credentials, as their seal did not open, it serves nothing. */
export const toCatalogChannel = (
  row: ChannelRow,
  { credentials, connection }: { credentials?: Channel['credentials'] | undefined; connection?: ChannelConnection },
  sandbox: boolean,
): CatalogChannel => ({
  channel: toChannel(row, credentials ?? {}, connection),
  enabled: row.enabled === 1 && credentials !== undefined && (row.sandbox === null || sandbox),
});
