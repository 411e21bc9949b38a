import type { Clock } from '../platform/clock.ts';
import type { CallChargeStore } from './postgres-call-charge-store.ts';
import type {
  CallDetail,
  CallWork,
  CallWorkOutcome,
  ClosedCall,
  Settlement,
  SettlementListener,
} from './reservation-and-ledger-types.ts';
import { assertAmount } from './settlement-split.ts';

export interface PostgresCallChargesDependencies {
  readonly store: CallChargeStore;
  readonly clock: Clock;
  /** Quota in a wallet below which its owner is to be notified, which a transaction does; 0: never. */
  readonly noticeBelow: () => number;
  readonly onSettled: SettlementListener;
  /** The row of the request log; undefined: nothing is logged. */
  readonly toLogRow: ((closed: ClosedCall, now: number) => object) | undefined;
}

const OUTCOMES: Readonly<Record<string, CallWorkOutcome>> = { d: 'done', e: 'done', b: 'busy', a: 'apart' };
const NO_TOKEN_USAGE = { promptTokens: 0, completionTokens: 0 };

/** Reserves and settles many model calls in one statement of PostgreSQL (`postgres-charge-function.ts`). */
export class PostgresCallCharges {
  readonly #dependencies: PostgresCallChargesDependencies;

  constructor(dependencies: PostgresCallChargesDependencies) {
    this.#dependencies = dependencies;
  }

  /** @param waitMs longest wait for rows that others have locked; 0: without an end, for work of one account and token */
  async charge(work: readonly CallWork[], waitMs: number): Promise<readonly CallWorkOutcome[]> {
    const { store, clock, noticeBelow, onSettled, toLogRow } = this.#dependencies;
    const now = clock.now();
    const batch = new Batch();
    for (const [n, each] of work.entries()) {
      if ('reservation' in each) batch.addReservation(n, each.reservation);
      else batch.addEnd(n, each, now, toLogRow);
    }
    const letters = await store.charge({
      reservations: JSON.stringify(batch.reservations),
      ends: JSON.stringify(batch.ends),
      log: JSON.stringify(batch.log),
      users: toArray(batch.users),
      tokens: toArray(batch.tokens),
      at: now,
      noticeBelow: noticeBelow(),
      waitMs,
    });
    let next = 0;
    const counts = { settle: 0, refund: 0 };
    const outcomes = work.map((each, n): CallWorkOutcome => {
      if (batch.apart.has(n)) return 'apart';
      const letter = letters[next++] ?? '';
      if (letter === 'd' && 'settlement' in each) counts[each.settlement.cost === undefined ? 'refund' : 'settle']++;
      return OUTCOMES[letter] ?? 'apart';
    });
    for (const kind of ['settle', 'refund'] as const) if (counts[kind] > 0) onSettled(kind, counts[kind]);
    return outcomes;
  }
}

const toArray = (numbers: ReadonlySet<number>): string => `{${[...numbers].join(',')}}`;

/** What the function is given. */
class Batch {
  readonly reservations: object[] = [];
  readonly ends: object[] = [];
  readonly log: object[] = [];
  readonly users = new Set<number>();
  readonly tokens = new Set<number>();
  /** Positions of what the function cannot do. */
  readonly apart = new Set<number>();
  readonly #refs = new Set<string>();

  addReservation(
    n: number,
    { ref, userId, tokenId, model, amount }: Extract<CallWork, { reservation: unknown }>['reservation'],
  ): void {
    assertAmount(amount);
    this.#addPayer(userId, tokenId);
    this.#refs.add(ref);
    this.reservations.push({ n, ref, user_id: userId, token_id: tokenId ?? null, model, amount });
  }

  addEnd(
    n: number,
    { settlement, payer }: Extract<CallWork, { settlement: unknown }>,
    now: number,
    toLogRow: PostgresCallChargesDependencies['toLogRow'],
  ): void {
    const { ref, cost, usage = NO_TOKEN_USAGE, detail } = settlement;
    for (const amount of [cost ?? 0, usage.promptTokens, usage.completionTokens]) assertAmount(amount);
    // The log says of a call without details what its reservation says; a second end of a call comes after the first.
    if ((toLogRow !== undefined && detail === undefined) || this.#refs.has(ref)) {
      this.apart.add(n);
      return;
    }
    this.#refs.add(ref);
    this.#addPayer(payer.userId, payer.tokenId);
    this.ends.push({
      n,
      ref,
      user_id: payer.userId,
      token_id: payer.tokenId ?? null,
      is_settled: cost === undefined ? 0 : 1,
      cost: cost ?? 0,
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      channel_id: detail?.channelId ?? 0,
    });
    if (toLogRow !== undefined) this.log.push(toLogRow(toClosedCall(settlement, payer, detail), now));
  }

  #addPayer(userId: number, tokenId: number | undefined): void {
    this.users.add(userId);
    if (tokenId !== undefined) this.tokens.add(tokenId);
  }
}

/** As far as it is known here: the function has the rest from the reservation. */
const toClosedCall = (
  { ref, cost, usage = NO_TOKEN_USAGE }: Settlement,
  { userId, tokenId }: { readonly userId: number; readonly tokenId?: number | undefined },
  detail: CallDetail | undefined,
): ClosedCall => ({
  ref,
  userId,
  tokenId: tokenId ?? null,
  model: '',
  reserved: 0,
  reservedAt: 0,
  charged: 0,
  isSettled: cost !== undefined,
  usage,
  detail,
});
