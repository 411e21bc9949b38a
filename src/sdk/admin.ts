import * as channelsEndpoints from '../contract/channels.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import { defined } from '../contract/objects.ts';
import * as reconciliationEndpoints from '../contract/reconciliation.ts';
import * as endpoints from '../contract/site-settings.ts';
import type { Transport } from './transport.ts';

export type SiteSettingInfo = endpoints.SiteSetting;

/** The settings of the site; for root. */
export class SiteSettings {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All of them with the value in effect and where it comes from. */
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

type Listed = EndpointPart<typeof reconciliationEndpoints.listReconciliations, 'response'>;
export type ReconciliationInfo = Listed['data'][number];
export type ReconciledAccountInfo = EndpointPart<
  typeof reconciliationEndpoints.listReconciledAccounts,
  'response'
>['data'][number];

/** What was settled against what vendors billed; for administrators. */
export class Reconciliations {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Newest first. @param query.by `day` sums the readings of each day of UTC; `page` begins at 1 */
  async list(
    query: { readonly channelId?: number; readonly by?: 'reading' | 'day'; readonly page?: number } = {},
  ): Promise<{ readonly data: ReconciliationInfo[]; readonly total: number }> {
    const { channelId, by, page } = query;
    const sent = defined({ channel_id: channelId?.toString(), by, page: page?.toString() });
    return this.#transport.call(reconciliationEndpoints.listReconciliations, { query: sent });
  }

  /** Channels whose vendor tells what it took: when read, why not, and whether a day's figures agree. */
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

export type ChannelPresetInfo = EndpointPart<typeof channelsEndpoints.listChannelPresets, 'response'>['data'][number];
export type ChannelTestResult = EndpointPart<typeof channelsEndpoints.testChannel, 'response'>['data'];
export type AddedModels = EndpointPart<typeof channelsEndpoints.addChannelModels, 'response'>['data'];

/** From a provider's key to its models; for administrators. */
export class Channels {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Known providers: base URL, dialect, where keys are handed out. */
  async presets(): Promise<ChannelPresetInfo[]> {
    return (await this.#transport.call(channelsEndpoints.listChannelPresets, {})).data;
  }

  /** Adds a channel; returns its id. */
  async create(channel: EndpointPart<typeof channelsEndpoints.makeChannel, 'body'>): Promise<number> {
    return (await this.#transport.call(channelsEndpoints.makeChannel, { body: channel })).data.id;
  }

  /** Asks the upstream whether a credential works, and which of its models the channel does not serve yet. */
  async test(channelId: number, credentialId?: number): Promise<ChannelTestResult> {
    const query = defined({ credential_id: credentialId?.toString() });
    return (await this.#transport.call(channelsEndpoints.testChannel, { params: { id: String(channelId) }, query }))
      .data;
  }

  /** Lets a channel serve models. Those without a row get one at the price the test suggested; no price is overwritten. */
  async addModels(channelId: number, ids: readonly string[]): Promise<AddedModels> {
    const params = { id: String(channelId) };
    return (await this.#transport.call(channelsEndpoints.addChannelModels, { params, body: { ids: [...ids] } })).data;
  }
}
