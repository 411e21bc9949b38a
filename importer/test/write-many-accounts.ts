import { DatabaseSync } from 'node:sqlite';
import { NOW_SECONDS, OLD_PASSWORD_HASH, oldKey } from './source-rows.ts';
import { writeSource } from './write-source.ts';

/**
 * Writes a SQLite source of many accounts, keys and ended videos, in addition to the irregular rows. Accounts have
 * whole and odd balances, and usage on two days.
 */
export async function writeManyAccounts(url: string, accounts: number, keys: number, tasks = 0): Promise<void> {
  await writeSource(url, 'new-api with task ids');
  const database = new DatabaseSync(url.slice('sqlite:'.length));
  database.exec('begin');
  const user = database.prepare(
    `insert into users (id, username, password, display_name, role, status, email, quota, aff_quota, used_quota, "group", aff_code, created_at)
     values (?, ?, ?, ?, 1, 1, ?, ?, ?, 0, 'default', ?, ?)`,
  );
  const usage = database.prepare(
    'insert into quota_data (user_id, model_name, created_at, token_used, count, quota) values (?, ?, ?, 10, 1, 5)',
  );
  const firstId = 1_000;
  for (let index = 0; index < accounts; index++) {
    const id = firstId + index;
    user.run(
      id,
      `many${id}`,
      OLD_PASSWORD_HASH,
      `Many ${id}`,
      `many${id}@example.com`,
      (index * 7_919) % 1_000_003,
      index % 5,
      `m${id}`,
      NOW_SECONDS,
    );
    for (const day of [0, 1]) usage.run(id, 'gpt-4o', NOW_SECONDS + day * 86_400);
  }
  const token = database.prepare(
    `insert into tokens (id, user_id, "key", status, name, created_time, accessed_time, expired_time, remain_quota, unlimited_quota, used_quota)
     values (?, ?, ?, 1, ?, ?, ?, -1, ?, ?, 0)`,
  );
  for (let index = 0; index < keys; index++) {
    const id = firstId + index;
    token.run(id, firstId + (index % accounts), oldKey(id), `key ${id}`, NOW_SECONDS, NOW_SECONDS, index, index % 2);
  }
  const task = database.prepare(
    `insert into tasks (id, task_id, platform, user_id, channel_id, quota, status, progress, action, submit_time, finish_time, properties, private_data)
     values (?, ?, '50', ?, 11, ?, ?, '100%', 'textGenerate', ?, ?, ?, ?)`,
  );
  for (let index = 0; index < tasks; index++) {
    const id = firstId + index;
    const isFailure = index % 10 === 0;
    task.run(
      id,
      `task_${String(id).padStart(32, '0')}`,
      firstId + (index % accounts),
      isFailure ? 0 : index % 1_000,
      isFailure ? 'FAILURE' : 'SUCCESS',
      NOW_SECONDS + index,
      NOW_SECONDS + index + 90,
      `{"input":"a prompt of video ${id}","origin_model_name":"kling-v2-1-master"}`,
      `{"upstream_task_id":"vendor-${id}","token_id":${id},"result_url":"https://files.example.com/${id}.mp4"}`,
    );
  }
  database.exec('commit');
  database.close();
}
