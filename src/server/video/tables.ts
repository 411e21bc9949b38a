import { type Generated, sql } from 'kysely';
import type { VendorId } from '../../contract/model-kinds.ts';
import type { FailureCause, TaskStatus } from '../../contract/task-states.ts';
import { addIndex, type Migration, type MigrationTransaction, required } from '../platform/db/migrate.ts';
import type { Dialect } from '../platform/db/sql.ts';

/** SQL condition of tasks that have not ended: those that wait have no time of a next poll. */
export const UNFINISHED = "next_poll_at is not null or status = 'NOT_START'";

/** `token_id` of tasks that a person started in the console. */
export const NO_TOKEN = 0;

/** The tables of the video capability. */
export interface VideoTables extends ReconciliationTables, QueueTables {
  /** One row per video generation. Times are Unix milliseconds, 0 for an event that has not happened yet. */
  tasks: {
    /** Ascends with creation; lists are ordered and paged by it. */
    seq: Generated<number>;
    /** Never changes; the ledger refers to it. */
    id: string;
    /** The id callers use: `id`, or the upstream's own if the vendor's objects are passed through. */
    public_id: string;
    user_id: number;
    /** The member of the organization who submitted it; null: the account itself. */
    actor_id: Generated<number | null>;
    /** The API token that submitted it, or NO_TOKEN. */
    token_id: number;
    /** The channel it was sent over; null after the channel was removed. */
    channel_id: number | null;
    /** The credential of the channel. Later requests about the task use the same one. Null: the first. */
    credential_id: number | null;
    vendor: VendorId;
    /** The model name used by the caller. */
    model: string;
    /** The model name sent to the vendor. */
    upstream_model: string;
    /** The requested operation, as the unified format names it: `textGenerate`, `generate`, `remix`, … */
    action: string;
    status: TaskStatus;
    /** Whole percent. */
    progress: number;
    /** Number of the submit attempt, including failovers. Only the latest attempt may change the task. */
    attempt: number;
    /** Reserved quota; of a finished video, the charged quota. */
    price: number;
    /** JSON of the price and the facts it was applied to; empty for tasks older than this column. */
    pricing: string;
    /** User-Agent of the submit, truncated. */
    client: string;
    prompt: string;
    /** The caller's body as JSON, long Base64 truncated. */
    request: string;
    /** The vendor's latest response as JSON. */
    data: string;
    /**
     * JSON of the adapter, opaque to all other code: everything needed to poll the vendor. Null until the vendor
     * confirms.
     */
    handle: string | null;
    /** JSON from which the adapter finds the task by our id after the response to its submit was lost. */
    find_task_hint: string | null;
    /** JSON of the Artifact, once finished. */
    artifact: string | null;
    /** Cause of a failure, in terms common to all vendors; empty otherwise. */
    fail_cause: FailureCause | '';
    /** The error message of the vendor, or of this service. */
    fail_reason: string;
    error_code: string;
    /** `id` of the task that this one remixes. */
    remixed_from: string | null;
    /** The caller's own id for the task, in formats that have one (`external_task_id`); unique per token. */
    external_id: string | null;
    /** Callback URL for the end of the task. */
    callback_url: string | null;
    /** W3C `traceparent` of the request that started it; null if tracing is off. */
    traceparent: string | null;
    created_at: number;
    submit_time: number;
    start_time: number;
    finish_time: number;
    updated_at: number;
    /** Time of the next poll, or the end of a process's claim; null once the task has ended, and while it waits. */
    next_poll_at: number | null;
    /** Consecutive odd polls, whose responses were unreadable or did not know the task; several in a row end it. */
    poll_failures: number;
    /** 0: its request and data were cleared (RETENTION_TASK_DETAIL_DAYS). */
    has_detail: Generated<0 | 1>;
    /** 1: deleted by its owner; the row stays for the ledger. */
    deleted: 0 | 1;
  };
  /** Failed submit attempts, for administrators; the successful attempt is the task itself. */
  task_attempts: {
    task_id: string;
    attempt: number;
    channel_id: number;
    /** The credential of the channel that was used. */
    credential_id: number | null;
    outcome: string;
    code: string;
    message: string;
    created_at: number;
  };
  /**
   * Processes that poll; each renews its row and deletes it when it stops. Empty on SQLite, which permits one process
   * only.
   */
  pollers: { name: string; alive_until: number };
  favourite_videos: {
    user_id: number;
    task_seq: number;
  };
  /** Named groups of an account's own videos; a name is unique per account. */
  collections: { id: Generated<number>; user_id: number; name: string; created_at: number };
  collection_videos: { collection_id: number; task_seq: number };
  /** Share links of videos: one row per link that is valid or expired recently. */
  video_shares: {
    id: Generated<number>;
    /** `id` of the task. */
    task_id: string;
    user_id: number;
    /** Creator of the link; null: unknown, created by a release before this column. */
    actor_id: Generated<number | null>;
    /** SHA-256 of the token in the link. */
    token_hash: string;
    /** The sealed token, so that its owner can see the link again. */
    token: string;
    /** Shown on the page; may be empty. */
    title: string;
    /** argon2id; null if the link has no password. */
    password_hash: string | null;
    created_at: number;
    /** Null: it ends with the video. */
    expires_at: number | null;
  };
  idempotency_keys: {
    /** The token id, or the negated account id for submits from the console. */
    scope: number;
    key: string;
    /** SHA-256 of the request's content. */
    request_hash: string;
    task_id: string;
    /** JSON of the SubmitResult; null while the submit is in progress. */
    result: string | null;
    /** When the process with the submit in progress stops counting as alive; renewed while the submit runs. */
    alive_until: number;
    created_at: number;
  };
}

