import type { AmountUnit } from '../../contract/format-amounts.ts';
import type { Clock } from '../platform/clock.ts';
import type { LedgerStore } from './reservation-and-ledger-store.ts';
import type { Allowances, SpendListener } from './reservation-and-ledger-types.ts';

/** What reserving and settling need alike: the ledger's rows, the plans' allowances, and the listener of wallet changes. */
export interface ReserveAndSettleDependencies {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly allowances: Allowances;
  /** What a refusal writes amounts in. */
  readonly amountUnit: () => AmountUnit;
  /** Called in the transaction that took something from a wallet. */
  readonly onSpend: SpendListener;
}
