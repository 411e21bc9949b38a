import { deleteBudget, listBudgets, putBudget } from '../contract/budgets.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import { defined } from '../contract/objects.ts';
import type { Transport } from './transport.ts';

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
