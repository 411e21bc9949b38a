import { type Insertable, type Selectable, sql } from 'kysely';
import type { SpendLimit } from '../../contract/amounts.ts';
import type { RequestKind, RequestStatus } from '../../contract/request-kinds.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import {
  hasConcurrentWriters,
  jsonRows,
  jsonTexts,
  prepareInsert,
  prepareQuery,
  wasChanged,
} from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { SpendLimitState, SpendSubject, SubjectKey } from './spend-limits.ts';

/** Quota set aside before work begins. Amounts are whole and never negative. */
export interface Reservation {
  /** Task id or request id; a reference is never reused. */
  readonly ref: string;
  readonly userId: number;
  /** The API token of the request, whose own limit applies too. Undefined for work started in the console. */
  readonly tokenId?: number;
  /** The member who spends, if `userId` is an organization; the member’s own limit applies too. */
  readonly actorId?: number;
  /** The public model name, for the usage figures and for the plan's list of models. */
  readonly model: string;
  readonly amount: number;
  /** Called with the spend limits that the reservation counts towards, as they are after it or when it is refused. */
  readonly onSpendLimits?: (limits: readonly SpendLimitState[]) => void;
}

/** Tokens used by a model call, for the usage figures. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Fields of the request log beyond the reservation and the token counts. Travels through the journal as JSON. */
export interface CallDetail {
  readonly kind: RequestKind;
  /** The model name sent to the upstream. */
  readonly servedModel: string;
  /** 0: the call was sent to no channel. */
  readonly channelId: number;
  readonly status: RequestStatus;
  /** Empty unless the call failed. */
  readonly errorCode: string;
  /** The part of the prompt tokens that was read from a cache. */
  readonly cachedTokens: number;
  /** Length of the video. */
  readonly seconds: number;
  readonly durationMs: number;
  /** Time to the first event of a stream; null for all other calls. */
  readonly firstTokenMs: number | null;
  readonly stream: boolean;
  readonly client: string;
  /** JSON of the price and of the facts it was applied to; empty when nothing is charged. */
  readonly price: string;
  readonly facts: string;
}

/** Instructions for closing a reservation. */
export interface Settlement {
  readonly ref: string;
  /** Final cost in quota; undefined: a refund of the full amount. */
  readonly cost?: number;
  readonly usage?: TokenUsage;
  /** For the request log; without it, the log row is built from the reservation. */
  readonly detail?: CallDetail;
}

/** A reservation that was closed. */
export interface ClosedCall {
  readonly ref: string;
  readonly userId: number;
  readonly tokenId: number | null;
  /** The member of an organization. */
  readonly actorId: number | null;
  readonly model: string;
  readonly reserved: number;
  /** Time of the reservation, Unix milliseconds. */
  readonly reservedAt: number;
  readonly charged: number;
  readonly isSettled: boolean;
  readonly usage: TokenUsage;
  readonly detail: CallDetail | undefined;
}

/** The account that pays, and the token it pays through. */
export type Payer = Pick<Reservation, 'userId' | 'tokenId' | 'actorId'>;

/** Reservations and settlements of one transaction. */
export interface Charges {
  readonly reservations?: readonly Reservation[];
  readonly settlements?: readonly Settlement[];
}

/**
 * Called once with all reservations that a transaction closes, in that transaction.
 * @param now the time of their entries, Unix milliseconds
 */
export type CloseListener = (trx: Trx, closed: readonly ClosedCall[], now: number) => Promise<void>;

/** An external change of a wallet: by an administrator, a redemption code or a gift. */
export interface Grant {
  readonly userId: number;
  /** Whole quota; negative to deduct. */
  readonly amount: number;
  /** Names the cause; a second grant with the same reference fails. */
  readonly ref: string;
  readonly note?: string;
}

/** Kind of a ledger entry; `closing` replaces the older entries of an account and month. */
export type LedgerKind = 'reserve' | 'settle' | 'refund' | 'grant' | 'expire' | 'closing';

