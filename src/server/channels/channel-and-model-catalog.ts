import type { TSchema } from 'typebox';
import { defined } from '../../contract/omit-undefined.ts';
import { memoizeByObject } from '../platform/cache.ts';
import type { ChannelRow, ModelRow } from './channel-and-model-store.ts';
import type { Channel, ResolvedModel } from './channel-directory-types.ts';
import type { ChannelConnection } from './credential-and-connection-encryption.ts';
import { type CredentialList, labelOf } from './credential-list-type-and-changes.ts';
import { maxConcurrentTasks } from './max-concurrent-tasks-option.ts';

/** A channel in memory; a disabled one still serves the tasks pinned to it. */
export interface CatalogChannel {
  /** With its first enabled credential. */
  readonly channel: Channel;
  readonly enabled: boolean;
  /** With each of its credentials, by their ids. */
  readonly credentials: ReadonlyMap<number, CatalogCredential>;
}

/** A channel with one of its credentials. */
export interface CatalogCredential {
  readonly channel: Channel;
  readonly enabled: boolean;
  /** How administrators call it. */
  readonly label: string;
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
  /** Enabled channels by the models they name, once with each enabled credential. */
  serving(model: Pick<ResolvedModel, 'id' | 'target' | 'vendor'>): readonly Channel[];
}

export const EMPTY_CATALOG = buildCatalog(0, [], []);

/** Pure: follows aliases and sorts channels under the models they serve. */
export function buildCatalog(version: number, channels: readonly CatalogChannel[], rows: readonly ModelRow[]): Catalog {
  const byModel = new Map<string, Channel[]>();
  for (const { channel, enabled, credentials } of channels) {
    if (!enabled) continue;
    const usable = [...credentials.values()].filter((each) => each.enabled).map((each) => each.channel);
    for (const model of new Set(channel.models)) {
      const serving = byModel.get(model);
      if (serving === undefined) byModel.set(model, [...usable]);
      else serving.push(...usable);
    }
  }
  // By the object, since every call asks with the one of this catalog.
  const serving: Catalog['serving'] = memoizeByObject(({ id, target, vendor }) => {
    const found = new Set([...(byModel.get(id) ?? []), ...(byModel.get(target) ?? [])]);
    return [...found].filter((channel) => channel.vendor === vendor);
  });
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

/** A row with each of its credentials, what is sealed of it opened already. */
export function toCatalogChannel(
  row: ChannelRow,
  { items }: CredentialList,
  connection: ChannelConnection,
  enabled: boolean,
): CatalogChannel {
  const settings = toSettings(row, connection);
  const weight = row.weight / Math.max(1, items.filter((item) => item.enabled).length);
  const credentials = new Map(
    items.map((item) => {
      const channel = { ...settings, credentialId: item.id, credentials: item.values, weight };
      return [item.id, { channel, enabled: item.enabled, label: labelOf(item) }];
    }),
  );
  const all = [...credentials.values()];
  const first = all.find((each) => each.enabled) ?? all[0];
  return { channel: first?.channel ?? { ...settings, credentialId: 0, credentials: {} }, enabled, credentials };
}

/** A row without its credentials. */
export function toSettings(
  row: ChannelRow,
  { extraHeaders, proxy }: ChannelConnection,
): Omit<Channel, 'credentials' | 'credentialId'> {
  const options = JSON.parse(row.options) as Channel['options'];
  const modelMapping = JSON.parse(row.model_mapping) as NonNullable<Channel['modelMapping']>;
  return defined({
    id: row.id,
    name: row.name,
    vendor: row.vendor,
    baseUrl: row.base_url,
    options,
    private: options.private === true,
    maxConcurrentTasks: maxConcurrentTasks(options),
    models: JSON.parse(row.models) as string[],
    priority: row.priority,
    weight: row.weight,
    modelMapping: Object.keys(modelMapping).length === 0 ? undefined : modelMapping,
    extraHeaders,
    proxy,
  });
}
