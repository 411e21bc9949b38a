import type { Static } from 'typebox';
import type { EndpointPart } from '../contract/endpoint.ts';
import {
  deleteBudget,
  getOwnPackage,
  listBudgets,
  listPackageCards,
  type PackageCard,
  putBudget,
  redeemCode,
} from '../contract/plans.ts';
import type { Transport } from './transport.ts';

/** A plan on offer. */
export type PlanInfo = Static<typeof PackageCard>;
/** The account's subscription and its allowances. */
export type SubscriptionInfo = EndpointPart<typeof getOwnPackage, 'response'>['data'];
/** Benefits granted by a code. */
export type RedemptionResult = EndpointPart<typeof redeemCode, 'response'>['data'];

/** Plans, the account's subscription, and redemption codes. */
export class Plans {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Plans on offer, lowest level first. Needs no credentials. @throws ReelgateError `rate_limit_exceeded` */
  async list(): Promise<PlanInfo[]> {
    return (await this.#transport.call(listPackageCards, {})).data;
  }

  /**
   * The account's subscription: remaining allowances, their reset times, and queued subscriptions.
   *
   * @throws ReelgateError `unauthorized`
   */
  async current(): Promise<SubscriptionInfo> {
    return (await this.#transport.call(getOwnPackage, {})).data;
  }

  /**
   * Redeems a code, which works once; case, spaces and dashes are ignored. Never retried automatically: if the response
   * is lost, `current` and the wallet show whether the code was redeemed.
   *
   * @throws ReelgateError `refused` (code_invalid, code_used, code_expired)
   */
  async redeem(code: string): Promise<RedemptionResult> {
    return (await this.#transport.call(redeemCode, { body: { code } })).data;
  }
}

/** A monthly budget, in quota. */
export type BudgetInfo = EndpointPart<typeof listBudgets, 'response'>['data'][number];

/** A budget to set. */
export interface NewBudget {
  /** Quota per calendar month. */
  readonly monthQuota: number;
  /** Percent of the budget at which a notification is sent; default 50, 80 and 100. */
  readonly thresholds?: readonly number[];
}

/**
 * Monthly budgets of the account and of its keys; they only notify and never block calls. `tokenId` 0 means the
 * account.
 */
export class Budgets {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All budgets. @throws ReelgateError `unauthorized` */
  async list(): Promise<BudgetInfo[]> {
    return (await this.#transport.call(listBudgets, {})).data;
  }

  /**
   * Sets the budget of a key, or of the account if the id is 0.
   *
   * @throws ReelgateError `refused` (not_exist) if the account has no such key
   */
  async set(tokenId: number, budget: NewBudget): Promise<BudgetInfo> {
    const body = { month_quota: budget.monthQuota, thresholds: budget.thresholds && [...budget.thresholds] };
    return (await this.#transport.call(putBudget, { params: { token_id: String(tokenId) }, body })).data;
  }

  /** Deletes a budget. @throws ReelgateError `refused` (not_exist) */
  async delete(tokenId: number): Promise<void> {
    await this.#transport.call(deleteBudget, { params: { token_id: String(tokenId) } });
  }
}