/** Migrations of the video tables. */
export const videoMigrations: readonly Migration[] = [
  {
    id: '0030-video',
    async up(trx, dialect) {
      await createTasks(trx, dialect);
      await createTaskIndexes(trx);
      await createTaskAttempts(trx, dialect);
      await createPollers(trx, dialect);
      await createFavourites(trx, dialect);
      await createShares(trx, dialect);
      await createIdempotencyKeys(trx, dialect);
      await createReconciliations(trx, dialect);
    },
  },
  { id: '0031-queue', up: createQueue },
  {
    id: '0032-open-tasks-by-user',
    outsideTransaction: true,
    up: addIndex({
      name: 'tasks_open_by_user',
      table: 'tasks',
      columns: ['user_id'],
      where: 'next_poll_at is not null',
    }),
  },
  { id: '0034-collections', up: createCollections },
  {
    // Replaces the index of this name, which did not contain tasks that wait.
    id: '0120-unfinished-tasks',
    outsideTransaction: true,
    up: addIndex({ name: 'tasks_unfinished', table: 'tasks', columns: ['seq'], where: UNFINISHED }),
  },
];

async function createTasks(trx: MigrationTransaction, { int64, text, bool, autoIncrement }: Dialect): Promise<void> {
  await trx.schema
    .createTable('tasks')
    .addColumn('seq', int64, autoIncrement)
    .addColumn('id', text, (column) => column.notNull().unique())
    .addColumn('public_id', text, (column) => column.notNull().unique())
    .addColumn('user_id', int64, required)
    .addColumn('token_id', int64, required)
    .addColumn('channel_id', int64)
    .addColumn('credential_id', int64)
    .addColumn('vendor', text, required)
    .addColumn('model', text, required)
    .addColumn('upstream_model', text, required)
    .addColumn('action', text, required)
    .addColumn('status', text, required)
    .addColumn('progress', int64, required)
    .addColumn('attempt', int64, required)
    .addColumn('price', int64, required)
    .addColumn('pricing', text, (column) => column.notNull().defaultTo(''))
    .addColumn('client', text, (column) => column.notNull().defaultTo(''))
    .addColumn('prompt', text, required)
    .addColumn('request', text, required)
    .addColumn('data', text, required)
    .addColumn('handle', text)
    .addColumn('find_task_hint', text)
    .addColumn('artifact', text)
    .addColumn('fail_cause', text, required)
    .addColumn('fail_reason', text, required)
    .addColumn('error_code', text, required)
    .addColumn('remixed_from', text)
    .addColumn('external_id', text)
    .addColumn('callback_url', text)
    .addColumn('traceparent', text)
    .addColumn('created_at', int64, required)
    .addColumn('submit_time', int64, required)
    .addColumn('start_time', int64, required)
    .addColumn('finish_time', int64, required)
    .addColumn('updated_at', int64, required)
    .addColumn('next_poll_at', int64)
    .addColumn('poll_failures', int64, required)
    .addColumn('deleted', bool, required)
    .addColumn('has_detail', bool, (column) => column.notNull().defaultTo(1))
    .execute();
}