/**
 * The ledger. Every method works inside the caller's transaction, so that money and the state it belongs to change
 * together. One entry per cause: (ref, kind) is unique. Every balance equals the sum of its entries and never goes
 * below 0.
 */
export interface Ledger {
  /**
   * Settles reservations at their final cost and makes new ones, of any accounts. Settlements come first, so that the
   * quota they release can be reserved. An excess is returned to its source; a shortfall is charged to the plan's
   * allowance first, then to the wallet as far as its balance covers it. A new amount is reserved from the plan's
   * allowance first, then from the wallet. If it throws, the caller must roll the transaction back; a transaction calls
   * it once, because it locks rows in the order of all transactions.
   * @returns the charged amounts in the order of `settlements`; undefined for a reservation that was already closed
   * @throws AppError `quota_not_enough` (the message says whether for the wallet, a token limit or a spend limit), `model_not_allowed`
   */
  charge(trx: Trx, charges: Charges): Promise<(number | undefined)[]>;
  /** `charge` for a single reservation. */
  reserve(trx: Trx, reservation: Reservation): Promise<void>;
  /** `charge` for a single settlement with its cost. */
  settle(trx: Trx, ref: string, cost: number, usage?: TokenUsage, detail?: CallDetail): Promise<number | undefined>;
  /**
   * `charge` for a single settlement that returns the full amount.
   * @returns whether this call closed the reservation: the loser of a race gets false
   */
  refund(trx: Trx, ref: string, detail?: CallDetail): Promise<boolean>;
  /** @throws AppError `quota_not_enough` when deducting more than the balance, `already_exists` for a known `ref` */
  grant(trx: Trx, grant: Grant): Promise<void>;
  /** Creates the wallet of a new account. */
  openWallet(trx: Trx, userId: number, amount: number): Promise<void>;
  /**
   * Sets or lifts (undefined) a token's own limit. Called when a token is created or changed; the limit is stored only
   * here.
   */
  setTokenLimit(trx: Trx, tokenId: number, limit: number | undefined): Promise<void>;
  /** Limit and usage of the given tokens that have a limit. */
  tokenLimits(
    tokenIds: readonly number[],
  ): Promise<ReadonlyMap<number, { readonly limit: number; readonly used: number }>>;
  /**
   * Sets a limit per day, week or month, or removes it (undefined). Only later reservations count; the limit is
   * stored only here.
   */
  setSpendLimit(trx: Trx, subject: SpendSubject, limit: SpendLimit | undefined): Promise<void>;
  /** Limits of the given subjects with their spending; subjects without a limit are omitted. */
  spendLimits(subjects: readonly SpendSubject[]): Promise<ReadonlyMap<SubjectKey, SpendLimitState>>;
  /** `balance`: without open reservations. `used`: settled quota. `requests`: number of settled reservations. */
  wallet(userId: number): Promise<{ readonly balance: number; readonly used: number; readonly requests: number }>;
  /** The balance, locked until the transaction ends, so that a change computed from it is exact. */
  lockBalance(trx: Trx, userId: number): Promise<number>;
  /**
   * Changes a wallet for an administrator. An absolute quota is compared with the locked balance.
   * @returns the amount added; 0 if the change with this idempotency key was made before
   * @throws AppError `quota_not_enough`, `idempotency_mismatch`
   */
  adjustWallet(trx: Trx, userId: number, change: WalletAdjustment): Promise<number>;
}

/** A change of a wallet by an administrator. */
export interface WalletAdjustment {
  /** The new balance of the wallet. */
  readonly quota?: number;
  /** Added to the wallet; negative subtracts. Excludes `quota`. */
  readonly quota_delta?: number;
  /** Reason for the wallet change; stored with its ledger entry. */
  readonly note?: string;
  /** Names the change, so that a repeated request changes the wallet once. */
  readonly idempotencyKey?: string | undefined;
}

