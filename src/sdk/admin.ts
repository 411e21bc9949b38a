import * as reconciliationEndpoints from '../contract/admin-videos.ts';
import * as channelEndpoints from '../contract/channels.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import * as endpoints from '../contract/service.ts';
import type { PageResult, Transport } from './transport.ts';

/** A site setting with its value and the source of that value. */
export type SiteSettingInfo = endpoints.SiteSetting;

/** Settings of the site; requires the role `root`. */
export class SiteSettings {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * All settings with their effective values and sources.
   *
   * @throws ReelgateError `forbidden` for accounts other than root
   */
  async list(): Promise<SiteSettingInfo[]> {
    return (await this.#transport.call(endpoints.listSiteSettings, {})).data;
  }

  /**
   * Stores a setting; every process applies the value within seconds.
   *
   * @param value null resets the setting to its default
   * @throws ReelgateError if the environment defines the setting or the value is invalid
   */
  async set(name: string, value: string | null): Promise<SiteSettingInfo> {
    return (await this.#transport.call(endpoints.updateSiteSetting, { params: { name }, body: { value } })).data;
  }
}

/** Settled consumption of a period compared with the vendor's bill. */
export type ReconciliationInfo = EndpointPart<
  typeof reconciliationEndpoints.listReconciliations,
  'response'
>['data'][number];
/** A channel whose vendor reports its consumption. */
export type ReconciledAccountInfo = EndpointPart<
  typeof reconciliationEndpoints.listReconciledAccounts,
  'response'
>['data'][number];

/** Filters of the reconciliation list. */
export interface ReconciliationQuery {
  /** Lists the reconciliations of this channel only. */
  readonly channelId?: number;
  /** `reading`: one row per reading of the vendor's figures; `day`: sums per UTC day. */
  readonly by?: 'reading' | 'day';
  /** Page number, starting at 1. */
  readonly page?: number;
}

/** Compares settled consumption with vendors' bills; requires an administrator. */
export class Reconciliations {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One page, newest first. @throws ReelgateError `forbidden` for accounts other than administrators */
  async list(query: ReconciliationQuery = {}): Promise<PageResult<ReconciliationInfo>> {
    const { channelId, by, page } = query;
    const sent = { channel_id: channelId?.toString(), by, page: page?.toString() };
    return this.#transport.call(reconciliationEndpoints.listReconciliations, { query: sent });
  }

  /**
   * Channels whose vendor reports its charges: time of the last reading, reason for a failed one, and whether the
   * figures of a day agree.
   *
   * @throws ReelgateError `forbidden`
   */
  async accounts(): Promise<ReconciledAccountInfo[]> {
    return (await this.#transport.call(reconciliationEndpoints.listReconciledAccounts, {})).data;
  }

  /**
   * Reads a channel's account immediately.
   *
   * @returns null if the vendor has no endpoint for that
   * @throws ReelgateError `refused` (upstream_unavailable) if the account could not be read
   */
  async read(channelId: number): Promise<ReconciliationInfo | null> {
    const params = { id: String(channelId) };
    return (await this.#transport.call(reconciliationEndpoints.reconcileChannel, { params })).data;
  }
}

/** Preset of a known provider: base URL, dialect, page that issues its keys. */
export type ChannelPresetInfo = EndpointPart<typeof channelEndpoints.listChannelPresets, 'response'>['data'][number];
/** Whether a channel's credential works, and which models the channel could serve. */
export type ChannelTestResult = EndpointPart<typeof channelEndpoints.testChannel, 'response'>['data'];
/** Models the channel serves from now on, and those that received a price. */
export type AddedModels = EndpointPart<typeof channelEndpoints.addChannelModels, 'response'>['data'];

/** A channel to add. */
export type NewChannel = EndpointPart<typeof channelEndpoints.makeChannel, 'body'>;

/** Channels and the models they serve; requires an administrator. */
export class Channels {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Presets of known providers: base URL, dialect, page that issues keys. @throws ReelgateError `forbidden` */
  async presets(): Promise<ChannelPresetInfo[]> {
    return (await this.#transport.call(channelEndpoints.listChannelPresets, {})).data;
  }

  /** Adds a channel and returns its id. @throws ReelgateError `invalid_request` */
  async create(channel: NewChannel): Promise<number> {
    return (await this.#transport.call(channelEndpoints.makeChannel, { body: channel })).data.id;
  }

  /**
   * Checks with the upstream whether a credential works and which of its models the channel does not serve yet.
   *
   * @throws ReelgateError `refused` (not_exist)
   */
  async test(channelId: number, credentialId?: number): Promise<ChannelTestResult> {
    const query = { credential_id: credentialId?.toString() };
    return (await this.#transport.call(channelEndpoints.testChannel, { params: { id: String(channelId) }, query }))
      .data;
  }

  /**
   * Enables models on a channel. Models missing from the catalogue are added at the price the test suggested; existing
   * prices are kept.
   *
   * @throws ReelgateError `refused` (not_exist)
   */
  async addModels(channelId: number, ids: readonly string[]): Promise<AddedModels> {
    const params = { id: String(channelId) };
    return (await this.#transport.call(channelEndpoints.addChannelModels, { params, body: { ids: [...ids] } })).data;
  }
}