async function createTaskIndexes(trx: MigrationTransaction): Promise<void> {
  const index = (name: string) => trx.schema.createIndex(name).on('tasks');
  await index('tasks_by_token').columns(['token_id', 'seq']).execute();
  await index('tasks_by_user').columns(['user_id', 'seq', 'deleted']).execute();
  await index('tasks_by_channel').columns(['channel_id', 'seq']).execute();
  await index('tasks_by_model').columns(['model', 'seq']).execute();
  await index('tasks_due').column('next_poll_at').where('next_poll_at', 'is not', null).execute();
  await index('tasks_with_old_detail')
    .column('finish_time')
    .where(sql<boolean>`has_detail = 1 and finish_time > 0`)
    .execute();
  await index('tasks_failed').column('seq').where(sql.ref('status'), '=', 'FAILURE').execute();
  await index('tasks_failed_by_user').columns(['user_id', 'seq']).where(sql.ref('status'), '=', 'FAILURE').execute();
  await index('tasks_unfinished_by_channel')
    .columns(['channel_id', 'credential_id'])
    .where(sql.ref('next_poll_at'), 'is not', null)
    .execute();
  await index('tasks_unfinished').column('seq').where(sql.ref('next_poll_at'), 'is not', null).execute();
  await index('tasks_by_external_id')
    .columns(['token_id', 'external_id'])
    .unique()
    .where('external_id', 'is not', null)
    .execute();
}

async function createTaskAttempts(trx: MigrationTransaction, { int64, text }: Dialect): Promise<void> {
  await trx.schema
    .createTable('task_attempts')
    .addColumn('task_id', text, required)
    .addColumn('attempt', int64, required)
    .addColumn('channel_id', int64, required)
    .addColumn('credential_id', int64)
    .addColumn('outcome', text, required)
    .addColumn('code', text, required)
    .addColumn('message', text, required)
    .addColumn('created_at', int64, required)
    .addPrimaryKeyConstraint('task_attempts_key', ['task_id', 'attempt'])
    .execute();
}

async function createPollers(trx: MigrationTransaction, { int64, text }: Dialect): Promise<void> {
  await trx.schema
    .createTable('pollers')
    .addColumn('name', text, (column) => column.primaryKey())
    .addColumn('alive_until', int64, required)
    .execute();
}

async function createFavourites(trx: MigrationTransaction, { int64 }: Dialect): Promise<void> {
  await trx.schema
    .createTable('favourite_videos')
    .addColumn('user_id', int64, required)
    .addColumn('task_seq', int64, required)
    .addPrimaryKeyConstraint('favourite_videos_key', ['user_id', 'task_seq'])
    .execute();
}

async function createCollections(trx: MigrationTransaction, { int64, text, autoIncrement }: Dialect): Promise<void> {
  await trx.schema
    .createTable('collections')
    .addColumn('id', int64, autoIncrement)
    .addColumn('user_id', int64, required)
    .addColumn('name', text, required)
    .addColumn('created_at', int64, required)
    .addUniqueConstraint('collections_key', ['user_id', 'name'])
    .execute();
  await trx.schema
    .createTable('collection_videos')
    .addColumn('collection_id', int64, required)
    .addColumn('task_seq', int64, required)
    .addPrimaryKeyConstraint('collection_videos_key', ['collection_id', 'task_seq'])
    .execute();
}