/** Called with the balance of a wallet before and after a charge or a deduction, in the same transaction. */
export type SpendListener = (
  trx: Trx,
  userId: number,
  wallet: { readonly before: number; readonly after: number },
) => Promise<void>;

/** Called with the number of reservations a committed transaction charged (`settle`) or returned (`refund`). */
export type SettlementListener = (kind: 'settle' | 'refund', count: number) => void;

/**
 * A plan's allowance, which is spent before the wallet. Implemented by plans; without an implementation there is no
 * allowance. `slot` names the period an amount came from, and is passed back with a refund or a settlement.
 */
export interface Allowances {
  /**
   * The terms of each account's current plan, in one query for all of them.
   * @throws AppError `model_not_allowed` when an account's plan does not cover its model
   */
  findTerms(
    trx: Trx,
    requests: readonly { readonly userId: number; readonly model: string }[],
  ): Promise<AllowanceTerms[]>;
  /** @throws AppError `model_not_allowed` when the plan does not cover this model; nothing was written then */
  take(
    trx: Trx,
    request: { readonly userId: number; readonly model: string; readonly amount: number },
  ): Promise<{ readonly taken: number; readonly slot: string }>;
  /** @returns the amount returned; 0 when the period is over */
  giveBack(trx: Trx, slot: string, amount: number): Promise<number>;
  /** Models the account's plan permits; undefined: all. */
  permittedModels(userId: number): Promise<ReadonlySet<string> | undefined>;
  /** The spend limit that the account's plan sets for accounts without their own. */
  findSpendLimit(userId: number): Promise<SpendLimit | undefined>;
}

/** Terms of a plan that apply to reservations. */
export interface AllowanceTerms {
  /** Whether there is an allowance to `take` from. */
  readonly hasAllowance: boolean;
  /** Applies to an account without a spend limit of its own. */
  readonly spendLimit: SpendLimit | undefined;
}

/** The sources of a reserved amount. */
interface ReservedAmounts {
  readonly amount: number;
  /** The part paid by a plan's allowance; the wallet paid the rest. */
  readonly plan_amount: number;
}

/** A settlement, split by source. Amounts in quota. */
export interface SettlementSplit {
  readonly charged: number;
  /** Returned to the wallet. */
  readonly walletBack: number;
  /** Returned to the allowance's period. */
  readonly planBack: number;
  /** Beyond the reservation, still to be charged. */
  readonly extra: number;
}

/** Splits a settlement by its cost. The plan pays first, so the wallet is refunded first. */
export function splitSettlement(reserved: ReservedAmounts, cost: number): SettlementSplit {
  const fromWallet = reserved.amount - reserved.plan_amount;
  const unused = Math.max(0, reserved.amount - cost);
  const walletBack = Math.min(unused, fromWallet);
  return { charged: cost, walletBack, planBack: unused - walletBack, extra: Math.max(0, cost - reserved.amount) };
}

/** Throws unless the amount is whole and not negative; anything else would create money. */
export function assertAmount(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new TypeError('an amount is whole quota, not negative');
}

/** Groups items with the same key, in their original order; no group is empty. */
export const groupBy = <T>(all: readonly T[], keyOf: (each: T) => unknown): Iterable<readonly [T, ...T[]]> =>
  Map.groupBy(all, keyOf).values() as Iterable<[T, ...T[]]>;

/**
 * Like `groupBy`, for keys of several parts: comparing the parts is cheaper than building and hashing a combined text.
 * For few groups with many members, such as one batch of calls.
 */
export function groupAlike<T>(all: readonly T[], areAlike: (a: T, b: T) => boolean): (readonly [T, ...T[]])[] {
  const groups: [T, ...T[]][] = [];
  for (const each of all) {
    const known = groups.findLast(([first]) => areAlike(first, each));
    if (known === undefined) groups.push([each]);
    else known.push(each);
  }
  return groups;
}

