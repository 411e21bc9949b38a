import type { Static } from 'typebox';
import { deleteBudget, listBudgets, putBudget } from '../contract/budgets.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import { defined } from '../contract/objects.ts';
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

export type BudgetInfo = EndpointPart<typeof listBudgets, 'response'>['data'][number];

/** Monthly budgets of the account and of its keys: they only notify and block nothing. `tokenId` 0 is the account. */
export class Budgets {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async list(): Promise<BudgetInfo[]> {
    return (await this.#transport.call(listBudgets, {})).data;
  }

  /** @param budget.thresholds per cent at which the account is told; default 50, 80 and 100 */
  async set(
    tokenId: number,
    budget: { readonly monthQuota: number; readonly thresholds?: readonly number[] },
  ): Promise<BudgetInfo> {
    const body = defined({ month_quota: budget.monthQuota, thresholds: budget.thresholds && [...budget.thresholds] });
    return (await this.#transport.call(putBudget, { params: { token_id: String(tokenId) }, body })).data;
  }

  /** @throws ReelgateError `not_exist` */
  async remove(tokenId: number): Promise<void> {
    await this.#transport.call(deleteBudget, { params: { token_id: String(tokenId) } });
  }
}
