import type { Transaction } from 'kysely';
import type { Static } from 'typebox';
import { Compile } from 'typebox/compile';
import type { changeChannel, makeChannel } from '../../contract/channels.ts';
import type { Page } from '../../contract/schemas.ts';
import type { Audit } from '../accounts/audit.ts';
import type { Clock } from '../platform/clock.ts';
import { AppError, invalid, notExist } from '../platform/errors.ts';
import { SealBroken, type Vault } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import { readBaseUrl } from './base-url.ts';
import { toChannel } from './catalog.ts';
import type { Channel, ChannelVendor } from './channels.ts';
import { openCredentials, sealCredentials } from './seal.ts';
import type { ChannelRow, ChannelStore } from './store.ts';
import type { ChannelProfiles } from './upstreams.ts';

type NewChannel = Static<(typeof makeChannel)['body']>;
type ChannelChange = Static<(typeof changeChannel)['body']>;

/** Who changes something, for the audit log. */
export interface Actor {
  readonly actorId: number;
  readonly address: string;
  readonly requestId: string;
}

/** How much work is still held by channels; answered by video. */
export interface OpenTasks {
  /** Unfinished tasks by channel; channels without any are left out. */
  unfinishedByChannel(): Promise<ReadonlyMap<number, number>>;
  countUnfinished(trx: Transaction<Tables>, channelId: number): Promise<number>;
}

export interface ChannelAdminParts {
  readonly store: ChannelStore;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly profiles: ChannelProfiles;
  readonly tasks: OpenTasks;
}

export interface ChannelFilter {
  readonly vendor?: ChannelVendor;
  readonly model?: string;
  readonly enabled?: boolean;
}

/** A channel as administrators see it: the names of its keys, never their values. */
export interface ChannelView extends Omit<Channel, 'credentials' | 'private'> {
  readonly enabled: boolean;
  readonly credentialKeys: readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What administrators do with channels; every change is one transaction with its line in the audit log. */
export class ChannelAdmin {
  readonly #parts: ChannelAdminParts;
  constructor(parts: ChannelAdminParts) {
    this.#parts = parts;
  }