/** Sum of one amount over all items. */
export function sumOf<T>(all: readonly T[], amountOf: (each: T) => number): number {
  let sum = 0;
  for (const each of all) sum += amountOf(each);
  return sum;
}

/** Days since 1970-01-01 UTC. */
export const dayOf = (unixMs: number): number => Math.floor(unixMs / DAY_MS);

/** The date of such a day, as `2026-11-22`. */
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 'yyyy-mm-dd'.length);

/** An open reservation. */
export type ReservationRow = Selectable<Tables['reservations']>;
/** A ledger entry to be inserted. */
export type NewLedgerEntry = Required<Omit<Insertable<Tables['ledger']>, 'id' | 'settlements'>>;

const takeExactly = prepareQuery<Tables, { user: number; amount: number }>()((db, p) =>
  db
    .updateTable('wallets')
    .set({ balance: sql`balance - ${p('amount')}` })
    .where('user_id', '=', p('user'))
    .where('balance', '>=', p('amount'))
    .returning('balance'),
);
/** How a transaction changes a wallet. Amounts in quota, never negative. */
export interface WalletChange {
  /** The account. */
  readonly id: number;
  /** Returned by settlements. */
  back: number;
  /** Taken by reservations. */
  taken: number;
  charged: number;
  /** Number of settlements with a cost. */
  requests: number;
}
const WALLET_CHANGE = ['id', 'back', 'taken', 'charged', 'requests'] as const;

/** How a transaction changes the usage of a token with a limit. Amounts in quota. */
export interface TokenChange {
  /** The token. */
  readonly id: number;
  /** Number of reservations; without one the limit is not checked. */
  reservations: number;
  /** Taken by reservations. */
  taken: number;
  /** Added by settlements; usually negative. */
  settled: number;
}
const TOKEN_CHANGE = ['id', 'reservations', 'taken', 'settled'] as const;

/**
 * Locks the rows that `changes` names in ascending order, which an update alone does not guarantee: transactions that
 * lock rows in different orders would deadlock.
 */
const lockedInOrder = (table: 'wallets' | 'token_limits', key: string) =>
  sql<number>`(select ${sql.ref(key)} from ${sql.table(table)} where ${sql.ref(key)} in (select id from changes)
    order by ${sql.ref(key)} for update)`;

const changeWallets = prepareQuery<Tables, { changes: string }>()((db, p) =>
  db
    .with('changes', (cte) => cte.selectFrom(jsonRows(db, p('changes'), 'listed', WALLET_CHANGE)).selectAll())
    .updateTable('wallets')
    .from('changes')
    .set({
      balance: sql`balance + back - taken`,
      used: sql`used + changes.charged`,
      requests: sql`wallets.requests + changes.requests`,
    })
    .whereRef('user_id', '=', 'changes.id')
    .where(sql<boolean>`balance + back >= taken`)
    .$if(hasConcurrentWriters(db), (update) => update.where('user_id', 'in', lockedInOrder('wallets', 'user_id')))
    .returning(['user_id', 'balance']),
);
const wallet = prepareQuery<Tables, { user: number }>()((db, p) =>
  db.selectFrom('wallets').select(['balance', 'used', 'requests']).where('user_id', '=', p('user')),
);
const insertReservations = prepareInsert<Tables, ReservationRow>('reservations', [
  'ref',
  'user_id',
  'token_id',
  'model',
  'amount',
  'plan_amount',
  'plan_slot',
  'created_at',
  'spend_windows',
  'actor_id',
]);
const deleteReservation = prepareQuery<Tables, { ref: string }>()((db, p) =>
  db.deleteFrom('reservations').where('ref', '=', p('ref')).returningAll(),
);
/** One parameter holds a list of any length, so that one prepared query serves every length. */
const deleteReservations = prepareQuery<Tables, { refs: string }>()((db, p) =>
  db.deleteFrom('reservations').where('ref', 'in', jsonTexts(db, p('refs'))),
);
const takeReservations = prepareQuery<Tables, { refs: string }>()((db, p) =>
  db
    .deleteFrom('reservations')
    .where('ref', 'in', jsonTexts(db, p('refs')))
    .returningAll(),
);
const addEntries = prepareInsert<Tables, NewLedgerEntry>('ledger', [
  'user_id',
  'kind',
  'amount',
  'plan_amount',
  'charged',
  'ref',
  'token_id',
  'model',
  'note',
  'actor_id',
  'created_at',
]);
/**
 * Reads under shared locks where writers are concurrent: until the commit, no other transaction can set these tokens'
 * limits.
 */
