import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Tables, Trx } from '../tables.ts';
import type { EventRow, EventStore } from './event-store.ts';

export interface EventConsumerDependencies {
  readonly database: Database<Tables>;
  readonly store: EventStore;
  readonly log: Log;
}

/**
 * Processes events in the transaction that marks them as read, so that each is processed exactly once; a batch may be run
 * again when its transaction is repeated. Does no network call.
 */
export type ProcessEvents = (trx: Trx, events: readonly EventRow[]) => Promise<void>;

const BATCH = 200;
/** Finds events of processes that died after their commit. */
const POLL_MS = 1_000;

/** Reads every event once, in batches, oldest first, in one process at a time; goes on where it stopped. */
export class EventConsumer {
  readonly #dependencies: EventConsumerDependencies;
  readonly #name: string;
  readonly #process: ProcessEvents;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isAwaited = false;
  #isStopping = false;

  constructor(dependencies: EventConsumerDependencies, name: string, process: ProcessEvents) {
    this.#dependencies = dependencies;
    this.#name = name;
    this.#process = process;
  }

  async start(): Promise<void> {
    await this.#dependencies.store.registerReader(this.#name);
    this.#timer = setInterval(() => this.wake(), POLL_MS);
    this.wake();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Reads soon; never throws. */
  wake(): void {
    if (this.#timer === undefined || this.#isStopping) return;
    this.#isAwaited = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // A call that came when the run was about to end.
      if (this.#isAwaited) this.wake();
    });
  }

  async #run(): Promise<void> {
    while (this.#isAwaited && !this.#isStopping) {
      this.#isAwaited = false;
      try {
        while ((await this.#readBatch()) === BATCH && !this.#isStopping);
      } catch (error) {
        this.#dependencies.log.error({ err: error, reader: this.#name }, 'events could not be read');
        return;
      }
    }
  }

  #readBatch(): Promise<number> {
    const { database, store } = this.#dependencies;
    return database.transaction(async (trx) => {
      const events = await store.lockUnread(trx, this.#name, BATCH);
      if (events.length === 0) return 0;
      await this.#process(trx, events);
      await store.markRead(
        trx,
        this.#name,
        events.map(({ seq }) => seq),
      );
      return events.length;
    });
  }
}
