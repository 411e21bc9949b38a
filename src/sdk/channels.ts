import * as endpoints from '../contract/channels.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import { defined } from '../contract/objects.ts';
import type { Transport } from './transport.ts';

export type ChannelPresetInfo = EndpointPart<typeof endpoints.listChannelPresets, 'response'>['data'][number];
export type ChannelTestResult = EndpointPart<typeof endpoints.testChannel, 'response'>['data'];
export type AddedModels = EndpointPart<typeof endpoints.addChannelModels, 'response'>['data'];

/** From a provider's key to its models; for administrators. */
export class Channels {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Known providers: base URL, dialect, where keys are handed out. */
  async presets(): Promise<ChannelPresetInfo[]> {
    return (await this.#transport.call(endpoints.listChannelPresets, {})).data;
  }

  /** Adds a channel; returns its id. */
  async create(channel: EndpointPart<typeof endpoints.makeChannel, 'body'>): Promise<number> {
    return (await this.#transport.call(endpoints.makeChannel, { body: channel })).data.id;
  }

  /** Asks the upstream whether a credential works, and which of its models the channel does not serve yet. */
  async test(channelId: number, credentialId?: number): Promise<ChannelTestResult> {
    const query = defined({ credential_id: credentialId?.toString() });
    return (await this.#transport.call(endpoints.testChannel, { params: { id: String(channelId) }, query })).data;
  }

  /** Lets a channel serve models. Those without a row get one at the price the test suggested; no price is overwritten. */
  async addModels(channelId: number, ids: readonly string[]): Promise<AddedModels> {
    const params = { id: String(channelId) };
    return (await this.#transport.call(endpoints.addChannelModels, { params, body: { ids: [...ids] } })).data;
  }
}