const limitsOf = prepareQuery<Tables, { tokens: string }>()((db, p) =>
  hasConcurrentWriters(db)
    ? db
        .selectFrom((sorted) =>
          sorted
            .selectFrom(jsonRows(db, p('tokens'), 'listed', ['id']))
            .select('id as token_id')
            .orderBy('id')
            .as('tokens'),
        )
        .select(['token_id', sql<number | null>`locked_token_limit(token_id, false)`.as('quota_limit')])
    : db
        .selectFrom('token_limits')
        .innerJoin(jsonRows(db, p('tokens'), 'listed', ['id']), 'listed.id', 'token_id')
        .select(['token_id', 'quota_limit']),
);
const lockTokenLimit = prepareQuery<Tables, { token: number }>()((db, p) =>
  db.selectNoFrom(sql<number | null>`locked_token_limit(${p('token')}, true)`.as('quota_limit')),
);
const changeTokens = prepareQuery<Tables, { changes: string }>()((db, p) =>
  db
    .with('changes', (cte) => cte.selectFrom(jsonRows(db, p('changes'), 'listed', TOKEN_CHANGE)).selectAll())
    .updateTable('token_limits')
    .from('changes')
    .set({ used: sql`used + taken + settled` })
    .whereRef('token_id', '=', 'changes.id')
    .where(sql<boolean>`(reservations = 0 or used + taken + settled <= quota_limit)`)
    .$if(hasConcurrentWriters(db), (update) =>
      update.where('token_id', 'in', lockedInOrder('token_limits', 'token_id')),
    )
    .returning('token_id'),
);
/** Usage figures of one account, day, token, model and channel; new figures are added to the stored ones. */
export type DailyUsage = Selectable<Tables['usage_daily']>;
const USAGE_KEY = ['user_id', 'day', 'token_id', 'model', 'channel_id'] as const;
const USAGE_FIGURES = ['requests', 'quota', 'prompt_tokens', 'completion_tokens'] as const;
const addUsage = prepareInsert<Tables, DailyUsage>('usage_daily', [...USAGE_KEY, ...USAGE_FIGURES], (conflict) =>
  conflict
    .columns(USAGE_KEY)
    .doUpdateSet(
      Object.fromEntries(
        USAGE_FIGURES.map((figure) => [
          figure,
          sql`${sql.ref(`usage_daily.${figure}`)} + ${sql.ref(`excluded.${figure}`)}`,
        ]),
      ),
    ),
);

/** SQL of the ledger. Conditional writes return whether they changed their row. */
export class LedgerStore {
  readonly #database: Database<Tables>;
  readonly #written = new WrittenReservations<ReservationRow>();
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /**
   * Takes the full amount.
   * @returns the remaining balance; undefined when the wallet holds less
   */
  async takeExactly(trx: Trx, user: number, amount: number): Promise<number | undefined> {
    return (await takeExactly.first(trx, { user, amount }))?.balance;
  }

