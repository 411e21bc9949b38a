import * as channelsEndpoints from '../contract/channels.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import { defined } from '../contract/objects.ts';
import * as reconciliationEndpoints from '../contract/reconciliation.ts';
import * as endpoints from '../contract/site-settings.ts';
import type { PageResult, Transport } from './transport.ts';

/** A setting of the site with its value and where the value comes from. */
export type SiteSettingInfo = endpoints.SiteSetting;

/** The settings of the site; for root. */
export class SiteSettings {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * All of them with the value in effect and where it comes from.
   *
   * @throws ReelgateError `forbidden` for other accounts than root
   */
  async list(): Promise<SiteSettingInfo[]> {
    return (await this.#transport.call(endpoints.listSiteSettings, {})).data;
  }

  /**
   * Stores one; it is in effect on every process within seconds.
   *
   * @param value null: back to the default
   * @throws ReelgateError where the environment gives the setting, or it cannot have this value
   */
  async set(name: string, value: string | null): Promise<SiteSettingInfo> {
    return (await this.#transport.call(endpoints.updateSiteSetting, { params: { name }, body: { value } })).data;
  }
}

/** What was settled in a period against what a vendor billed. */
export type ReconciliationInfo = EndpointPart<
  typeof reconciliationEndpoints.listReconciliations,
  'response'
>['data'][number];
/** A channel whose vendor reports its consumption. */
export type ReconciledAccountInfo = EndpointPart<
  typeof reconciliationEndpoints.listReconciledAccounts,
  'response'
>['data'][number];

/** Which reconciliations to list. */
export interface ReconciliationQuery {
  /** Only those of this channel. */
  readonly channelId?: number;
  /** `reading`: each reading of the vendor's figures; `day`: their sums by day of UTC. */
  readonly by?: 'reading' | 'day';
  /** Number of the page, from 1. */
  readonly page?: number;
}

/** What was settled against what vendors billed; for administrators. */
export class Reconciliations {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One page, newest first. @throws ReelgateError `forbidden` for other accounts than administrators */
  async list(query: ReconciliationQuery = {}): Promise<PageResult<ReconciliationInfo>> {
    const { channelId, by, page } = query;
    const sent = defined({ channel_id: channelId?.toString(), by, page: page?.toString() });
    return this.#transport.call(reconciliationEndpoints.listReconciliations, { query: sent });
  }

  /**
   * Channels whose vendor tells what it took: when read, why not, and whether a day's figures agree.
   *
   * @throws ReelgateError `forbidden`
   */
  async accounts(): Promise<ReconciledAccountInfo[]> {
    return (await this.#transport.call(reconciliationEndpoints.listReconciledAccounts, {})).data;
  }

  /**
   * Reads a channel's account now.
   *
   * @returns null where the vendor has no endpoint for that
   * @throws ReelgateError `upstream_unavailable` where it could not be read
   */
  async read(channelId: number): Promise<ReconciliationInfo | null> {
    const params = { id: String(channelId) };
    return (await this.#transport.call(reconciliationEndpoints.reconcileChannel, { params })).data;
  }
}

/** A provider known by name: base URL, dialect, where its keys are issued. */
export type ChannelPresetInfo = EndpointPart<typeof channelsEndpoints.listChannelPresets, 'response'>['data'][number];
/** Whether a channel's credential works, and models the channel could serve. */
export type ChannelTestResult = EndpointPart<typeof channelsEndpoints.testChannel, 'response'>['data'];
/** Models a channel serves from now on, and those that got a price. */
export type AddedModels = EndpointPart<typeof channelsEndpoints.addChannelModels, 'response'>['data'];

/** A channel to add. */
export type NewChannel = EndpointPart<typeof channelsEndpoints.makeChannel, 'body'>;

/** From a provider's key to its models; for administrators. */
export class Channels {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Known providers: base URL, dialect, where keys are handed out. @throws ReelgateError `forbidden` */
  async presets(): Promise<ChannelPresetInfo[]> {
    return (await this.#transport.call(channelsEndpoints.listChannelPresets, {})).data;
  }

  /** Adds a channel; returns its id. @throws ReelgateError `invalid_request` */
  async create(channel: NewChannel): Promise<number> {
    return (await this.#transport.call(channelsEndpoints.makeChannel, { body: channel })).data.id;
  }

  /**
   * Asks the upstream whether a credential works, and which of its models the channel does not serve yet.
   *
   * @throws ReelgateError `not_exist`
   */
  async test(channelId: number, credentialId?: number): Promise<ChannelTestResult> {
    const query = defined({ credential_id: credentialId?.toString() });
    return (await this.#transport.call(channelsEndpoints.testChannel, { params: { id: String(channelId) }, query }))
      .data;
  }

  /**
   * Lets a channel serve models. Those without a row get one at the price the test suggested; no price is overwritten.
   *
   * @throws ReelgateError `not_exist`
   */
  async addModels(channelId: number, ids: readonly string[]): Promise<AddedModels> {
    const params = { id: String(channelId) };
    return (await this.#transport.call(channelsEndpoints.addChannelModels, { params, body: { ids: [...ids] } })).data;
  }
}
