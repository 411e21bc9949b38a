import type { Static } from 'typebox';
import type { Role } from '../../contract/account-fields.ts';
import { type CHANNEL_SORTS, CHAT_VENDORS, type changeChannel, type makeChannel } from '../../contract/channels.ts';
import { MODEL_ID_PATTERN, type ModelKind } from '../../contract/model-kinds.ts';
import { defined } from '../../contract/objects.ts';
import type { Price } from '../../contract/pricing.ts';
import { type Page, type Sort, sortRowsBy } from '../../contract/responses.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import { maskSecrets } from '../platform/log.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import { truncateCodePoints } from '../platform/text.ts';
import type { Vault } from '../platform/vault.ts';
import type { Trx } from '../tables.ts';
import type { AdapterContext } from '../upstreams/upstream.ts';
import type { CredentialCheck } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import {
  changeConnection,
  changeCredentials,
  credentialReader,
  decryptConnection,
  decryptCredentials,
  decryptOr,
  encryptConnection,
  encryptCredentials,
  isMetadataUrl,
  keepsStoredValues,
  parseBaseUrl,
  removedIds,
  replacesValues,
  shownProxy,
  toAuditList,
} from './credentials.ts';
import {
  assertMaxConcurrentTasks,
  boundOptions,
  type CatalogStore,
  type Channel,
  type ChannelConnection,
  type ChannelCredential,
  type ChannelRow,
  type CredentialList,
  hintOf,
  type ModelRow,
  NO_CREDENTIALS,
  toSettings,
} from './directory.ts';
import type { EndingModel } from './retirements.ts';
import type { ChannelSelectionService } from './selection.ts';
import type { ChannelVendor } from './tables.ts';

type NewChannel = Static<(typeof makeChannel)['body']>;
type ChannelChange = Static<(typeof changeChannel)['body']>;

/** Number of unfinished tasks pinned to channels. Implemented by `video`. */
export interface UnfinishedTasks {
  /** Unfinished tasks per channel and credential; pairs without any are omitted. */
  unfinished(): Promise<readonly UnfinishedCount[]>;
  /** @param credentialIds the credentials the tasks were submitted with; default: all */
  countUnfinished(trx: Trx, channelId: number, credentialIds?: readonly number[]): Promise<number>;
}

/** Unfinished tasks of a channel's credential. */
export interface UnfinishedCount {
  readonly channelId: number;
  /** Null: tasks that name no credential. */
  readonly credentialId: number | null;
  readonly count: number;
}

interface ChannelAdminDependencies {
  readonly store: CatalogStore;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly audit: AuditLog;
  readonly vendors: VendorRegistry;
  readonly tasks: UnfinishedTasks;
}

interface ChannelFilter {
  readonly vendor?: ChannelVendor;
  readonly model?: string;
  readonly enabled?: boolean;
}

type ChannelSort = Sort<(typeof CHANNEL_SORTS)[number]>;

/** Administration of channels. Each change and its audit log entry are one transaction. */
export class ChannelAdminService {
  readonly #dependencies: ChannelAdminDependencies;
  constructor(dependencies: ChannelAdminDependencies) {
    this.#dependencies = dependencies;
  }

