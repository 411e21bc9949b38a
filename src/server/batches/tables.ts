import type { Generated } from 'kysely';
import type { BatchEndpoint } from '../../contract/batch-endpoints.ts';
import type { BatchStatus } from '../../contract/batches.ts';
import { type Migration, required, zero } from '../platform/db/migrate.ts';

/** State of a line: `sending` is a model call in flight, `running` a video whose task exists. */
export type LineState = 'pending' | 'sending' | 'running' | 'completed' | 'failed';

/** The tables of the batches capability. Times are Unix milliseconds. */
export interface BatchTables {
  batches: {
    /** `batch_` and random characters. */
    id: string;
    user_id: number;
    /** The key that created it; 0: a person in the console. */
    token_id: number;
    /** The member who created it for an organization; null: the author of the key, or the account itself. */
    actor_id: Generated<number | null>;
    endpoint: BatchEndpoint;
    model: string | null;
    input_file_id: string;
    completion_window: string;
    /** JSON; null: none. */
    metadata: string | null;
    budget: number | null;
    /** Charges of ended lines and reservations of running ones; never above the budget when a line starts. */
    spent: Generated<number>;
    status: BatchStatus;
    /** The final status that `finalizing` leads to. */
    ending: 'completed' | 'expired' | 'cancelled' | null;
    /** JSON of the defects of the input file. */
    errors: string | null;
    output_file_id: string | null;
    error_file_id: string | null;
    /** Lifetime of the output files, if requested. */
    output_lifetime_ms: number | null;
    created_at: number;
    expires_at: number;
    in_progress_at: number | null;
    finalizing_at: number | null;
    completed_at: number | null;
    failed_at: number | null;
    expired_at: number | null;
    cancelling_at: number | null;
    cancelled_at: number | null;
    paused_at: number | null;
    /** No line starts before this time, because a limit refused one. */
    retry_at: Generated<number>;
    total: Generated<number>;
    completed: Generated<number>;
    failed: Generated<number>;
    input_tokens: Generated<number>;
    cached_tokens: Generated<number>;
    output_tokens: Generated<number>;
    reasoning_tokens: Generated<number>;
    retry_of: string | null;
    /** The batch that repeats the failed lines of this one; only one does. */
    retried_as: Generated<string | null>;
    /** The process that works on it, until `lease_until`. */
    lease_owner: string | null;
    lease_until: Generated<number>;
  };
  /** One row per line of the input file, deleted with the files of the batch. */
  batch_lines: {
    batch_id: string;
    /** Line number in the input file, from 1. */
    line: number;
    custom_id: string;
    /** Position of the line in the input file, bytes. */
    start: number;
    bytes: number;
    state: LineState;
    /** The process that sends a model call. */
    owner: string | null;
    /** The task of a video, or the beginning of the reservation's reference of a model call. */
    ref: string | null;
    /** The line's part of `batches.spent`. */
    amount: Generated<number>;
    /** 1: `amount` is the final charge. */
    is_settled: Generated<0 | 1>;
    /** The line of the output or error file, without its line end. */
    result: string | null;
  };
}

/** Migrations of the batches tables. */
export const batchMigrations: readonly Migration[] = [
  {
    id: '0095-batches',
    async up(trx, { int64, bool, text }) {
      await trx.schema
        .createTable('batches')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('user_id', int64, required)
        .addColumn('token_id', int64, required)
        .addColumn('endpoint', text, required)
        .addColumn('model', text)
        .addColumn('input_file_id', text, required)
        .addColumn('completion_window', text, required)
        .addColumn('metadata', text)
        .addColumn('budget', int64)
        .addColumn('spent', int64, zero)
        .addColumn('status', text, required)
        .addColumn('ending', text)
        .addColumn('errors', text)
        .addColumn('output_file_id', text)
        .addColumn('error_file_id', text)
        .addColumn('output_lifetime_ms', int64)
        .addColumn('created_at', int64, required)
        .addColumn('expires_at', int64, required)
        .addColumn('in_progress_at', int64)
        .addColumn('finalizing_at', int64)
        .addColumn('completed_at', int64)
        .addColumn('failed_at', int64)
        .addColumn('expired_at', int64)
        .addColumn('cancelling_at', int64)
        .addColumn('cancelled_at', int64)
        .addColumn('paused_at', int64)
        .addColumn('retry_at', int64, zero)
        .addColumn('total', int64, zero)
        .addColumn('completed', int64, zero)
        .addColumn('failed', int64, zero)
        .addColumn('input_tokens', int64, zero)
        .addColumn('cached_tokens', int64, zero)
        .addColumn('output_tokens', int64, zero)
        .addColumn('reasoning_tokens', int64, zero)
        .addColumn('retry_of', text)
        .addColumn('lease_owner', text)
        .addColumn('lease_until', int64, zero)
        .execute();
      await trx.schema
        .createTable('batch_lines')
        .addColumn('batch_id', text, required)
        .addColumn('line', int64, required)
        .addColumn('custom_id', text, required)
        .addColumn('start', int64, required)
        .addColumn('bytes', int64, required)
        .addColumn('state', text, required)
        .addColumn('owner', text)
        .addColumn('ref', text)
        .addColumn('amount', int64, zero)
        .addColumn('is_settled', bool, zero)
        .addColumn('result', text)
        .addPrimaryKeyConstraint('batch_lines_key', ['batch_id', 'line'])
        .addUniqueConstraint('batch_lines_custom_id', ['batch_id', 'custom_id'])
        .execute();
      const index = (name: string, table: string, columns: string[]) =>
        trx.schema.createIndex(name).on(table).columns(columns);
      await index('batches_by_user', 'batches', ['user_id', 'created_at', 'id']).execute();
      await index('batches_by_status', 'batches', ['status', 'lease_until']).execute();
      await index('batch_lines_by_state', 'batch_lines', ['batch_id', 'state', 'line']).execute();
    },
  },
  {
    id: '0096-batch-actors',
    async up({ schema }, { int64, text }) {
      await schema.alterTable('batches').addColumn('actor_id', int64).execute();
      await schema.alterTable('batches').addColumn('retried_as', text).execute();
    },
  },
];