async function createShares(trx: MigrationTransaction, { int64, text, autoIncrement }: Dialect): Promise<void> {
  await trx.schema
    .createTable('video_shares')
    .addColumn('id', int64, autoIncrement)
    .addColumn('task_id', text, required)
    .addColumn('user_id', int64, required)
    .addColumn('token_hash', text, (column) => column.notNull().unique())
    .addColumn('token', text, required)
    .addColumn('title', text, required)
    .addColumn('password_hash', text)
    .addColumn('created_at', int64, required)
    .addColumn('expires_at', int64)
    .execute();
  await trx.schema.createIndex('video_shares_by_user').on('video_shares').columns(['user_id', 'id']).execute();
  await trx.schema.createIndex('video_shares_by_task').on('video_shares').column('task_id').execute();
  await trx.schema.createIndex('video_shares_expiring').on('video_shares').column('expires_at').execute();
}

async function createIdempotencyKeys(trx: MigrationTransaction, { int64, text }: Dialect): Promise<void> {
  await trx.schema
    .createTable('idempotency_keys')
    .addColumn('scope', int64, required)
    .addColumn('key', text, required)
    .addColumn('request_hash', text, required)
    .addColumn('task_id', text, required)
    .addColumn('result', text)
    .addColumn('alive_until', int64, required)
    .addColumn('created_at', int64, required)
    .addPrimaryKeyConstraint('idempotency_keys_key', ['scope', 'key'])
    .execute();
  await trx.schema.createIndex('idempotency_keys_by_age').on('idempotency_keys').column('created_at').execute();
}

/** Videos that wait for a slot. Their tasks are NOT_START and have no time of a next poll. */
interface QueueTables {
  queued_tasks: {
    /** Ascends with the time of the submit. */
    id: Generated<number>;
    task_id: string;
    user_id: number;
    token_id: number;
    vendor: VendorId;
    /** The model name used by the caller. */
    model: string;
    /** The limit it waits for: `key:ID`, `account:ID` or `vendor:NAME`. */
    lane: string;
    /** Ids of the channels that can serve it, in ascending order: the videos of one group wait for the same ones. */
    channels: string;
    /** Level of the account's plan at the submit. */
    level: number;
    /** Position in fair order; see `TaskQueueStore.insert`. */
    turn: number;
    /** Bytes of the request's images, videos and audio files. */
    bytes: number;
    /** Unix milliseconds before which it does not start: the vendor had no room. */
    not_before: number;
    created_at: number;
  };
  /** The requests of waiting videos; part 0 is JSON, the others are the bytes it refers to. */
  queued_requests: { task_id: string; part: number; content: Uint8Array };
  /**
   * The turn that each lane has reached. Each start of a waiting video locks the row `''`; the row `*` holds the
   * time of the last look at all lanes.
   */
  queue_lanes: { lane: string; turn: number };
}

