import type { Generated } from 'kysely';
import { type Migration, required } from '../platform/db/migrate.ts';

/** The tables of the event log. */
export interface EventTables {
  /** One row per event, written in the transaction that made it true. Rows never change. */
  events: {
    /** Ascends with time for events of one subject; across subjects a lower number may be committed later. */
    seq: Generated<number>;
    /** Public id, `evt_…`; the same in every delivery of the event. */
    id: string;
    type: string;
    /** The account concerned; ADMINISTRATORS (0): every administrator. */
    user_id: number;
    /** The object concerned, such as `video:task_…`. Events of one subject are delivered in order. */
    subject: string;
    /** JSON of the payload's `data`. */
    data: string;
    /** Callback URL of the request that caused the event. */
    callback_url: string | null;
    /** An account receives at most one event of a type with this key. */
    deduplication_key: string | null;
    created_at: number;
  };
  /** Events a reader has not processed yet. A row is inserted with its event, so that no reader can miss one. */
  event_queue: { reader: string; event_seq: number };
  /** Locked by the process that reads, so that a reader processes one batch at a time. */
  event_readers: { name: string };
}

/** Migrations of the event log's tables. */
export const eventMigrations: readonly Migration[] = [
  {
    id: '0065-events',
    async up(trx, { int64, text, autoIncrement }) {
      await trx.schema
        .createTable('events')
        .addColumn('seq', int64, autoIncrement)
        .addColumn('id', text, (column) => column.notNull().unique())
        .addColumn('type', text, required)
        .addColumn('user_id', int64, required)
        .addColumn('subject', text, required)
        .addColumn('data', text, required)
        .addColumn('callback_url', text)
        .addColumn('deduplication_key', text)
        .addColumn('created_at', int64, required)
        .addUniqueConstraint('events_once', ['user_id', 'type', 'deduplication_key'])
        .execute();
      const index = (name: string, columns: string[]) => trx.schema.createIndex(name).on('events').columns(columns);
      await index('events_by_user', ['user_id', 'seq']).execute();
      await index('events_by_subject', ['subject', 'seq']).execute();
      await index('events_by_age', ['created_at']).execute();
      await trx.schema
        .createTable('event_queue')
        .addColumn('reader', text, required)
        .addColumn('event_seq', int64, required)
        .addPrimaryKeyConstraint('event_queue_key', ['reader', 'event_seq'])
        .execute();
      await trx.schema
        .createTable('event_readers')
        .addColumn('name', text, (column) => column.primaryKey())
        .execute();
    },
  },
];
