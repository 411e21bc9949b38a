import type { Transaction } from 'kysely';
import type { Tables } from '../tables.ts';

type Trx = Transaction<Tables>;

/** Money set aside before work begins. All amounts are whole quota, never negative. */
export interface Reservation {
  /** Task id or request id: one reservation each, for ever. */
  readonly ref: string;
  readonly userId: number;
  /** The token that asked; its own limit counts too. Undefined for work a person starts in the console. */
  readonly tokenId?: number;
  /** The public model name, for the usage figures and for what a plan covers. */
  readonly model: string;
  readonly amount: number;
}

/** What a chat call used, for the usage figures. */
export interface TokenUse {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** How a reservation ends. */
export interface End {
  readonly ref: string;
  /** What it cost in the end; absent: all of it is given back. */
  readonly cost?: number;
  readonly use?: TokenUse;
}

export type LedgerKind = 'reserve' | 'settle' | 'refund' | 'grant' | 'expire';

/**
 * The ledger. Every call works inside the caller's transaction, so that money and the state it belongs to change
 * together. One entry per cause: (ref, kind) is unique. Every balance equals the sum of its entries and never goes below 0.
 */
export interface Quota {
  /**
   * Takes all the amounts, or throws what one of them, or all together, could not have: the transaction is to be undone then.
   * Takes the plan's allowance first, then the wallet.
   *
   * @throws AppError `quota_not_enough`, `token_quota_not_enough`, `model_not_allowed`
   */
  reserveAll(trx: Trx, reservations: readonly Reservation[]): Promise<void>;
  /**
   * Ends reservations by their real cost. What was reserved beyond it goes back where it came from; what is missing is taken
   * from the wallet as far as it reaches.
   *
   * @returns the amounts charged in the order of `ends`, undefined for a reservation that had ended already
   */
  endAll(trx: Trx, ends: readonly End[]): Promise<(number | undefined)[]>;
  /** `reserveAll` of one. */
  reserve(trx: Trx, reservation: Reservation): Promise<void>;
  /** `endAll` of one, by its cost. */
  settle(trx: Trx, ref: string, cost: number, use?: TokenUse): Promise<number | undefined>;
  /** `endAll` of one, giving all of it back. Answers whether this call did it: the loser of a race gets false. */
  refund(trx: Trx, ref: string): Promise<boolean>;
  /** Changes a wallet from outside (administrator, redemption code, gift). A negative amount takes at most what is there: else `quota_not_enough`; a `ref` that was granted before is `already_exists`. */
  grant(
    trx: Trx,
    change: { readonly userId: number; readonly amount: number; readonly ref: string; readonly note?: string },
  ): Promise<void>;
  /** Makes the wallet of a new account. */
  open(trx: Trx, userId: number, amount: number): Promise<void>;
  /** Sets or lifts (undefined) a token's own limit; accounts call it where a token is made or changed, and keep no limit themselves. */
  limitToken(trx: Trx, tokenId: number, limit: number | undefined): Promise<void>;
  /** Limits and use of those of the tokens that have a limit. */
  tokenLimits(
    tokenIds: readonly number[],
  ): Promise<ReadonlyMap<number, { readonly limit: number; readonly used: number }>>;
  /** `balance`: reservations already taken. `used`: settled. `requests`: settled reservations. */
  wallet(userId: number): Promise<{ readonly balance: number; readonly used: number; readonly requests: number }>;
}

/** Hears what a wallet held before and after something was taken from it, in the same transaction. */
export type SpendWatch = (
  trx: Trx,
  userId: number,
  wallet: { readonly before: number; readonly after: number },
) => Promise<void>;

/**
 * A plan's allowance, asked before the wallet. Implemented by packages; without it there is none. `slot` names the period the
 * amount came from and is given back with a refund or a settlement.
 */
export interface Allowances {
  /** @throws AppError `model_not_allowed` where the plan does not serve this model */
  take(
    trx: Trx,
    request: { readonly userId: number; readonly model: string; readonly amount: number },
  ): Promise<{ readonly taken: number; readonly slot: string }>;
  /** Answers how much came back: nothing where the period has ended. */
  giveBack(trx: Trx, slot: string, amount: number): Promise<number>;
  /** Models the account's plan permits; undefined = all. */
  permittedModels(userId: number): Promise<ReadonlySet<string> | undefined>;
}
