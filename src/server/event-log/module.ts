import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { EventConsumer, EventStore, type ProcessEvents, StoredEventWriter } from './event-log.ts';

interface EventsDependencies {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  /** The current setting; 0: keep indefinitely. */
  readonly retentionMs: () => number;
}

/** The event log, as used by this capability's routes, other capabilities and app.ts. */
export interface Events {
  readonly eventLog: StoredEventWriter;
  readonly store: EventStore;
  /** Creates the reader with that name; it reads once started. */
  createReader(name: ReaderName, process: ProcessEvents): EventConsumer;
  /** Deletes events older than the retention period. */
  removeExpired(): Promise<void>;
}

/** All readers that process events outside the transaction that wrote them. */
const READERS = ['webhooks'] as const;
type ReaderName = (typeof READERS)[number];

const DELETE_BATCH = 1_000;

/** The event log without readers, for a command that works on the database alongside the service. */
export const makeEventLog = (database: Database<Tables>, clock: Clock): StoredEventWriter =>
  new StoredEventWriter({ store: new EventStore(database), clock, readers: READERS });

/** Assembles the event log and registers its routes. */
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
