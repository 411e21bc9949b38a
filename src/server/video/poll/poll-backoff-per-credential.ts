import { randomUUID } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { PubSub } from '../../platform/db/pub-sub.ts';

export interface PollBackoffPerCredentialDependencies {
  readonly pubSub: Pick<PubSub, 'publish' | 'subscribe'>;
  readonly clock: Clock;
  readonly periodMs: number;
}

interface Backoff {
  /** Consecutive failed polls of this account. */
  failures: number;
  /** Unix milliseconds. */
  until: number;
}

/** What one process tells the others of an account: a channel with one of its credentials. */
interface BackoffMessage extends Backoff {
  readonly sender: string;
  readonly account: string;
}

const SIGNAL_CHANNEL = 'poll_backoff';
const FAILURES_BEFORE_BACKOFF = 5;
export const MAX_BACKOFF_MS = 5 * 60_000;

/**
 * Accounts that are not polled for a while, because polls of them failed one after the other. All processes hold back together: the one
 * that meets the failures tells the others, and so does the one whose poll succeeds. News that is lost costs each process
 * five more failed polls.
 */
export class PollBackoffPerCredential {
  readonly #dependencies: PollBackoffPerCredentialDependencies;
  readonly #name = randomUUID();
  readonly #accounts = new Map<string, Backoff>();
  readonly #unsubscribe: () => void;

  constructor(dependencies: PollBackoffPerCredentialDependencies) {
    this.#dependencies = dependencies;
    this.#unsubscribe = dependencies.pubSub.subscribe(SIGNAL_CHANNEL, (payload) => this.#learn(JSON.parse(payload)));
  }

  /** Until when an account is not polled, Unix milliseconds; 0 for one that may be. */
  until(account: string): number {
    return this.#accounts.get(account)?.until ?? 0;
  }

  failed(account: string): void {
    const { clock, periodMs } = this.#dependencies;
    const failures = (this.#accounts.get(account)?.failures ?? 0) + 1;
    const pauseMs = backoffMs(failures, periodMs);
    const backoff = { failures, until: pauseMs === 0 ? 0 : clock.now() + pauseMs };
    this.#accounts.set(account, backoff);
    // Those between say what is known already, and there may be a hundred of them at once.
    if (pauseMs > 0 && failures % FAILURES_BEFORE_BACKOFF === 0) this.#tell(account, backoff);
  }

  succeeded(account: string): void {
    const known = this.#accounts.get(account);
    if (known === undefined || known.failures === 0) return;
    this.#accounts.delete(account);
    if (known.until > 0) this.#tell(account, { failures: 0, until: 0 });
  }

  close(): void {
    this.#unsubscribe();
  }

  #tell(account: string, backoff: Backoff): void {
    const message: BackoffMessage = { sender: this.#name, account, ...backoff };
    this.#dependencies.pubSub.publish(SIGNAL_CHANNEL, JSON.stringify(message));
  }

  #learn({ sender, account, failures, until }: BackoffMessage): void {
    if (sender === this.#name) return;
    const known = this.#accounts.get(account);
    if (failures === 0) this.#accounts.delete(account);
    else if (known === undefined || until > known.until) this.#accounts.set(account, { failures, until });
  }
}

/** Milliseconds an account is not polled after so many consecutive failures: nothing below five, then doubling with every five. */
function backoffMs(failures: number, periodMs: number): number {
  if (failures < FAILURES_BEFORE_BACKOFF) return 0;
  const doublings = Math.min(10, Math.floor(failures / FAILURES_BEFORE_BACKOFF) - 1);
  return Math.min(MAX_BACKOFF_MS, periodMs * 2 ** doublings);
}
