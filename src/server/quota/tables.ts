import { type Generated, sql } from 'kysely';
import type { SpendPeriod } from '../../contract/amounts.ts';
import { type Migration, type MigrationTransaction, required, zero } from '../platform/db/migrate.ts';
import { hasConcurrentWriters } from '../platform/db/sql.ts';

/** Tables of the ledger, its audit and the usage figures. */
export interface QuotaTables {
  /**
   * One row per account. `balance` is the sum of the account's ledger amounts; open reservations are already deducted.
   */
  wallets: { user_id: number; balance: number; used: number; requests: number };
  /** Tokens with their own limit; `used` includes open reservations. */
  token_limits: { token_id: number; quota_limit: number; used: number };
  /**
   * Open reservations. Closing one deletes the row, and the row count of that delete decides which process closed it.
   */
  reservations: {
    ref: string;
    user_id: number;
    token_id: number | null;
    model: string;
    amount: number;
    /** The part paid by a plan, and the plan period it came from. */
    plan_amount: number;
    plan_slot: string | null;
    created_at: number;
    /** JSON of the spend windows it counts in; null: none. See `parseCountedWindows`. */
    spend_windows: string | null;
    /** The member of the organization who spends; null: the account itself. */
    actor_id: Generated<number | null>;
  };
  /** Limits per day, week or month. `subject`: `token:5` or `account:7`. */
  spend_limits: { subject: string; amount: number; period: SpendPeriod };
  /** What a subject spent in one period while it had a limit; open reservations count. */
  spend_windows: {
    subject: string;
    period_start: number;
    /** Null: stored by a release before this column. */
    period_end: Generated<number | null>;
    spent: number;
  };
  /**
   * Append-only. `amount` changes the wallet, `plan_amount` an allowance; `charged` is the final cost, set on `settle`
   * rows. An entry of kind `closing` replaces all older entries of its account and month (RETENTION_LEDGER_DAYS).
   */
  ledger: {
    id: Generated<number>;
    user_id: number;
    kind: string;
    amount: number;
    plan_amount: number;
    charged: number;
    ref: string;
    token_id: number | null;
    model: string | null;
    note: string | null;
    /** Number of settlements a `closing` entry replaces; 0 on all other kinds. */
    settlements: Generated<number>;
    /** The member of the organization who spent it; null: the account itself. */
    actor_id: Generated<number | null>;
    created_at: number;
  };
  /**
   * Per account, the sums of all entries up to the position of a generation, so that an audit reads only newer entries.
   * `settled`: number of settlements.
   */
  ledger_checkpoints: { generation: number; user_id: number; amount: number; charged: number; settled: number };
  /**
   * `position`: id of the last entry included in the checkpoints. A full audit starts a new generation; one is current.
   */
  ledger_generations: { generation: number; position: number; is_current: 0 | 1 };
  /** The last audit of each kind. `findings` is JSON. Times are Unix milliseconds. */
  ledger_audits: { kind: 'incremental' | 'full'; finished_at: number; duration_ms: number; findings: string };
  /** Settled usage by UTC day, model, token and channel; `token_id` and `channel_id` 0: none. */
  usage_daily: {
    user_id: number;
    day: number;
    token_id: number;
    model: string;
    channel_id: number;
    requests: number;
    quota: number;
    prompt_tokens: number;
    completion_tokens: number;
  };
}

