import { randomUUID } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { PubSub } from '../../platform/db/pub-sub.ts';
import type { Log } from '../../platform/log.ts';
import type { PollingProcessStore } from './polling-process-store.ts';

export interface PollingConcurrencyShareDependencies {
  readonly store: Pick<PollingProcessStore, 'renew' | 'remove'>;
  readonly pubSub: Pick<PubSub, 'publish' | 'subscribe'>;
  readonly clock: Clock;
  readonly log: Log;
}

const SIGNAL_CHANNEL = 'pollers';
const RENEW_INTERVAL_MS = 5_000;
/** A process that is killed or paused counts for so long. */
const ALIVE_MS = 15_000;

/**
 * The processes that poll vendors on one database, and the share of this one in what all of them together may do at once. A process that
 * comes or goes tells the others; what is under way beyond a share that has become smaller is finished, not cut off.
 */
export class PollingConcurrencyShare {
  readonly #dependencies: PollingConcurrencyShareDependencies;
  readonly #name = randomUUID();
  #count = 1;
  #rank = 0;
  #timer: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void) | undefined;
  #renewing: Promise<void> | undefined;

  constructor(dependencies: PollingConcurrencyShareDependencies) {
    this.#dependencies = dependencies;
  }

  get count(): number {
    return this.#count;
  }

  /** Counts this process; resolves when its share is known and the others have been told. */
  async start(): Promise<void> {
    const renew = (): void => void this.renew();
    this.#unsubscribe = this.#dependencies.pubSub.subscribe(SIGNAL_CHANNEL, renew, renew);
    this.#timer = setInterval(renew, RENEW_INTERVAL_MS).unref();
    await this.renew();
    this.#dependencies.pubSub.publish(SIGNAL_CHANNEL, '');
  }

  /** How many of `max` this process may do at once: the shares of all add up to `max`, and none is below 1. */
  shareOf(max: number): number {
    const share = Math.floor(max / this.#count) + (this.#rank < max % this.#count ? 1 : 0);
    return Math.max(1, share);
  }

  /** Says that this process is alive and counts the others; while the database is away, the last count stays. */
  renew(): Promise<void> {
    const { store, clock, log } = this.#dependencies;
    this.#renewing ??= store
      .renew(this.#name, clock.now(), ALIVE_MS)
      .then(
        ({ count, rank }) => {
          this.#count = Math.max(1, count);
          this.#rank = rank;
        },
        (error: unknown) => log.warn({ err: error }, 'the processes that poll could not be counted'),
      )
      .finally(() => {
        this.#renewing = undefined;
      });
    return this.#renewing;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#unsubscribe?.();
    await this.#renewing;
    const { store, pubSub, log } = this.#dependencies;
    await store.remove(this.#name).catch((error: unknown) => log.debug({ err: error }, 'the process stays counted'));
    pubSub.publish(SIGNAL_CHANNEL, '');
  }
}
