import type { Generated } from 'kysely';
import type { RequestKind, RequestStatus } from '../../contract/request-kinds.ts';
import type { Migration } from '../platform/db/migrate.ts';

export interface RequestTables {
  /**
   * One row for each model call and video that has ended, written in the transaction that settled it; never changed. Holds
   * no prompt and no result. `price` and `facts` are what it was charged by: a receipt stays the same whatever prices become.
   */
  requests: {
    /** Ascends roughly with the end of calls. */
    seq: Generated<number>;
    /** As in the ledger. */
    ref: string;
    user_id: number;
    /** 0: none. */
    token_id: number;
    /** 0: none was chosen. */
    channel_id: number;
    kind: RequestKind;
    /** As the caller named it. */
    model: string;
    /** The name sent to the upstream. */
    served_model: string;
    status: RequestStatus;
    error_code: string;
    input_tokens: number;
    cached_tokens: number;
    output_tokens: number;
    seconds: number;
    /** What was charged, and what had been reserved. */
    quota: number;
    reserved: number;
    duration_ms: number;
    first_token_ms: number | null;
    stream: 0 | 1;
    client: string;
    /** JSON of the price that applied; empty where nothing was charged. */
    price: string;
    /** JSON of the facts it was applied to. */
    facts: string;
    /** Begin of the call, Unix milliseconds. */
    created_at: number;
  };
}

export const requestMigrations: readonly Migration[] = [
  {
    id: '0075-requests',
    async up(trx, { int64, text, bool, autoIncrement }) {
      const table = trx.schema.createTable('requests').addColumn('seq', int64, autoIncrement);
      await table
        .addColumn('ref', text, (column) => column.notNull())
        .addColumn('user_id', int64, (column) => column.notNull())
        .addColumn('token_id', int64, (column) => column.notNull())
        .addColumn('channel_id', int64, (column) => column.notNull())
        .addColumn('kind', text, (column) => column.notNull())
        .addColumn('model', text, (column) => column.notNull())
        .addColumn('served_model', text, (column) => column.notNull())
        .addColumn('status', text, (column) => column.notNull())
        .addColumn('error_code', text, (column) => column.notNull())
        .addColumn('input_tokens', int64, (column) => column.notNull())
        .addColumn('cached_tokens', int64, (column) => column.notNull())
        .addColumn('output_tokens', int64, (column) => column.notNull())
        .addColumn('seconds', int64, (column) => column.notNull())
        .addColumn('quota', int64, (column) => column.notNull())
        .addColumn('reserved', int64, (column) => column.notNull())
        .addColumn('duration_ms', int64, (column) => column.notNull())
        .addColumn('first_token_ms', int64)
        .addColumn('stream', bool, (column) => column.notNull())
        .addColumn('client', text, (column) => column.notNull())
        .addColumn('price', text, (column) => column.notNull())
        .addColumn('facts', text, (column) => column.notNull())
        .addColumn('created_at', int64, (column) => column.notNull())
        .execute();
      const index = (name: string, columns: string[]) => trx.schema.createIndex(name).on('requests').columns(columns);
      await index('requests_by_ref', ['ref']).unique().execute();
      await index('requests_by_user', ['user_id', 'created_at', 'seq']).execute();
      await index('requests_by_time', ['created_at', 'seq']).execute();
    },
  },
];