/** Schema migrations of the ledger. */
export const quotaMigrations: readonly Migration[] = [
  {
    id: '0010-quota',
    async up(trx, { int64, text, autoIncrement }) {
      await trx.schema
        .createTable('wallets')
        .addColumn('user_id', int64, (column) => column.primaryKey())
        .addColumn('balance', int64, required)
        .addColumn('used', int64, zero)
        .addColumn('requests', int64, zero)
        .addCheckConstraint('wallets_never_below_zero', sql`balance >= 0`)
        .execute();
      await trx.schema
        .createTable('token_limits')
        .addColumn('token_id', int64, (column) => column.primaryKey())
        .addColumn('quota_limit', int64, required)
        .addColumn('used', int64, zero)
        .execute();
      await trx.schema
        .createTable('reservations')
        .addColumn('ref', text, (column) => column.primaryKey())
        .addColumn('user_id', int64, required)
        .addColumn('token_id', int64)
        .addColumn('model', text, required)
        .addColumn('amount', int64, required)
        .addColumn('plan_amount', int64, required)
        .addColumn('plan_slot', text)
        .addColumn('created_at', int64, required)
        // Rows live for seconds. With the key as the table, a call writes one B-tree for them instead of two.
        .$call((made) => (hasConcurrentWriters(trx) ? made : made.modifyEnd(sql`without rowid`)))
        .execute();
      const ledger = trx.schema.createTable('ledger').addColumn('id', int64, autoIncrement);
      await ledger
        .addColumn('user_id', int64, required)
        .addColumn('kind', text, required)
        .addColumn('amount', int64, required)
        .addColumn('plan_amount', int64, required)
        .addColumn('charged', int64, required)
        .addColumn('ref', text, required)
        .addColumn('token_id', int64)
        .addColumn('model', text)
        .addColumn('note', text)
        .addColumn('settlements', int64, zero)
        .addColumn('created_at', int64, required)
        .execute();
      await trx.schema.createIndex('ledger_once').on('ledger').columns(['ref', 'kind']).unique().execute();
      // Nearly all entries are reservations or settlements, which are found quickly without an index on their kind.
      const isRare = sql<boolean>`kind not in ('reserve', 'settle')`;
      const rare = (name: string, columns: string[]) =>
        trx.schema.createIndex(name).on('ledger').columns(columns).where(isRare).execute();
      await rare('ledger_rare_by_user', ['user_id', 'kind', 'id']);
      await rare('ledger_rare_by_kind', ['kind', 'id']);
      await trx.schema.createIndex('ledger_by_user').on('ledger').columns(['user_id', 'id']).execute();
      await trx.schema
        .createTable('usage_daily')
        .addColumn('user_id', int64, required)
        .addColumn('day', int64, required)
        .addColumn('token_id', int64, required)
        .addColumn('model', text, required)
        .addColumn('channel_id', int64, required)
        .addColumn('requests', int64, required)
        .addColumn('quota', int64, required)
        .addColumn('prompt_tokens', int64, required)
        .addColumn('completion_tokens', int64, required)
        .addPrimaryKeyConstraint('usage_daily_key', ['user_id', 'day', 'token_id', 'model', 'channel_id'])
        .execute();
      await trx.schema.createIndex('usage_daily_by_day').on('usage_daily').column('day').execute();
      await createAudits(trx, { int64, text });
      // SQLite has a single writer, so no lock is needed there.
      if (hasConcurrentWriters(trx)) await createTokenLimitLock(trx);
    },
  },
  { id: '0012-spend-limits', up: createSpendLimits },
  {
    id: '0013-ends-of-spend-windows',
    async up({ schema }, { int64 }) {
      await schema.alterTable('spend_windows').addColumn('period_end', int64).execute();
    },
  },
];

type Step = Parameters<Migration['up']>;

async function createSpendLimits(trx: Step[0], { int64, text }: Step[1]): Promise<void> {
  await trx.schema
    .createTable('spend_limits')
    .addColumn('subject', text, (column) => column.primaryKey())
    .addColumn('amount', int64, required)
    .addColumn('period', text, required)
    .execute();
  await trx.schema
    .createTable('spend_windows')
    .addColumn('subject', text, required)
    .addColumn('period_start', int64, required)
    .addColumn('spent', int64, required)
    .addPrimaryKeyConstraint('spend_windows_key', ['subject', 'period_start'])
    .execute();
  await trx.schema.createIndex('spend_windows_by_start').on('spend_windows').column('period_start').execute();
  await trx.schema.alterTable('reservations').addColumn('spend_windows', text).execute();
}

async function createAudits(trx: Step[0], { int64, text }: Pick<Step[1], 'int64' | 'text'>): Promise<void> {
  await trx.schema
    .createTable('ledger_checkpoints')
    .addColumn('generation', int64, required)
    .addColumn('user_id', int64, required)
    .addColumn('amount', int64, required)
    .addColumn('charged', int64, required)
    .addColumn('settled', int64, required)
    .addPrimaryKeyConstraint('ledger_checkpoints_key', ['generation', 'user_id'])
    .execute();
  await trx.schema
    .createTable('ledger_generations')
    .addColumn('generation', int64, (column) => column.primaryKey())
    .addColumn('position', int64, required)
    .addColumn('is_current', int64, required)
    .execute();
  await trx.schema
    .createTable('ledger_audits')
    .addColumn('kind', text, (column) => column.primaryKey())
    .addColumn('finished_at', int64, required)
    .addColumn('duration_ms', int64, required)
    .addColumn('findings', text, required)
    .execute();
}

/**
 * A function instead of two statements: each query inside a volatile function has its own snapshot ("Function
 * Volatility Categories" in the PostgreSQL manual), so the limit is read only after the lock is acquired. Among
 * two-number advisory locks, 1 stands for token limits; tokens that share a second number merely wait for each other.
 */
const createTokenLimitLock = (trx: MigrationTransaction) =>
  sql`
    create function locked_token_limit(token bigint, alone boolean) returns bigint
    language plpgsql volatile as $$
    begin
      if alone then
        perform pg_advisory_xact_lock(1, (token % 2147483648)::integer);
      else
        perform pg_advisory_xact_lock_shared(1, (token % 2147483648)::integer);
      end if;
      return (select quota_limit from token_limits where token_id = token);
    end
    $$`.execute(trx);
