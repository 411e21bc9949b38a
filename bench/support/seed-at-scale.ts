import { type RawBuilder, sql } from 'kysely';
import { DAY_MS } from '../../src/contract/time-units.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { MonthlyPartitions } from '../../src/server/platform/db/monthly-partitions.ts';
import type { Tables } from '../../src/server/tables.ts';
import { withoutIndexes } from '../scale/dropped-indexes.ts';

/** Numbers of rows to write. */
export interface ScaleSeed {
  /** Finished videos; twice as many ledger entries and as many rows of the request log are written. */
  readonly tasks: number;
  /** Accounts with ids from `firstUser`. The first account owns a tenth of all rows. */
  readonly accounts: number;
  /** Additional unfinished videos, due within a period that starts `dueInMs` after `now`. */
  readonly unfinished: number;
  /** Default 0. */
  readonly dueInMs?: number;
  readonly firstUser: number;
  /** End of the year over which rows are spread, Unix milliseconds. */
  readonly now: number;
  /** True: writes rows of accounts and the request log only. */
  readonly requestsOnly?: boolean;
}

const CHUNK = 200_000;
/** From this number of rows on, indexes are created after the rows. */
const MANY = 500_000;
const PRICE = 1_000;
const PERIOD_MS = 15_000;
const MODELS = ['kling-v1-6', 'sora-2', 'veo-3.1', 'viduq2', 'wan2.5-t2v'];
const CHANNELS = 8;

/**
 * A year of history, written by set-based statements: finished videos (one of twelve failed) with their ledger entries
 * and request rows, accounts, wallets and daily figures that add up, an audit log and logins. The accounts cannot be
 * logged in to.
 */
export async function seedAtScale(database: Database<Tables>, seed: ScaleSeed): Promise<void> {
  if (database.dialect === 'sqlite') await sql`pragma cache_size = -500000`.execute(database.kysely);
  if (database.dialect === 'postgres' && seed.tasks >= MANY)
    await new MonthlyPartitions(database, 'requests').add(seed.now - 366 * DAY_MS, seed.now + 31 * DAY_MS);
  const work = (): Promise<void> => seedTables(database, seed);
  await (seed.tasks < MANY
    ? work()
    : withoutIndexes(database, ['tasks', 'ledger', 'requests', 'audit_log', 'login_history'], work));
  // On PostgreSQL autovacuum would do this within minutes; on SQLite it has to be explicit.
  if (database.dialect === 'postgres')
    await sql.raw(seed.tasks < MANY ? 'analyze' : 'vacuum (analyze)').execute(database.kysely);
}

