import * as lines from '../contract/beta-applications.ts';
import type { PartOf } from '../contract/endpoint.ts';
import { allPages } from './pages.ts';
import type { Transport } from './transport.ts';

export type BetaApplicationInfo = PartOf<typeof lines.listBetaApplications, 'answer'>['data'][number];

/** Requests of the account for features in beta. */
export class BetaApplications {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All of them, newest first. */
  list(): Promise<BetaApplicationInfo[]> {
    return allPages((query) => this.#transport.call(lines.listBetaApplications, { query }));
  }

  /** Answers its id. @throws ReelgateError while one for the feature waits or was granted */
  async apply(feature: string, reason: string): Promise<number> {
    return (await this.#transport.call(lines.applyForBeta, { body: { feature, reason } })).data.id;
  }
}
