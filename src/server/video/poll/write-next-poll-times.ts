import type { PollStore } from './poll-store.ts';
import type { PollSpread } from './spread-polls.ts';

/** What becomes of a claimed task: polled again a period later, or at a time of its own. */
export type NextPoll = { readonly kind: 'period' } | { readonly kind: 'at'; readonly at: number };

/** A claim of tasks: when it was made and until when it lasts, which identifies it. Unix milliseconds. */
export interface Claim {
  readonly claimedAt: number;
  readonly lease: number;
}

interface Group {
  readonly claim: Claim;
  readonly next: NextPoll;
  readonly seqs: number[];
}

/** Times are rounded up to this, so that thousands of polls that were put off take few writes. */
const ROUNDING_MS = 250;

/** Tasks whose polls are over, gathered so that thousands of them take few writes. */
export class NextPollBatch {
  #groups = new Map<string, Group>();

  add(seq: number, claim: Claim, next: NextPoll): void {
    const rounded = next.kind === 'period' ? next : { ...next, at: Math.ceil(next.at / ROUNDING_MS) * ROUNDING_MS };
    const key = rounded.kind === 'period' ? `${claim.lease}` : `${claim.lease} ${rounded.at}`;
    const known = this.#groups.get(key);
    if (known === undefined) this.#groups.set(key, { claim, next: rounded, seqs: [seq] });
    else known.seqs.push(seq);
  }

  /** Writes when they are polled next, and begins anew. */
  async writeTo(
    store: Pick<PollStore, 'scheduleSpread' | 'scheduleAt'>,
    { now, spread }: { readonly now: number; readonly spread: PollSpread },
  ): Promise<void> {
    const groups = this.#groups;
    this.#groups = new Map();
    for (const { claim, next, seqs } of groups.values()) {
      if (next.kind === 'at') await store.scheduleAt(seqs, claim.lease, next.at);
      else {
        // Between half a period and one and a half from the claim: a task polled late keeps its time within the period, one without gets its own.
        const earliest = Math.max(now, claim.claimedAt + Math.ceil(spread.periodMs / 2));
        await store.scheduleSpread(seqs, claim.lease, earliest, spread);
      }
    }
  }
}
