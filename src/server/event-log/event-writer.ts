import type { EventType } from '../../contract/events.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit } from '../platform/db/database.ts';
import { toWellFormedText } from '../platform/text.ts';
import { randomText } from '../platform/tokens.ts';
import type { Trx } from '../tables.ts';
import type { EventStore } from './event-store.ts';

export type EventData = Readonly<Record<string, unknown>>;

/** Something that happened. */
export interface NewEvent {
  readonly type: EventType;
  /** Undefined: it concerns every administrator. */
  readonly userId?: number | undefined;
  /** What it happened to, such as `video:task_…`; events of one subject stay in order. */
  readonly subject: string;
  /** The payload's `data`: small, and fit for whoever owns the account. */
  readonly data: EventData;
  /** Where the request that caused it asked to be called back. */
  readonly callbackUrl?: string | null | undefined;
  /** At most one event of this type with this key is written for an account. */
  readonly deduplicationKey?: string | undefined;
}

/** How capabilities report events: inside the transaction that makes them true, so that both are committed or neither. */
export interface EventWriter {
  write(trx: Trx, event: NewEvent): Promise<void>;
}

export interface StoredEventWriterDependencies {
  readonly store: EventStore;
  readonly clock: Clock;
  /** Names of all readers; each gets every event. */
  readonly readers: readonly string[];
}

/** Writes events, and tells the readers of this process. */
export class StoredEventWriter implements EventWriter {
  readonly #dependencies: StoredEventWriterDependencies;
  readonly #listeners: (() => void)[] = [];
  constructor(dependencies: StoredEventWriterDependencies) {
    this.#dependencies = dependencies;
  }

  /** Calls `listener` after each commit of an event by this process. */
  onWritten(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async write(trx: Trx, { type, userId = 0, subject, data, callbackUrl, deduplicationKey }: NewEvent): Promise<void> {
    const { store, clock, readers } = this.#dependencies;
    const event = {
      id: `evt_${randomText(24)}`,
      type,
      user_id: userId,
      subject,
      // Vendors and callers may have written parts of it.
      data: toWellFormedText(JSON.stringify(data)),
      callback_url: callbackUrl ?? null,
      deduplication_key: deduplicationKey ?? null,
      created_at: clock.now(),
    };
    const seq = await store.insert(trx, event, readers);
    if (seq !== undefined)
      afterCommit(trx, () => {
        for (const listener of this.#listeners) listener();
      });
  }
}