  /**
   * Takes the amount, or the entire balance if smaller.
   * @returns the amount taken
   */
  async takeUpTo(trx: Trx, user: number, amount: number): Promise<number> {
    if ((await this.takeExactly(trx, user, amount)) !== undefined) return amount;
    const rest = Math.min(amount, await this.lockBalance(trx, user));
    return rest > 0 && (await this.takeExactly(trx, user, rest)) !== undefined ? rest : 0;
  }

  /** The balance, locked against other changes until the transaction ends. */
  async lockBalance(trx: Trx, user: number): Promise<number> {
    const row = await trx
      .selectFrom('wallets')
      .select('balance')
      .where('user_id', '=', user)
      .forUpdate()
      .executeTakeFirst();
    return row?.balance ?? 0;
  }

  async balanceIn(trx: Executor, user: number): Promise<number> {
    return (await wallet.first(trx, { user }))?.balance ?? 0;
  }

  async wallet(user: number): Promise<{ balance: number; used: number; requests: number }> {
    return (await wallet.first(this.#database.kysely, { user })) ?? { balance: 0, used: 0, requests: 0 };
  }

  async addWallet(trx: Trx, user: number): Promise<void> {
    await trx.insertInto('wallets').values({ user_id: user, balance: 0, used: 0, requests: 0 }).execute();
  }

  /**
   * Changes every wallet that covers its amount, locking the rows by ascending account id.
   * @returns the balances of the changed wallets by account
   */
  async changeWallets(trx: Trx, changes: readonly WalletChange[]): Promise<ReadonlyMap<number, number>> {
    const rows = await changeWallets.all(trx, { changes: JSON.stringify(changes) });
    return new Map(rows.map(({ user_id, balance }) => [user_id, balance]));
  }

  addUsage(trx: Trx, usage: readonly DailyUsage[]): Promise<void> {
    return addUsage(trx, usage);
  }

  addReservations(trx: Trx, rows: readonly ReservationRow[]): Promise<void> {
    afterCommit(trx, () => this.#written.remember(rows));
    return insertReservations(trx, rows);
  }

  /**
   * Deletes and returns the open reservations of the references; each row is returned to one transaction only.
   * @throws Error when another process has closed a reservation this process had written; a retry reads the rows of all
   * of them
   */
  async takeReservations(trx: Trx, refs: readonly string[]): Promise<ReservationRow[]> {
    const [ref, second] = refs;
    const written = this.#written.recall(refs);
    // The query for a single reference costs half as much as the one for a list.
    if (ref !== undefined && second === undefined) return deleteReservation.all(trx, { ref });
    const list = { refs: JSON.stringify(refs) };
    if (written === undefined) return takeReservations.all(trx, list);
    if ((await deleteReservations.changes(trx, list)) === written.length) return written;
    throw new Error('a reservation was closed by another process meanwhile');
  }

  addEntries(trx: Trx, entries: readonly NewLedgerEntry[]): Promise<void> {
    return addEntries(trx, entries);
  }

  /**
   * Inserts an entry unless its cause already has one.
   * @returns false when nothing was inserted
   */
  async addEntryOnce(trx: Trx, entry: NewLedgerEntry): Promise<boolean> {
    return wasChanged(
      await trx
        .insertInto('ledger')
        .values(entry)
        .onConflict((conflict) => conflict.columns(['ref', 'kind']).doNothing())
        .executeTakeFirst(),
    );
  }

  /** The amount that a cause has granted; undefined: it has granted nothing yet. */
  async grantedAmount(trx: Trx, ref: string): Promise<number | undefined> {
    const entry = trx.selectFrom('ledger').select('amount').where('ref', '=', ref).where('kind', '=', 'grant');
    return (await entry.executeTakeFirst())?.amount;
  }

  /**
   * Adds to a wallet unless that exceeds `most`, the largest number that can be read back.
   * @returns false when nothing was added
   */
  async giveWithin(trx: Trx, user: number, amount: number, most: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('wallets')
        .set({ balance: sql`balance + ${amount}` })
        .where('user_id', '=', user)
        .where('balance', '<=', most - amount)
        .executeTakeFirst(),
    );
  }

  /**
   * The given tokens that have a limit. No other transaction sets a limit of the tokens until this one ends.
   * @param tokens in ascending order, in which all transactions lock them
   */
  async limitedTokens(trx: Trx, tokens: readonly number[]): Promise<ReadonlySet<number>> {
    const rows = await limitsOf.all(trx, { tokens: JSON.stringify(tokens.map((id) => ({ id }))) });
    return new Set(rows.filter(({ quota_limit }) => quota_limit !== null).map(({ token_id }) => token_id));
  }

  /**
   * Changes the usage of each token whose limit has room for it, locking them in ascending order.
   * @returns the changed tokens
   */
  async changeTokens(trx: Trx, changes: readonly TokenChange[]): Promise<ReadonlySet<number>> {
    const rows = await changeTokens.all(trx, { changes: JSON.stringify(changes) });
    return new Set(rows.map(({ token_id }) => token_id));
  }

  async setTokenLimit(trx: Trx, token: number, limit: number | undefined): Promise<void> {
    // Waits for transactions that reserved or settled without seeing this limit, then counts open reservations.
    if (hasConcurrentWriters(trx)) await lockTokenLimit.first(trx, { token });
    if (limit === undefined) {
      await trx.deleteFrom('token_limits').where('token_id', '=', token).execute();
      return;
    }
    // Reservations older than the limit are deducted on settlement, so they must count from the start.
    const open = trx
      .selectFrom('reservations')
      .select(({ fn }) => sql<number>`cast(coalesce(${fn.sum('amount')}, 0) as bigint)`.as('open'))
      .where('token_id', '=', token);
    await trx
      .insertInto('token_limits')
      .values({ token_id: token, quota_limit: limit, used: open })
      .onConflict((conflict) => conflict.column('token_id').doUpdateSet({ quota_limit: limit }))
      .execute();
  }

  async tokenLimits(
    tokens: readonly number[],
    executor: Executor = this.#database.kysely,
  ): Promise<ReadonlyMap<number, { limit: number; used: number }>> {
    if (tokens.length === 0) return new Map();
    const rows = await executor.selectFrom('token_limits').selectAll().where('token_id', 'in', tokens).execute();
    return new Map(rows.map((row) => [row.token_id, { limit: row.quota_limit, used: row.used }]));
  }

  /** References of open reservations made before a time, oldest first; for the sweep after a crash. */
  async openRefs(before: number, prefix: string, limit: number): Promise<string[]> {
    const rows = await this.#database.kysely
      .selectFrom('reservations')
      .select('ref')
      .where('created_at', '<', before)
      .where('ref', '>=', prefix)
      .where('ref', '<', `${prefix}\uffff`)
      .orderBy('created_at')
      .limit(limit)
      .execute();
    return rows.map((row) => row.ref);
  }
}

const MAX_ROWS = 20_000;

/**
 * Reservations that this process has committed. Rows never change, so a delete of a full list need not read them back,
 * which would be most of its cost. The oldest are evicted first.
 */
export class WrittenReservations<Row extends { readonly ref: string }> {
  readonly #rows = new Map<string, Row>();

  remember(rows: readonly Row[]): void {
    for (const row of rows) this.#rows.set(row.ref, row);
    for (const ref of this.#rows.keys()) {
      if (this.#rows.size <= MAX_ROWS) break;
      this.#rows.delete(ref);
    }
  }

  /**
   * Removes the references from memory, because each is deleted only once.
   * @returns their rows in that order; undefined unless all are known
   */
  recall(refs: readonly string[]): Row[] | undefined {
    const known: Row[] = [];
    for (const ref of refs) {
      const row = this.#rows.get(ref);
      if (row !== undefined && this.#rows.delete(ref)) known.push(row);
    }
    return known.length === refs.length ? known : undefined;
  }
}
