import * as endpoints from '../contract/beta-applications.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import { fetchAllPages } from './fetch-all-pages.ts';
import type { Transport } from './transport.ts';

export type BetaApplicationInfo = EndpointPart<typeof endpoints.listBetaApplications, 'response'>['data'][number];

/** The account's applications for beta features. */
export class BetaApplications {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All of them, newest first. */
  list(): Promise<BetaApplicationInfo[]> {
    return fetchAllPages((query) => this.#transport.call(endpoints.listBetaApplications, { query }));
  }

  /** Returns its id. @throws ReelgateError while an application for the feature is pending or approved */
  async apply(feature: string, reason: string): Promise<number> {
    return (await this.#transport.call(endpoints.applyForBeta, { body: { feature, reason } })).data.id;
  }
}
