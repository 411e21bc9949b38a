import { type Selectable, sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import { deleteOldRows } from '../platform/db/sql.ts';
import type { Tables, Trx } from '../tables.ts';

export type EventRow = Selectable<Tables['events']>;
export type NewEventRow = Omit<EventRow, 'seq'>;

/** `user_id` of events for every administrator. */
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

export interface EventQuery {
  readonly userIds: readonly number[];
  /** Unix milliseconds, included. */
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

  /** @returns its number; undefined when an event with its deduplication key exists */
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

  /** Oldest unread events of a reader, which no other process reads until this transaction ends. */
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

  /** Oldest first. */
  list({ userIds, since, afterSeq, limit }: EventQuery): Promise<EventRow[]> {
    return this.#database.kysely
      .selectFrom('events')
      .selectAll()
      .where('user_id', 'in', [...userIds])
      .where('created_at', '>=', since)
      .where('seq', '>', afterSeq)
      .orderBy('seq')
      .limit(limit)
      .execute();
  }

  /** The newest event about a subject. */
  findNewest(trx: Trx, subject: string): Promise<EventRow | undefined> {
    return trx
      .selectFrom('events')
      .selectAll()
      .where('subject', '=', subject)
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst();
  }

  /** Deletes some of the events made before `before` that every reader has read. @returns how many */
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
