import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { upToEntries } from '../../platform/cache.ts';
import type { Clock } from '../../platform/clock.ts';
import type { PubSub } from '../../platform/db/pub-sub.ts';

export interface PollBackoffPerCredentialDependencies {
  readonly pubSub: Pick<PubSub, 'publish' | 'subscribe'>;
  readonly clock: Clock;
  readonly periodMs: number;
}

interface Backoff {
  /** Consecutive failed polls of this account. */
  readonly failures: number;
  /** Unix milliseconds. */
  readonly until: number;
}

/** The only task of an account whose polls have failed since the last success; `several` where there are more. */
type FailingTask = number | 'several';

/** What one process tells the others of an account: a channel with one of its credentials. */
interface BackoffMessage extends Backoff {
  readonly sender: string;
  readonly account: string;
}

const SIGNAL_CHANNEL = 'poll_backoff';
const FAILURES_BEFORE_BACKOFF = 5;
export const MAX_BACKOFF_MS = 5 * 60_000;
/** An odd task is decided within a few polls, so its pauses stay short. */
const MAX_ODD_BACKOFF_PERIODS = 8;
const MAX_TASKS_REMEMBERED = 10_000;

/**
 * Accounts that are not polled for a while, because polls of several of their tasks failed in succession, and tasks whose own polls did.
 * A single failing task pauses only itself. All processes hold back from an account together: the one that meets the failures informs
 * the others, and so does the one whose poll succeeds. A lost message costs each process five more failed polls.
 */
export class PollBackoffPerCredential {
  readonly #dependencies: PollBackoffPerCredentialDependencies;
  readonly #name = randomUUID();
  readonly #accounts = new Map<string, Backoff & { readonly failing: FailingTask }>();
  /** Consecutive failed or odd polls, by `seq` of the task. */
  readonly #tasks = new LRUCache<number, number>(upToEntries(MAX_TASKS_REMEMBERED));
  readonly #unsubscribe: () => void;

  constructor(dependencies: PollBackoffPerCredentialDependencies) {
    this.#dependencies = dependencies;
    this.#unsubscribe = dependencies.pubSub.subscribe(SIGNAL_CHANNEL, (payload) => this.#learn(JSON.parse(payload)));
  }

  /** Until when an account is not polled, Unix milliseconds; 0 for one that may be. */
  until(account: string): number {
    return this.#accounts.get(account)?.until ?? 0;
  }

  /**
   * A poll that says nothing about its task, by the fault of the account or the vendor.
   *
   * @param seq the task; undefined where the account could not be reached at all
   * @returns for how many milliseconds beyond the usual period the task is not polled
   */
  failed(account: string, seq: number | undefined): number {
    const { clock, periodMs } = this.#dependencies;
    const known = this.#accounts.get(account);
    const failures = (known?.failures ?? 0) + 1;
    const failing = seq !== undefined && (known?.failing ?? seq) === seq ? seq : 'several';
    const pauseMs = failing === 'several' ? backoffMs(failures, periodMs) : 0;
    const backoff = { failures, until: pauseMs === 0 ? 0 : clock.now() + pauseMs };
    this.#accounts.set(account, { ...backoff, failing });
    // Failures in between say what is known already, and there may be a hundred of them at once.
    if (pauseMs > 0 && (failures % FAILURES_BEFORE_BACKOFF === 0 || known?.until === 0)) this.#tell(account, backoff);
    return seq === undefined ? 0 : this.#pauseTask(seq, MAX_BACKOFF_MS);
  }

  /** An answer that shows that the account can be reached, and is odd for this task alone. @returns as `failed` */
  odd(account: string, seq: number): number {
    this.#reached(account);
    return this.#pauseTask(seq, MAX_ODD_BACKOFF_PERIODS * this.#dependencies.periodMs);
  }

  succeeded(account: string, seq: number): void {
    this.#tasks.delete(seq);
    this.#reached(account);
  }

  #reached(account: string): void {
    const known = this.#accounts.get(account);
    if (known === undefined || known.failures === 0) return;
    this.#accounts.delete(account);
    if (known.until > 0) this.#tell(account, { failures: 0, until: 0 });
  }

  #pauseTask(seq: number, maxMs: number): number {
    const failures = (this.#tasks.get(seq) ?? 0) + 1;
    this.#tasks.set(seq, failures);
    return Math.min(maxMs, backoffMs(failures, this.#dependencies.periodMs));
  }

  close(): void {
    this.#unsubscribe();
  }

  #tell(account: string, { failures, until }: Backoff): void {
    const message: BackoffMessage = { sender: this.#name, account, failures, until };
    this.#dependencies.pubSub.publish(SIGNAL_CHANNEL, JSON.stringify(message));
  }

  #learn({ sender, account, failures, until }: BackoffMessage): void {
    if (sender === this.#name) return;
    const known = this.#accounts.get(account);
    if (failures === 0) this.#accounts.delete(account);
    else if (known === undefined || until > known.until)
      this.#accounts.set(account, { failures, until, failing: 'several' });
  }
}

/** Milliseconds an account or a task is not polled after so many consecutive failures: nothing below five, then doubling with every five. */
function backoffMs(failures: number, periodMs: number): number {
  if (failures < FAILURES_BEFORE_BACKOFF) return 0;
  const doublings = Math.min(10, Math.floor(failures / FAILURES_BEFORE_BACKOFF) - 1);
  return Math.min(MAX_BACKOFF_MS, periodMs * 2 ** doublings);
}
