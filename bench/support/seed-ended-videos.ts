import { sql } from 'kysely';
import type { Database } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';

const CHUNK = 10_000;
const PRICE = 1_000;

/**
 * Years of history, written directly into the tables: finished videos with two ledger entries each, over the given
 * number of accounts, with matching wallets and daily figures. Accounts are numbered from `firstUser`; they cannot be
 * logged in to.
 */
export async function seedEndedVideos(
  { kysely }: Database<Tables>,
  {
    tasks,
    accounts,
    firstUser = 1_000_000,
  }: { readonly tasks: number; readonly accounts: number; readonly firstUser?: number },
): Promise<void> {
  const now = Date.now();
  const dayMs = 86_400_000;
  const age = sql<number>`${now} - (${tasks} - i) * ${Math.floor((365 * dayMs) / tasks)}`;
  const user = sql<number>`${firstUser} + i % ${accounts}`;
  const data = JSON.stringify({ object: 'video', status: 'completed', note: 'x'.repeat(200) });
  await sql`insert into wallets (user_id, balance, used, requests)
    with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ${accounts})
    select ${firstUser} + i, 1000000000, 0, 0 from n`.execute(kysely);
  await sql`insert into ledger (user_id, kind, amount, plan_amount, charged, ref, created_at)
    with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ${accounts})
    select ${firstUser} + i, 'grant', 1000000000, 0, 0, 'open:' || (${firstUser} + i), ${now - 366 * dayMs} from n`.execute(
    kysely,
  );
  for (let from = 0; from < tasks; from += CHUNK) {
    const to = Math.min(tasks, from + CHUNK);
    const numbers = sql`with recursive n(i) as (select cast(${from} as bigint) union all select i + 1 from n where i + 1 < ${to})`;
    await sql`insert into tasks (id, public_id, user_id, token_id, vendor, model, upstream_model, action, status, progress, attempt,
        price, prompt, request, data, fail_cause, fail_reason, error_code, created_at, submit_time, start_time, finish_time, updated_at,
        poll_failures, deleted)
      ${numbers} select 'task_history' || i, 'task_history' || i, ${user}, 0, 'kling', 'kling-v1-6', 'kling-v1-6', 'textGenerate',
        'SUCCESS', 100, 1, ${PRICE}, 'a heron lands on a jetty', '{"model":"kling-v1-6","prompt":"a heron lands on a jetty"}', ${data},
        '', 'https://cdn.example.com/video.mp4', '', ${age}, ${age}, ${age}, ${age}, ${age}, 0, 0 from n`.execute(
      kysely,
    );
    await sql`insert into ledger (user_id, kind, amount, plan_amount, charged, ref, token_id, model, created_at)
      ${numbers} select ${user}, 'reserve', ${-PRICE}, 0, 0, 'task_history' || i, null, 'kling-v1-6', ${age} from n`.execute(
      kysely,
    );
    await sql`insert into ledger (user_id, kind, amount, plan_amount, charged, ref, token_id, model, created_at)
      ${numbers} select ${user}, 'settle', 0, 0, ${PRICE}, 'task_history' || i, null, 'kling-v1-6', ${age} from n`.execute(
      kysely,
    );
  }
  const count = sql<number>`(${tasks} - 1 - (user_id - ${firstUser})) / ${accounts} + 1`;
  await sql`update wallets set balance = balance - ${PRICE} * (${count}), used = ${PRICE} * (${count}), requests = ${count}
    where user_id >= ${firstUser}`.execute(kysely);
  await sql`insert into usage_daily (user_id, day, token_id, model, channel_id, requests, quota, prompt_tokens, completion_tokens)
    select user_id, 20000, 0, 'kling-v1-6', 0, requests, used, 0, 0 from wallets where user_id >= ${firstUser}`.execute(
    kysely,
  );
}
