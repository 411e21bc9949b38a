import { type Generated, sql } from 'kysely';
import type { RequestKind, RequestStatus } from '../../contract/request-kinds.ts';
import { type Migration, required } from '../platform/db/migrate.ts';
import { defaultPartitionOf } from '../platform/db/monthly-partitions.ts';
import { hasConcurrentWriters } from '../platform/db/sql.ts';

/** The tables of the request log. */
export interface RequestTables {
  /**
   * One row per model call and video that has ended, written in the transaction that settled it; rows never change and
   * contain no prompt and no result. Partitioned by month on PostgreSQL (`MonthlyPartitions`). `price` and `facts` are
   * the basis of the charge: a receipt stays the same when prices change.
   */
  requests: {
    /** Ascends with the end of calls: exactly on SQLite, roughly on PostgreSQL. */
    seq: Generated<number>;
    /** The ledger reference. */
    ref: string;
    user_id: number;
    /** 0: no token. */
    token_id: number;
    /** 0: no channel was selected. */
    channel_id: number;
    kind: RequestKind;
    /** The model name used by the caller. */
    model: string;
    /** The model name sent to the upstream. */
    served_model: string;
    status: RequestStatus;
    error_code: string;
    input_tokens: number;
    cached_tokens: number;
    output_tokens: number;
    seconds: number;
    /** Charged quota, and reserved quota. */
    quota: number;
    reserved: number;
    duration_ms: number;
    first_token_ms: number | null;
    stream: 0 | 1;
    client: string;
    /** JSON of the price that applied; empty if nothing was charged. */
    price: string;
    /** JSON of the facts it was applied to. */
    facts: string;
    /** The member of the organization who called; null: the account itself. */
    actor_id: Generated<number | null>;
    /** Time of writing, Unix milliseconds: at the end of the call, which started `duration_ms` earlier. */
    created_at: number;
  };
}

/** Migrations of the request log's tables. */
export const requestMigrations: readonly Migration[] = [
  {
    id: '0075-requests',
    async up(trx, { int64, text, bool, autoIncrement }) {
      const isPartitioned = hasConcurrentWriters(trx);
      const table = trx.schema
        .createTable('requests')
        .addColumn('seq', int64, (column) =>
          isPartitioned ? column.notNull().generatedByDefaultAsIdentity() : autoIncrement(column),
        );
      await table
        .addColumn('ref', text, required)
        .addColumn('user_id', int64, required)
        .addColumn('token_id', int64, required)
        .addColumn('channel_id', int64, required)
        .addColumn('kind', text, required)
        .addColumn('model', text, required)
        .addColumn('served_model', text, required)
        .addColumn('status', text, required)
        .addColumn('error_code', text, required)
        .addColumn('input_tokens', int64, required)
        .addColumn('cached_tokens', int64, required)
        .addColumn('output_tokens', int64, required)
        .addColumn('seconds', int64, required)
        .addColumn('quota', int64, required)
        .addColumn('reserved', int64, required)
        .addColumn('duration_ms', int64, required)
        .addColumn('first_token_ms', int64)
        .addColumn('stream', bool, required)
        .addColumn('client', text, required)
        .addColumn('price', text, required)
        .addColumn('facts', text, required)
        .addColumn('created_at', int64, required)
        .$call((made) =>
          isPartitioned
            ? made
                .addPrimaryKeyConstraint('requests_pkey', ['seq', 'created_at'])
                .modifyEnd(sql`partition by range (created_at)`)
            : made,
        )
        .execute();
      if (isPartitioned)
        await sql`create table ${sql.table(defaultPartitionOf('requests'))} partition of requests default`.execute(trx);
      const index = (name: string, columns: string[]) => trx.schema.createIndex(name).on('requests').columns(columns);
      // Not unique: a partition cannot enforce uniqueness across the others. References are unique because those of the
      // ledger, written in the same transaction, are; on SQLite the index only contains references that the ledger does
      // not have (`RequestStore.findByRef`).
      await index('requests_by_ref', ['ref'])
        .$call((made) => (isPartitioned ? made : made.unique().where(sql<boolean>`reserved = 0`)))
        .execute();
      // On SQLite every index ends with the key, which ascends with the time (`toKeyRange`).
      await index('requests_by_user', isPartitioned ? ['user_id', 'created_at', 'seq'] : ['user_id']).execute();
      if (isPartitioned) await index('requests_by_time', ['created_at', 'seq']).execute();
    },
  },
];
