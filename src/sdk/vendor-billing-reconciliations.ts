import type { EndpointPart } from '../contract/endpoint.ts';
import { defined } from '../contract/objects.ts';
import * as endpoints from '../contract/reconciliation.ts';
import type { Transport } from './transport.ts';

type Listed = EndpointPart<typeof endpoints.listReconciliations, 'response'>;
export type ReconciliationInfo = Listed['data'][number];
export type ReconciledAccountInfo = EndpointPart<typeof endpoints.listReconciledAccounts, 'response'>['data'][number];

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
    return this.#transport.call(endpoints.listReconciliations, { query: sent });
  }

  /** Channels whose vendor tells what it took: when read, why not, and whether a day's figures agree. */
  async accounts(): Promise<ReconciledAccountInfo[]> {
    return (await this.#transport.call(endpoints.listReconciledAccounts, {})).data;
  }

  /**
   * Reads a channel's account now.
   *
   * @returns null where the vendor has no endpoint for that
   * @throws ReelgateError `upstream_unavailable` where it could not be read
   */
  async read(channelId: number): Promise<ReconciliationInfo | null> {
    const params = { id: String(channelId) };
    return (await this.#transport.call(endpoints.reconcileChannel, { params })).data;
  }
}
