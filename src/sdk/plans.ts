import type { Static } from 'typebox';
import type { EndpointPart } from '../contract/endpoint.ts';
import { getOwnPackage, listPackageCards, type PackageCard, redeemCode } from '../contract/plans.ts';
import type { Transport } from './transport.ts';

export type PlanInfo = Static<typeof PackageCard>;
export type SubscriptionInfo = EndpointPart<typeof getOwnPackage, 'response'>['data'];
export type RedemptionResult = EndpointPart<typeof redeemCode, 'response'>['data'];

/** Plans, the account's subscription, and redemption codes. */
export class Plans {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Plans on offer, lowest level first. Needs no credentials. */
  async list(): Promise<PlanInfo[]> {
    return (await this.#transport.call(listPackageCards, {})).data;
  }

  /** The account's subscription: what is left of its allowances, when they reset, and which subscriptions follow. */
  async current(): Promise<SubscriptionInfo> {
    return (await this.#transport.call(getOwnPackage, {})).data;
  }

  /**
   * Redeems a code, which works once; case, spaces and dashes do not matter. Never retried automatically: when the response
   * is lost, `current` and the wallet show whether it worked.
   */
  async redeem(code: string): Promise<RedemptionResult> {
    return (await this.#transport.call(redeemCode, { body: { code } })).data;
  }
}