  async list(
    filter: ChannelFilter,
    { offset, pageSize }: Page,
    sort?: ChannelSort,
  ): Promise<{ rows: ChannelView[]; total: number }> {
    const newestFirst = (await this.#dependencies.store.channels())
      .filter(
        (row) =>
          (filter.vendor === undefined || row.vendor === filter.vendor) &&
          (filter.enabled === undefined || (row.enabled === 1) === filter.enabled) &&
          (filter.model === undefined || (JSON.parse(row.models) as string[]).includes(filter.model)),
      )
      .reverse();
    const rows = sort === undefined ? newestFirst : sortRowsBy(newestFirst, sort.descending, (row) => row[sort.key]);
    return { rows: rows.slice(offset, offset + pageSize).map((row) => this.#toView(row)), total: rows.length };
  }

  async get(id: number): Promise<ChannelView> {
    return this.#toView(requireChannel(await this.#dependencies.store.channel(id)));
  }

  async create(actor: Actor, role: Role, input: NewChannel): Promise<number> {
    const { store, vault, clock, audit } = this.#dependencies;
    const { name, vendor } = input;
    const options = boundOptions(input.options ?? {}, input.max_concurrent_tasks);
    assertMayReach(role, options);
    assertMaxConcurrentTasks(options);
    if (input.credentials === undefined && input.credential_list === undefined)
      throw invalidRequest('Give credentials or credential_list.', 'credentials');
    const credentials = this.#changeCredentials(vendor, NO_CREDENTIALS, input);
    const baseUrl = this.#baseUrl(vendor, input.base_url ?? '', options);
    const connection = changeConnection({}, input, options.private === true);
    return store.change(async (trx) => {
      await this.#assertModels(trx, vendor, input.models);
      const now = clock.now();
      const id = await store.addChannel(trx, {
        name,
        vendor,
        base_url: baseUrl,
        credentials: '',
        options: JSON.stringify(options),
        models: JSON.stringify([...new Set(input.models)]),
        model_mapping: JSON.stringify(input.model_mapping ?? {}),
        priority: input.priority ?? 0,
        weight: input.weight ?? 1,
        enabled: toBit(input.enabled !== false),
        sandbox: null,
        created_at: now,
        updated_at: now,
      });
      await store.setChannel(trx, id, {
        credentials: encryptCredentials(vault, id, credentials),
        connection: encryptConnection(vault, id, connection),
      });
      const after = requireChannel(await store.channel(id, trx));
      await audit.record(trx, {
        ...actor,
        action: 'channel.create',
        target: `channel:${id}`,
        after: { ...toAuditRecord(after), credentials: '[masked]', credential_list: toAuditList(credentials) },
      });
      return id;
    });
  }

  /**
   * @throws AppError `forbidden` for a private channel unless the caller is root; `invalid_request` for invalid values
   */
  async update(actor: Actor, role: Role, id: number, change: ChannelChange): Promise<void> {
    const { store, vault, clock, audit, tasks } = this.#dependencies;
    await store.change(async (trx) => {
      const before = requireChannel(await store.channel(id, trx));
      if (change.vendor !== undefined && change.vendor !== before.vendor)
        throw invalidRequest('The vendor of a channel cannot change; add another channel.', 'vendor');
      const stored = this.#credentials(before);
      const credentials = this.#changeCredentials(before.vendor, stored, change);
      const removed = removedIds(stored, credentials);
      const count = removed.length === 0 ? 0 : await tasks.countUnfinished(trx, id, removed);
      if (count > 0) throw new AppError('channel_in_use', { messageKey: 'credential_in_use', params: { count } });
      if (change.models !== undefined) await this.#assertModels(trx, before.vendor, change.models);
      const optionsBefore = JSON.parse(before.options) as Channel['options'];
      const options = boundOptions(change.options ?? optionsBefore, change.max_concurrent_tasks);
      assertMayReach(role, options, optionsBefore);
      assertMaxConcurrentTasks(options);
      // Removing `private` must not leave a private base URL, and without `private` the base URL must not become
      // private.
      const base_url = this.#baseUrl(before.vendor, change.base_url ?? before.base_url, options);
      const isMoved =
        credentialDestination(base_url, options) !== credentialDestination(before.base_url, optionsBefore);
      // Stored credentials are never shown; sending them to a new host would reveal them to that host.
      if (isMoved && keepsStoredValues(stored, credentials) && role !== 'root')
        throw invalidRequest('Give the credentials again: they would go to another address.', 'credentials');
      const connection = changeConnection(this.#connection(before), change, options.private === true);
      await store.setChannel(trx, id, {
        base_url,
        connection: encryptConnection(vault, id, connection),
        options: JSON.stringify(options),
        updated_at: Math.max(clock.now(), before.updated_at + 1),
        ...defined({
          name: change.name,
          credentials: credentials === stored ? undefined : encryptCredentials(vault, id, credentials),
          models: change.models && JSON.stringify([...new Set(change.models)]),
          model_mapping: change.model_mapping && JSON.stringify(change.model_mapping),
          priority: change.priority,
          weight: change.weight,
          enabled: change.enabled === undefined ? undefined : toBit(change.enabled),
        }),
      });
      const after = requireChannel(await store.channel(id, trx));
      await audit.record(trx, {
        ...actor,
        action: 'channel.update',
        target: `channel:${id}`,
        before: { ...toAuditRecord(before), credential_list: toAuditList(stored) },
        after: {
          ...toAuditRecord(after),
          credential_list: toAuditList(credentials),
          ...(replacesValues(stored, credentials) && { credentials: '[masked]' }),
        },
      });
    });
  }

  /** Models the upstream lists that its channel does not serve yet, each with a price. */
  async suggestModels(id: number, listed: readonly string[]): Promise<SuggestedModel[]> {
    const { store, vendors } = this.#dependencies;
    const [row, models] = await Promise.all([store.channel(id), store.models()]);
    const { vendor, models: served, model_mapping: mapping } = requireChannel(row);
    const channel = { vendor, models: JSON.parse(served) as string[], modelMapping: JSON.parse(mapping) as object };
    return suggestModels(channel, listed, { rows: models, ...vendors.knownPrices });
  }

  /**
   * Adds models to a channel. Models without a row get one at the suggested price; existing rows stay unchanged.
   *
   * @throws AppError `invalid_request` for a model of another vendor, or a video model without a shipped price
   */
  async addModels(
    actor: Actor,
    role: Role,
    id: number,
    ids: readonly string[],
  ): Promise<{ created: string[]; kept: string[] }> {
    const { store, clock, audit, vendors } = this.#dependencies;
    return store.change(async (trx) => {
      const before = requireChannel(await store.channel(id, trx));
      assertMayReach(role, JSON.parse(before.options) as Channel['options']);
      await this.#assertModels(trx, before.vendor, ids);
      const models = [...new Set([...(JSON.parse(before.models) as string[]), ...ids])];
      if (models.length > MAX_MODELS)
        throw invalidRequest(`The channel would have more than ${MAX_MODELS} models.`, 'ids');
      const rows = await store.models(trx);
      const now = clock.now();
      const created: string[] = [];
      for (const model of new Set(ids)) {
        if (rows.some((row) => row.id === model)) continue;
        const row = toModelRow(
          before.vendor,
          suggestModel(model, before.vendor, { rows, ...vendors.knownPrices }),
          now,
        );
        if (row === undefined)
          throw invalidRequest(
            `There is no shipped price for the model ${model} of the vendor ${before.vendor}: add it with a price of your own.`,
            'ids',
          );
        await store.addModel(trx, row);
        await audit.record(trx, {
          ...actor,
          action: 'model.create',
          target: `model:${model}`,
          after: { ...row, price: JSON.parse(row.price), enabled: true },
        });
        created.push(model);
      }
      await store.setServedModels(trx, id, models);
      const after = requireChannel(await store.channel(id, trx));
      await audit.record(trx, {
        ...actor,
        action: 'channel.update',
        target: `channel:${id}`,
        before: toAuditRecord(before),
        after: toAuditRecord(after),
      });
      return { created, kept: [...new Set(ids)].filter((model) => !created.includes(model)) };
    });
  }

  async remove(actor: Actor, id: number): Promise<void> {
    const { store, audit, tasks } = this.#dependencies;
    await store.change(async (trx) => {
      const before = requireChannel(await store.channel(id, trx));
      const count = await tasks.countUnfinished(trx, id);
      if (count > 0) throw new AppError('channel_in_use', { params: { count } });
      await store.removeChannel(trx, id);
      await audit.record(trx, {
        ...actor,
        action: 'channel.delete',
        target: `channel:${id}`,
        before: toAuditRecord(before),
      });
    });
  }

  #toView(row: ChannelRow): ChannelView {
    return toChannelView(row, this.#credentials(row), this.#connection(row));
  }

  #credentials(row: ChannelRow): CredentialList {
    return decryptOr(() => decryptCredentials(this.#dependencies.vault, row), NO_CREDENTIALS);
  }

  #connection(row: ChannelRow): ChannelConnection {
    return decryptOr(() => decryptConnection(this.#dependencies.vault, row), {});
  }

  #baseUrl(vendor: ChannelVendor, text: string, options: Channel['options']): string {
    if (options.private !== undefined && typeof options.private !== 'boolean')
      throw invalidRequest('options.private must be true or false.', 'options.private');
    for (const [key, value] of Object.entries(options))
      if (typeof value === 'string' && isMetadataUrl(value))
        throw invalidRequest(`options.${key} is where a cloud hands out the secrets of its machines.`, 'options');
    const { defaultBaseUrl } = this.#dependencies.vendors.profile(vendor);
    return parseBaseUrl(text.trim() === '' ? defaultBaseUrl : text, options.private === true);
  }

  #changeCredentials(vendor: ChannelVendor, before: CredentialList, change: ChannelChange): CredentialList {
    const read = credentialReader(this.#dependencies.vendors.profile(vendor));
    return changeCredentials(before, change, read);
  }

  /** A model without a row is accepted, because scripts may create channel and model in either order. */
  async #assertModels(trx: Trx, vendor: ChannelVendor, models: readonly string[]): Promise<void> {
    const rows = new Map((await this.#dependencies.store.models(trx)).map((row) => [row.id, row]));
    for (const id of models) {
      const row = rows.get(id);
      const served = row?.alias_of == null ? row : rows.get(row.alias_of);
      if (served !== undefined && served.vendor !== vendor)
        throw invalidRequest(`The model ${id} is of the vendor ${served.vendor}, not ${vendor}.`, 'models');
    }
  }
}

/** The maximum number of models one change can name. */
const MAX_MODELS = 500;

const toModelRow = (vendor: ChannelVendor, model: SuggestedModel | undefined, now: number) =>
  model && {
    id: model.id,
    vendor,
    kind: model.kind,
    price: JSON.stringify(model.price),
    alias_of: null,
    input_schema: null,
    on_retirement: 'refuse' as const,
    enabled: 1 as const,
    created_at: now,
    updated_at: now,
  };

const toBit = (flag: boolean): 0 | 1 => (flag ? 1 : 0);

/**
 * A private channel makes this server call hosts in its own network and shows parts of their responses, which is more
 * than administrators may see: only root may create, change or open one.
 *
 * @throws AppError `forbidden`
 */
function assertMayReach(role: Role, ...options: readonly Channel['options'][]): void {
  if (role !== 'root' && options.some((each) => each.private === true)) throw new AppError('forbidden');
}

/** The hosts that receive a channel's credentials. */
const credentialDestination = (baseUrl: string, { storage_base_url: storage }: Channel['options']): string =>
  JSON.stringify([baseUrl, storage ?? '']);

function requireChannel(row: ChannelRow | undefined): ChannelRow {
  if (row === undefined) throw notExistError('channel');
  return row;
}

/** The fields of a channel kept in the audit log. */
function toAuditRecord(row: ChannelRow) {
  const {
    credentials: _secret,
    connection: _connection,
    created_at: _created,
    updated_at: _updated,
    sandbox: _sandbox,
    ...rest
  } = row;
  return {
    ...rest,
    options: JSON.parse(row.options),
    models: JSON.parse(row.models),
    model_mapping: JSON.parse(row.model_mapping),
    enabled: row.enabled === 1,
  };
}

/** A channel as administrators see it: the names of its keys, never their values. */
export interface ChannelView
  extends Omit<Channel, 'credentials' | 'credentialId' | 'private' | 'extraHeaders' | 'maxConcurrentTasks'> {
  readonly enabled: boolean;
  readonly credentials: readonly CredentialView[];
  readonly extraHeaderNames: readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A credential as administrators see it: the names of its keys and a hint, never their values. */
export interface CredentialView extends Omit<ChannelCredential, 'values'> {
  readonly keys: readonly string[];
  readonly hint: string;
}

function toChannelView(row: ChannelRow, { items }: CredentialList, connection: ChannelConnection): ChannelView {
  const { private: _private, maxConcurrentTasks: _bound, extraHeaders = {}, ...shown } = toSettings(row, connection);
  return {
    ...shown,
    proxy: shownProxy(connection),
    extraHeaderNames: Object.keys(extraHeaders),
    enabled: row.enabled === 1,
    credentials: items.map(({ values, ...item }) => ({ ...item, keys: Object.keys(values), hint: hintOf(values) })),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** A model a channel could serve, with the price of its row or its initial price. */
interface SuggestedModel {
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
function suggestModels(
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
function suggestModel(
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

/** Dependencies of {@link probeChannel}. */
export interface ProbeDependencies {
  readonly channels: Pick<ChannelSelectionService, 'byId' | 'report' | 'endingModels'>;
  readonly vendors: VendorRegistry;
  /** Provided by `video`, so that a probe uses the same contexts as the adapters' calls. */
  readonly adapterContexts: { contextFor(channel: Channel, signal: AbortSignal): AdapterContext };
}

interface ProbeReport {
  readonly ok: boolean;
  readonly durationMs: number;
  readonly reason: string;
  readonly code: string;
  readonly message: string;
  readonly models: readonly string[];
  /** Names of the channel's models that the upstream does not list. */
  readonly missing: readonly string[];
  /** Models of the channel that are retired on its host. */
  readonly ending: readonly EndingModel[];
}

const PROBE_TIMEOUT_MS = 20_000;
const MAX_MESSAGE = 500;

/**
 * Checks one of a channel's credentials at its upstream, by default the first enabled one. Returns a summary, never the
 * response itself, because its content is untrusted.
 */
export async function probeChannel(
  { channels, vendors, adapterContexts }: ProbeDependencies,
  id: number,
  credentialId?: number,
): Promise<ProbeReport> {
  const channel = await channels.byId(id, credentialId);
  if (channel === undefined) throw notExistError('channel');
  if (credentialId !== undefined && channel.credentialId !== credentialId) throw notExistError('credential');
  const account = { channelId: id, credentialId: channel.credentialId } as const;
  const call = adapterContexts.contextFor(channel, AbortSignal.timeout(PROBE_TIMEOUT_MS));
  const startedAt = performance.now();
  const outcome = await runProbe(() => vendors.profile(channel.vendor).checkCredentials(call));
  const durationMs = Math.round(performance.now() - startedAt);
  if (outcome.ok) {
    channels.report({ ...account, outcome: 'ok', operation: 'probe', durationMs });
    const models = outcome.models ?? [];
    const compared = { models, missing: missingModels(channel, models), ending: channels.endingModels(channel) };
    return { ok: true, durationMs, reason: '', code: '', message: '', ...compared };
  }
  const { reason, code } = outcome.error;
  const message = truncateCodePoints(maskSecrets(outcome.error.message), MAX_MESSAGE);
  channels.report({ ...account, outcome: reason, operation: 'probe', durationMs, code, message });
  return {
    ok: false,
    durationMs,
    reason,
    code,
    message,
    models: [],
    missing: [],
    ending: channels.endingModels(channel),
  };
}

/** A longer list may be truncated, so models absent from it are not necessarily missing. */
const MAX_COMPARED = 500;

/** Upstream names of the channel's models that are missing from the upstream's own model list, if it has one. */
function missingModels({ models, modelMapping }: Channel, listed: readonly string[]): readonly string[] {
  if (listed.length === 0 || listed.length >= MAX_COMPARED) return [];
  const known = new Set(listed.map((name) => name.replace(/^models\//, '')));
  return models.map((model) => modelMapping?.[model] ?? model).filter((name) => !known.has(name));
}

type ProbeRunOutcome =
  | Extract<CredentialCheck, { ok: true }>
  | {
      readonly ok: false;
      readonly error: {
        readonly reason: 'unreachable' | FailedReason;
        readonly code: string;
        readonly message: string;
      };
    };
type FailedReason = Extract<CredentialCheck, { ok: false }>['error']['reason'];

async function runProbe(probe: () => Promise<CredentialCheck>): Promise<ProbeRunOutcome> {
  try {
    return await probe();
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return { ok: false, error: { reason: 'unreachable', code: error.phase, message: error.message } };
  }
}