  async list(filter: ChannelFilter, { offset, pageSize }: Page): Promise<{ rows: ChannelView[]; total: number }> {
    const rows = (await this.#parts.store.channels())
      .filter(
        (row) =>
          (filter.vendor === undefined || row.vendor === filter.vendor) &&
          (filter.enabled === undefined || (row.enabled === 1) === filter.enabled) &&
          (filter.model === undefined || (JSON.parse(row.models) as string[]).includes(filter.model)),
      )
      .reverse();
    return { rows: rows.slice(offset, offset + pageSize).map((row) => this.#view(row)), total: rows.length };
  }

  async get(id: number): Promise<ChannelView> {
    return this.#view(existing(await this.#parts.store.channel(id)));
  }

  async create(actor: Actor, wanted: NewChannel): Promise<number> {
    const { store, vault, clock, audit } = this.#parts;
    const { name, vendor, credentials, options = {} } = wanted;
    this.#assertCredentials(vendor, credentials);
    const baseUrl = this.#baseUrl(vendor, wanted.base_url ?? '', options);
    return store.change(async (trx) => {
      await this.#assertModels(trx, vendor, wanted.models);
      const now = clock.now();
      const id = await store.addChannel(trx, {
        name,
        vendor,
        base_url: baseUrl,
        credentials: '',
        options: JSON.stringify(options),
        models: JSON.stringify([...new Set(wanted.models)]),
        priority: wanted.priority ?? 0,
        weight: wanted.weight ?? 1,
        enabled: wanted.enabled === false ? 0 : 1,
        sandbox: null,
        created_at: now,
        updated_at: now,
      });
      await store.setChannel(trx, id, { credentials: sealCredentials(vault, id, credentials) });
      const after = existing(await store.channel(id, trx));
      await audit.record(trx, {
        ...actor,
        action: 'channel.create',
        target: `channel:${id}`,
        after: { ...told(after), credentials: '[masked]' },
      });
      return id;
    });
  }

  /** @param mayMoveKeys whether stored credentials may go to another address without being given again */
  async update(actor: Actor, id: number, change: ChannelChange, mayMoveKeys: boolean): Promise<void> {
    const { store, vault, clock, audit } = this.#parts;
    await store.change(async (trx) => {
      const before = existing(await store.channel(id, trx));
      if (change.vendor !== undefined && change.vendor !== before.vendor)
        throw invalid('The vendor of a channel cannot change; add another channel.', 'vendor');
      if (change.credentials !== undefined) this.#assertCredentials(before.vendor, change.credentials);
      if (change.models !== undefined) await this.#assertModels(trx, before.vendor, change.models);
      const options = change.options ?? (JSON.parse(before.options) as Channel['options']);
      // Taking `private` away must not leave a private address behind, nor the other way round.
      const base_url = this.#baseUrl(before.vendor, change.base_url ?? before.base_url, options);
      const isMoved = destinationOf(base_url, options) !== destinationOf(before.base_url, JSON.parse(before.options));
      if (isMoved && change.credentials === undefined && !mayMoveKeys)
        throw invalid('Give the credentials again: they would go to another address.', 'credentials');
      await store.setChannel(trx, id, {
        base_url,
        options: JSON.stringify(options),
        updated_at: Math.max(clock.now(), before.updated_at + 1),
        ...(change.name === undefined ? {} : { name: change.name }),
        ...(change.credentials === undefined ? {} : { credentials: sealCredentials(vault, id, change.credentials) }),
        ...(change.models === undefined ? {} : { models: JSON.stringify([...new Set(change.models)]) }),
        ...(change.priority === undefined ? {} : { priority: change.priority }),
        ...(change.weight === undefined ? {} : { weight: change.weight }),
        ...(change.enabled === undefined ? {} : { enabled: change.enabled ? (1 as const) : (0 as const) }),
      });
      const after = existing(await store.channel(id, trx));
      await audit.record(trx, {
        ...actor,
        action: 'channel.update',
        target: `channel:${id}`,
        before: told(before),
        after: { ...told(after), ...(change.credentials === undefined ? {} : { credentials: '[masked]' }) },
      });
    });
  }

  async remove(actor: Actor, id: number): Promise<void> {
    const { store, audit, tasks } = this.#parts;
    await store.change(async (trx) => {
      const before = existing(await store.channel(id, trx));
      const count = await tasks.countUnfinished(trx, id);
      if (count > 0) throw new AppError('channel_in_use', { params: { count } });
      await store.removeChannel(trx, id);
      await audit.record(trx, { ...actor, action: 'channel.delete', target: `channel:${id}`, before: told(before) });
    });
  }

  #view(row: ChannelRow): ChannelView {
    const { credentials, private: _private, ...shown } = toChannel(row, this.#credentials(row));
    return {
      ...shown,
      enabled: row.enabled === 1,
      credentialKeys: Object.keys(credentials),
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    };
  }

  #credentials(row: ChannelRow): Channel['credentials'] {
    try {
      return openCredentials(this.#parts.vault, row);
    } catch (error) {
      if (error instanceof SealBroken) return {};
      throw error;
    }
  }

  #baseUrl(vendor: ChannelVendor, text: string, options: Channel['options']): string {
    if (options.private !== undefined && typeof options.private !== 'boolean')
      throw invalid('options.private must be true or false.', 'options.private');
    const { defaultBaseUrl } = this.#parts.profiles.of(vendor);
    return readBaseUrl(text.trim() === '' ? defaultBaseUrl : text, options.private === true);
  }

  #assertCredentials(vendor: ChannelVendor, credentials: Channel['credentials']): void {
    const { title, credentials: schema } = this.#parts.profiles.of(vendor);
    const validator = Compile(schema);
    if (JSON.stringify(credentials).length > 16_384) throw invalid('credentials are too long.', 'credentials');
    if (validator.Check(credentials)) return;
    // Never the library's own words here: they may quote what was sent.
    throw invalid(`credentials do not have the keys ${title} needs: ${keysOf(schema)}.`, 'credentials');
  }

  /** A model whose row does not exist yet is let through: scripts may make channel and model in either order. */
  async #assertModels(trx: Transaction<Tables>, vendor: ChannelVendor, models: readonly string[]): Promise<void> {
    const rows = new Map((await this.#parts.store.models(trx)).map((row) => [row.id, row]));
    for (const id of models) {
      const row = rows.get(id);
      const served = row?.alias_of == null ? row : rows.get(row.alias_of);
      if (served !== undefined && served.vendor !== vendor)
        throw invalid(`The model ${id} is of the vendor ${served.vendor}, not ${vendor}.`, 'models');
    }
  }
}

/** Where a channel's credentials are sent. */
const destinationOf = (baseUrl: string, { storage_base_url: storage }: Channel['options']): string =>
  JSON.stringify([baseUrl, storage ?? '']);

function existing(row: ChannelRow | undefined): ChannelRow {
  if (row === undefined) throw notExist('channel');
  return row;
}

/** What the audit log keeps of a channel. */
function told(row: ChannelRow) {
  const { credentials: _secret, created_at: _created, updated_at: _updated, sandbox: _sandbox, ...rest } = row;
  return { ...rest, options: JSON.parse(row.options), models: JSON.parse(row.models), enabled: row.enabled === 1 };
}

/** The ways to fill in credentials, such as `{access_key, secret_key} or {api_key}`. */
function keysOf(schema: unknown): string {
  const { anyOf, properties } = schema as { readonly anyOf?: readonly unknown[]; readonly properties?: object };
  return anyOf?.map(keysOf).join(' or ') ?? `{${Object.keys(properties ?? {}).join(', ')}}`;
}