async function seedTables(database: Database<Tables>, seed: ScaleSeed): Promise<void> {
  const { kysely, dialect } = database;
  /** Rows `i` from `from` up to, but excluding, `to`. */
  const numbers = (from: number, to: number): RawBuilder<unknown> =>
    dialect === 'postgres'
      ? sql`(select i from generate_series(${sql.lit(from)}::bigint, ${sql.lit(to - 1)}::bigint) as i) n`
      : sql`(with recursive n(i) as (select ${sql.lit(from)} union all select i + 1 from n where i + 1 < ${sql.lit(to)}) select i from n) n`;
  const { tasks, accounts, unfinished, firstUser, now, dueInMs = 0, requestsOnly = false } = seed;
  const user = sql`${sql.lit(firstUser)} + case when i % 10 = 0 then 0 else i % ${sql.lit(accounts)} end`;
  const at = sql`${sql.lit(now)} - (${sql.lit(tasks)} - i) * ${sql.lit(Math.floor((365 * DAY_MS) / tasks))}`;
  const channel = sql`1 + i % ${sql.lit(CHANNELS)}`;
  const model = sql`case i % 5 ${sql.join(
    MODELS.map((name, index) => sql`when ${sql.lit(index)} then ${sql.lit(name)}`),
    sql` `,
  )} end`;
  const failed = sql`i % 12 = 5`;
  await seedAccounts(database, numbers(0, accounts), seed);
  for (let from = 0; from < tasks + unfinished; from += CHUNK) {
    const n = numbers(from, Math.min(tasks + unfinished, from + CHUNK));
    const open = sql`i >= ${sql.lit(tasks)}`;
    if (!requestsOnly) {
      await sql`insert into tasks (id, public_id, user_id, token_id, channel_id, vendor, model, upstream_model, action, status,
          progress, attempt, price, prompt, request, data, handle, fail_cause, fail_reason, error_code, created_at, submit_time,
          start_time, finish_time, updated_at, next_poll_at, poll_failures, deleted, has_detail)
        select 'task_s' || i, 'task_s' || i, ${user}, 1 + i % 3, ${channel}, 'sora', ${model}, ${model}, 'textGenerate',
          case when ${open} then 'SUBMITTED' when ${failed} then 'FAILURE' else 'SUCCESS' end,
          100, 1, ${sql.lit(PRICE)}, 'a heron lands on jetty ' || i, '{}', '{}', '{"id":"v' || i || '"}',
          case when ${failed} then 'vendor_fault' else '' end, '', '', ${at}, ${at}, ${at},
          case when ${open} then 0 else ${at} end, ${at},
          case when ${open} then ${sql.lit(now + dueInMs)} + i % ${sql.lit(PERIOD_MS)} end, 0, 0, 0
        from ${n}`.execute(kysely);
      await sql`insert into ledger (user_id, kind, amount, plan_amount, charged, ref, token_id, model, created_at)
        select ${user}, case when k.step = 0 then 'reserve' when ${failed} then 'refund' else 'settle' end,
          case when k.step = 0 then ${sql.lit(-PRICE)} when ${failed} then ${sql.lit(PRICE)} else 0 end, 0,
          case when k.step = 0 or ${failed} then 0 else ${sql.lit(PRICE)} end, 'task_s' || i, 1 + i % 3, ${model}, ${at}
        from ${n} cross join (select 0 as step union all select 1) k
        where k.step = 0 or not (${open}) order by i, k.step`.execute(kysely);
      await sql`insert into reservations (ref, user_id, token_id, model, amount, plan_amount, plan_slot, created_at)
        select 'task_s' || i, ${user}, 1 + i % 3, ${model}, ${sql.lit(PRICE)}, 0, null, ${at} from ${n} where ${open}`.execute(
        kysely,
      );
    }
    await sql`insert into requests (ref, user_id, token_id, channel_id, kind, model, served_model, status, error_code, input_tokens,
        cached_tokens, output_tokens, seconds, quota, reserved, duration_ms, first_token_ms, stream, client, price, facts, created_at)
      select 'task_s' || i, ${user}, 1 + i % 3, ${channel}, case when i % 4 = 0 then 'video' else 'chat' end, ${model}, ${model},
        case when ${failed} then 'failed' else 'ok' end, '', 900, 0, 300, 0, ${sql.lit(PRICE)}, ${sql.lit(PRICE)},
        100 + i % 5000, null, 0, 'bench', '', '', ${at}
      from ${n} where not (${open})`.execute(kysely);
  }
  if (requestsOnly) return;
  await addUpAccounts(database, seed);
  await sql`insert into audit_log (actor_id, action, target, before, after, address, request_id, created_at)
    select 1, case when i % 50 = 0 then 'user.update' else 'channel.update' end, 'user:' || (i % 1000), null, '{}', '127.0.0.1', '', ${at}
    from ${numbers(0, Math.ceil(tasks / 10))}`.execute(kysely);
  await sql`insert into login_history (user_id, outcome, two_step, known_source, address, user_agent, created_at)
    select ${user}, case when i % 20 = 3 then 'wrong_password' else 'success' end, 0, 1, '127.0.0.1', 'bench', ${at}
    from ${numbers(0, tasks)}`.execute(kysely);
}

async function seedAccounts(
  { kysely }: Database<Tables>,
  n: RawBuilder<unknown>,
  { firstUser, now }: ScaleSeed,
): Promise<void> {
  const id = sql`${sql.lit(firstUser)} + i`;
  const begin = sql.lit(now - 366 * DAY_MS);
  await sql`insert into accounts (id, username, email, display_name, role, status, created_at)
    select ${id}, 'seed' || i, 'seed' || i || '@example.com', 'Seed ' || i, case when i % 500 = 7 then 'admin' else 'user' end, 1, ${begin}
    from ${n}`.execute(kysely);
  await sql`insert into ledger (user_id, kind, amount, plan_amount, charged, ref, created_at)
    select ${id}, 'grant', 1000000000000, 0, 0, 'open:' || (${id}), ${begin} from ${n}`.execute(kysely);
}

/** Computes wallets and daily figures from the entries. */
async function addUpAccounts({ kysely }: Database<Tables>, { firstUser }: ScaleSeed): Promise<void> {
  await sql`insert into wallets (user_id, balance, used, requests)
    select user_id, sum(amount), sum(charged), sum(case when kind = 'settle' then 1 else 0 end)
    from ledger where user_id >= ${sql.lit(firstUser)} group by user_id`.execute(kysely);
  await sql`insert into usage_daily (user_id, day, token_id, model, channel_id, requests, quota, prompt_tokens, completion_tokens)
    select user_id, created_at / ${sql.lit(DAY_MS)}, token_id, model, 0, count(*), sum(charged), 0, 0
    from ledger where kind = 'settle' and user_id >= ${sql.lit(firstUser)}
    group by user_id, created_at / ${sql.lit(DAY_MS)}, token_id, model`.execute(kysely);
}
