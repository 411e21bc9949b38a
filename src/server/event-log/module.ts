import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { EventConsumer, EventStore, type ProcessEvents, StoredEventWriter } from './event-log.ts';

interface EventsDependencies {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  /** As it is set now; 0: for ever. */
  readonly retentionMs: () => number;
}

/** What events offer their own routes, other capabilities and app.ts. */
export interface Events {
  readonly eventLog: StoredEventWriter;
  readonly store: EventStore;
  /** Makes the reader of that name; it reads once it is started. */
  createReader(name: ReaderName, process: ProcessEvents): EventConsumer;
  /** Deletes events that are older than the retention. */
  removeExpired(): Promise<void>;
}

/** Everybody who reads events outside of the transaction that wrote them. */
const READERS = ['webhooks'] as const;
type ReaderName = (typeof READERS)[number];

const DELETE_BATCH = 1_000;

/** Events alone, without readers: for a command that works on the database beside the service. */
export const makeEventLog = (database: Database<Tables>, clock: Clock): StoredEventWriter =>
  new StoredEventWriter({ store: new EventStore(database), clock, readers: READERS });

/** Assembles this capability. */
export function makeEvents({ database, clock, log, retentionMs }: EventsDependencies): Events {
  const store = new EventStore(database);
  const eventLog = new StoredEventWriter({ store, clock, readers: READERS });
  return {
    eventLog,
    store,
    createReader(name, process) {
      const reader = new EventConsumer({ database, store, log }, name, process);
      eventLog.onWritten(() => reader.wake());
      return reader;
    },
    async removeExpired() {
      const ageMs = retentionMs();
      if (ageMs === 0) return;
      while ((await store.deleteBefore(clock.now() - ageMs, DELETE_BATCH)) === DELETE_BATCH);
    },
  };
}
