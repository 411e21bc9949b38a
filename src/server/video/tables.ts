import { type Generated, sql } from 'kysely';
import type { TaskStatus, VendorName } from '../../contract/states.ts';
import type { Migration } from '../platform/db/migrate.ts';

/** What stands in place of a token on tasks that a person started in the console. */
export const NO_TOKEN = 0;

export interface VideoTables {
  tasks: {
    seq: Generated<number>;
    /** Ours for ever: the reference in the ledger. */
    id: string;
    /** What callers know it by: `id`, or the upstream's id for Sora-style channels. */
    public_id: string;
    user_id: number;
    token_id: number;
    channel_id: number | null;
    vendor: VendorName;
    /** As the caller named it. */
    model: string;
    /** What the vendor was asked for. */
    upstream_model: string;
    action: string;
    status: TaskStatus;
    /** Whole percent. */
    progress: number;
    /** How often it was sent upstream, failovers counted; only the last one counts. */
    attempt: number;
    price: number;
    prompt: string;
    /** The caller's parameters as JSON, pictures cut. */
    request: string;
    /** The vendor's last answer as JSON. */
    data: string;
    /** Opaque JSON of the adapter. */
    handle: string | null;
    /** What a look-up after a lost answer needs, as JSON. */
    hint: string | null;
    /** JSON of the artifact. */
    artifact: string | null;
    fail_reason: string;
    error_code: string;
    remixed_from: string | null;
    created_at: number;
    submit_time: number;
    start_time: number;
    finish_time: number;
    updated_at: number;
    /** When the synchronizer looks at it again; null once it has ended. */
    next_poll_at: number | null;
    /** Looks in a row that came to nothing. */
    poll_failures: number;
    /** 1: its owner removed it; kept for the books. */
    deleted: 0 | 1;
  };
  /** Tries that came to nothing; the one that counts is the task itself. For administrators. */
  task_attempts: {
    task_id: string;
    attempt: number;
    channel_id: number;
    outcome: string;
    code: string;
    message: string;
    created_at: number;
  };
  /** Videos their owners gave a star. */
  favourite_videos: {
    user_id: number;
    task_seq: number;
  };
  idempotency_keys: {
    token_id: number;
    key: string;
    body_hash: string;
    task_id: string;
    /** JSON of the answer; null while the submit is under way. */
    answer: string | null;
    created_at: number;
  };
}

export const videoMigrations: readonly Migration[] = [
  {
    id: '0030-video',
    async up(trx, { int64, text, bool, autoIncrement }) {
      await trx.schema
        .createTable('tasks')
        .addColumn('seq', int64, autoIncrement)
        .addColumn('id', text, (column) => column.notNull().unique())
        .addColumn('public_id', text, (column) => column.notNull().unique())
        .addColumn('user_id', int64, (column) => column.notNull())
        .addColumn('token_id', int64, (column) => column.notNull())
        .addColumn('channel_id', int64)
        .addColumn('vendor', text, (column) => column.notNull())
        .addColumn('model', text, (column) => column.notNull())
        .addColumn('upstream_model', text, (column) => column.notNull())
        .addColumn('action', text, (column) => column.notNull())
        .addColumn('status', text, (column) => column.notNull())
        .addColumn('progress', int64, (column) => column.notNull())
        .addColumn('attempt', int64, (column) => column.notNull())
        .addColumn('price', int64, (column) => column.notNull())
        .addColumn('prompt', text, (column) => column.notNull())
        .addColumn('request', text, (column) => column.notNull())
        .addColumn('data', text, (column) => column.notNull())
        .addColumn('handle', text)
        .addColumn('hint', text)
        .addColumn('artifact', text)
        .addColumn('fail_reason', text, (column) => column.notNull())
        .addColumn('error_code', text, (column) => column.notNull())
        .addColumn('remixed_from', text)
        .addColumn('created_at', int64, (column) => column.notNull())
        .addColumn('submit_time', int64, (column) => column.notNull())
        .addColumn('start_time', int64, (column) => column.notNull())
        .addColumn('finish_time', int64, (column) => column.notNull())
        .addColumn('updated_at', int64, (column) => column.notNull())
        .addColumn('next_poll_at', int64)
        .addColumn('poll_failures', int64, (column) => column.notNull().defaultTo(0))
        .addColumn('deleted', bool, (column) => column.notNull().defaultTo(0))
        .execute();
      await trx.schema.createIndex('tasks_by_token').on('tasks').columns(['token_id', 'seq']).execute();
      await trx.schema.createIndex('tasks_by_user').on('tasks').columns(['user_id', 'seq']).execute();
      await trx.schema
        .createIndex('tasks_due')
        .on('tasks')
        .column('next_poll_at')
        .where('next_poll_at', 'is not', null)
        .execute();
      await trx.schema
        .createTable('idempotency_keys')
        .addColumn('token_id', int64, (column) => column.notNull())
        .addColumn('key', text, (column) => column.notNull())
        .addColumn('body_hash', text, (column) => column.notNull())
        .addColumn('task_id', text, (column) => column.notNull())
        .addColumn('answer', text)
        .addColumn('created_at', int64, (column) => column.notNull())
        .addPrimaryKeyConstraint('idempotency_keys_key', ['token_id', 'key'])
        .execute();
      await trx.schema.createIndex('idempotency_keys_by_age').on('idempotency_keys').column('created_at').execute();
    },
  },
  {
    id: '0031-task-administration',
    async up(trx, { int64, text }) {
      await trx.schema
        .createTable('task_attempts')
        .addColumn('task_id', text, (column) => column.notNull())
        .addColumn('attempt', int64, (column) => column.notNull())
        .addColumn('channel_id', int64, (column) => column.notNull())
        .addColumn('outcome', text, (column) => column.notNull())
        .addColumn('code', text, (column) => column.notNull())
        .addColumn('message', text, (column) => column.notNull())
        .addColumn('created_at', int64, (column) => column.notNull())
        .addPrimaryKeyConstraint('task_attempts_key', ['task_id', 'attempt'])
        .execute();
      await trx.schema.createIndex('tasks_by_channel').on('tasks').columns(['channel_id', 'seq']).execute();
      await trx.schema.createIndex('tasks_by_model').on('tasks').columns(['model', 'seq']).execute();
      await trx.schema
        .createIndex('tasks_failed')
        .on('tasks')
        .column('seq')
        .where(sql.ref('status'), '=', 'FAILURE')
        .execute();
    },
  },
  {
    id: '0032-favourites',
    async up(trx, { int64 }) {
      await trx.schema
        .createTable('favourite_videos')
        .addColumn('user_id', int64, (column) => column.notNull())
        .addColumn('task_seq', int64, (column) => column.notNull())
        .addPrimaryKeyConstraint('favourite_videos_key', ['user_id', 'task_seq'])
        .execute();
    },
  },
];
