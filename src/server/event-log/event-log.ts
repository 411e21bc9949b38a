import { type Selectable, sql } from 'kysely';
import type { EventType } from '../../contract/webhooks.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import { deleteOldRows, hasConcurrentWriters, prepareQuery, waitForOlderTransactions } from '../platform/db/sql.ts';
import type { Log } from '../platform/log.ts';
import { toWellFormedJson } from '../platform/text.ts';
import { randomText } from '../platform/tokens.ts';
import type { Tables, Trx } from '../tables.ts';

type EventData = Readonly<Record<string, unknown>>;

/** A fact to record as an event. */
export interface NewEvent {
  readonly type: EventType;
  /** The account concerned; undefined: every administrator. */
  readonly userId?: number;
  /** The object concerned, such as `video:task_…`; events of one subject stay in order. */
  readonly subject: string;
  /** The payload's `data`: small, and suitable for the owner of the account to read. */
  readonly data: EventData;
  /** Callback URL of the request that caused the event. */
  readonly callbackUrl?: string | null;
  /** At most one event of this type with this key is written per account. */
  readonly deduplicationKey?: string;
}

/** Records events inside the transaction that makes them true, so that both are committed or neither. */
export interface EventWriter {
  write(trx: Trx, event: NewEvent): Promise<void>;
}

interface StoredEventWriterDependencies {
  readonly store: EventStore;
  readonly clock: Clock;
  /** Names of all readers; each receives every event. */
  readonly readers: readonly string[];
}

/** Writes events and wakes the readers of this process. */
class StoredEventWriter implements EventWriter {
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
      // Parts of the data may come from vendors and callers, whose text can contain lone surrogates.
      data: toWellFormedJson(data),
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

interface EventConsumerDependencies {
  readonly database: Database<Tables>;
  readonly store: EventStore;
  readonly log: Log;
}

/**
 * Processes events in the transaction that marks them as read, so that each event is processed exactly once. A batch
 * runs again if its transaction is retried, so this must not make network calls.
 */
type ProcessEvents = (trx: Trx, events: readonly EventRow[]) => Promise<void>;

const BATCH = 200;
/** Finds events of processes that died after their commit. */
const POLL_MS = 1_000;

/**
 * Reads every event once, in batches, oldest first, in one process at a time, continuing where the last batch ended.
 */
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

  /** Reads soon. Never throws. */
  wake(): void {
    if (this.#timer === undefined || this.#isStopping) return;
    this.#isAwaited = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // Handles a wake-up that arrived while the run was ending.
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

/** A row of `events`. */
export type EventRow = Selectable<Tables['events']>;
type NewEventRow = Omit<EventRow, 'seq'>;

/** `user_id` of events that concern every administrator. */
export const ADMINISTRATORS = 0;

const insertEvent = prepareQuery<Tables, NewEventRow>()((db, p) =>
  db
    .insertInto('events')
    .values({
      id: p('id'),
      type: p('type'),
      user_id: p('user_id'),
      subject: p('subject'),
      data: p('data'),
      callback_url: p('callback_url'),
      deduplication_key: p('deduplication_key'),
      created_at: p('created_at'),
    })
    .onConflict((conflict) => conflict.columns(['user_id', 'type', 'deduplication_key']).doNothing())
    .returning('seq'),
);

const enqueueEvent = prepareQuery<Tables, { reader: string; event_seq: number }>()((db, p) =>
  db.insertInto('event_queue').values({ reader: p('reader'), event_seq: p('event_seq') }),
);

const lockReader = prepareQuery<Tables, { name: string }>()((db, p) =>
  db.selectFrom('event_readers').select('name').where('name', '=', p('name')).forUpdate(),
);

const selectUnread = prepareQuery<Tables, { reader: string; limit: number }>()((db, p) =>
  db
    .selectFrom('event_queue')
    .innerJoin('events', 'events.seq', 'event_queue.event_seq')
    .selectAll('events')
    .where('event_queue.reader', '=', p('reader'))
    .orderBy('event_queue.event_seq')
    .limit(sql<number>`${p('limit')}`),
);

/** Transactions that write events end well within this time. */
const OLDER_TRANSACTIONS_MS = 5_000;

interface EventQuery {
  readonly userIds: readonly number[];
  /** Unix milliseconds, inclusive. */
  readonly since: number;
  readonly afterSeq: number;
  readonly limit: number;
}

/** SQL of `events` and of the queues of their readers. */
export class EventStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** @returns the event's number; undefined if an event with its deduplication key exists */
  async insert(trx: Trx, event: NewEventRow, readers: readonly string[]): Promise<number | undefined> {
    const seq = (await insertEvent.first(trx, event))?.seq;
    if (seq !== undefined) for (const reader of readers) await enqueueEvent.changes(trx, { reader, event_seq: seq });
    return seq;
  }

  async registerReader(name: string): Promise<void> {
    await this.#database.kysely
      .insertInto('event_readers')
      .values({ name })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  /** Locks a reader's oldest unread events; no other process reads them until this transaction ends. */
  async lockUnread(trx: Trx, reader: string, limit: number): Promise<EventRow[]> {
    await lockReader.first(trx, { name: reader });
    return selectUnread.all(trx, { reader, limit });
  }

  async markRead(trx: Trx, reader: string, seqs: readonly number[]): Promise<void> {
    await trx
      .deleteFrom('event_queue')
      .where('reader', '=', reader)
      .where('event_seq', 'in', [...seqs])
      .execute();
  }

  /**
   * Oldest first. A reader continues after the last event of a full page, so that page must not end beyond an event whose
   * transaction is still in progress: it has a lower number and would be missed.
   */
  async list({ userIds, since, afterSeq, limit }: EventQuery): Promise<EventRow[]> {
    const { kysely } = this.#database;
    const query = kysely
      .selectFrom('events')
      .selectAll()
      .where('user_id', 'in', [...userIds])
      .where('created_at', '>=', since)
      .where('seq', '>', afterSeq)
      .orderBy('seq')
      .limit(limit);
    const rows = await query.execute();
    if (rows.length < limit || !hasConcurrentWriters(kysely)) return rows;
    const isComplete = await waitForOlderTransactions(kysely, OLDER_TRANSACTIONS_MS);
    return isComplete ? query.execute() : rows.slice(0, -1);
  }

  /** The newest event of a type about a subject. */
  findNewest(trx: Trx, subject: string, type: EventType): Promise<EventRow | undefined> {
    return trx
      .selectFrom('events')
      .selectAll()
      .where('subject', '=', subject)
      .where('type', '=', type)
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst();
  }

  /**
   * Deletes at most `limit` events created before `before` that every reader has read.
   * @returns the number of deleted events
   */
  deleteBefore(before: number, limit: number): Promise<number> {
    const only = sql<boolean>`not exists (select 1 from event_queue where event_queue.event_seq = events.seq)`;
    return deleteOldRows(
      this.#database.kysely,
      { table: 'events', key: 'seq', time: 'created_at', only },
      before,
      limit,
    );
  }
}

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