async function createQueue(trx: MigrationTransaction, { int64, text, blob, autoIncrement }: Dialect): Promise<void> {
  await trx.schema
    .createTable('queued_tasks')
    .addColumn('id', int64, autoIncrement)
    .addColumn('task_id', text, (column) => column.notNull().unique())
    .addColumn('user_id', int64, required)
    .addColumn('token_id', int64, required)
    .addColumn('vendor', text, required)
    .addColumn('model', text, required)
    .addColumn('lane', text, required)
    .addColumn('channels', text, required)
    .addColumn('level', int64, required)
    .addColumn('turn', int64, required)
    .addColumn('bytes', int64, required)
    .addColumn('not_before', int64, required)
    .addColumn('created_at', int64, required)
    .execute();
  await trx.schema
    .createTable('queued_requests')
    .addColumn('task_id', text, required)
    .addColumn('part', int64, required)
    .addColumn('content', blob, required)
    .addPrimaryKeyConstraint('queued_requests_key', ['task_id', 'part'])
    .execute();
  await trx.schema
    .createTable('queue_lanes')
    .addColumn('lane', text, (column) => column.primaryKey())
    .addColumn('turn', int64, required)
    .execute();
  const index = (name: string) => trx.schema.createIndex(name).on('queued_tasks');
  await index('queued_tasks_by_lane').columns(['lane', 'channels', 'turn', 'level desc', 'id']).execute();
  await index('queued_tasks_by_user').columns(['user_id', 'token_id']).execute();
  await index('queued_tasks_by_vendor').column('vendor').execute();
}

interface ReconciliationTables {
  /** One row per reading of a vendor's account; rows never change. Units are in millionths. */
  reconciliations: {
    id: Generated<number>;
    channel_id: number;
    vendor: VendorId;
    unit: string;
    /** Unix milliseconds of the previous reading; null for the first. */
    from_time: number | null;
    to_time: number;
    /** The vendor's usage counter, which ascends with the units it bills. */
    counter: number;
    videos: number;
    settled_units: number;
    settled_quota: number;
    /** Null if the counter decreased: the account was topped up, or replaced by another one. */
    billed_units: number | null;
  };
  /** Result of the latest reading of each channel's account; overwritten by the next. */
  account_reads: {
    channel_id: number;
    /** Unix milliseconds of the last successful reading, and of a failure after it. */
    read_at: number | null;
    failed_at: number | null;
    /** Error of a failed reading; empty after a successful one. */
    error: string;
  };
}

async function createReconciliations(
  trx: MigrationTransaction,
  { int64, text, autoIncrement }: Dialect,
): Promise<void> {
  await trx.schema
    .createTable('reconciliations')
    .addColumn('id', int64, autoIncrement)
    .addColumn('channel_id', int64, required)
    .addColumn('vendor', text, required)
    .addColumn('unit', text, required)
    .addColumn('from_time', int64)
    .addColumn('to_time', int64, required)
    .addColumn('counter', int64, required)
    .addColumn('videos', int64, required)
    .addColumn('settled_units', int64, required)
    .addColumn('settled_quota', int64, required)
    .addColumn('billed_units', int64)
    .execute();
  await trx.schema
    .createTable('account_reads')
    .addColumn('channel_id', int64, (column) => column.primaryKey())
    .addColumn('read_at', int64)
    .addColumn('failed_at', int64)
    .addColumn('error', text, required)
    .execute();
  await trx.schema
    .createIndex('reconciliations_by_channel')
    .on('reconciliations')
    .columns(['channel_id', 'to_time'])
    .unique()
    .execute();
}

/** Range of numbers reserved for one import: far above the ids of any source. */
const NUMBERS_OF_AN_IMPORT = 2 ** 40;

/**
 * The `seq` of a task that ended in another program. Negative, below all tasks created here, because `seq` ascends with
 * the creation time; imported tasks keep the order of their source.
 *
 * @param sourceId id of its row in the source
 * @throws RangeError for an id larger than any source has
 */
export function importedEndedTaskSeq(importId: number, sourceId: number): number {
  if (sourceId < 0 || sourceId >= NUMBERS_OF_AN_IMPORT) throw new RangeError(`the source has a task ${sourceId}`);
  return sourceId - importId * NUMBERS_OF_AN_IMPORT;
}

/** Whether a task ended in another program: its cost was paid there and is in no ledger here. */
export const isImportedEndedTask = ({ seq }: { readonly seq: number }): boolean => seq < 0;

/** First number of the import that a historical task belongs to. */
export const firstSeqOfImport = (seq: number): number => Math.floor(seq / NUMBERS_OF_AN_IMPORT) * NUMBERS_OF_AN_IMPORT;
