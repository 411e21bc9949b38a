import { sql, type Transaction } from 'kysely';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import type { DialectName } from '../../src/server/platform/db/sql.ts';
import { hashToken, randomToken } from '../../src/server/platform/tokens.ts';
import type { Tables } from '../../src/server/tables.ts';

/** Numbers of rows to write. */
export interface NotificationSeed {
  /** Number of accounts. */
  readonly accounts: number;
  /** Number of accounts that get a token. */
  readonly listeners: number;
  /** Notifications of account 1, of which the older half is read. */
  readonly notifications: number;
  readonly announcements: number;
}

/** An account that opens a stream. */
export interface Listener {
  readonly userId: number;
  readonly token: string;
}

/** Writes accounts and notifications directly into the database, as years of use would have left them. */
export async function seedNotifications(url: string, crowd: NotificationSeed): Promise<Listener[]> {
  const database = openDatabase<Tables>(url);
  const listeners = await database.transaction(async (kysely) => {
    // Writing a million rows takes longer than any request may.
    if (database.dialect === 'postgres') await sql`set local statement_timeout = 0`.execute(kysely);
    const made = await write(kysely, database.dialect, crowd);
    await sql`analyze`.execute(kysely);
    return made;
  });
  await database.close();
  return listeners;
}

async function write(kysely: Transaction<Tables>, dialect: DialectName, crowd: NotificationSeed): Promise<Listener[]> {
  const now = Date.now();
  const numbers = (count: number) =>
    sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(count)})`;
  const insert =
    dialect === 'postgres'
      ? (table: string, columns: string, values: string, count: number) =>
          sql`insert into ${sql.table(table)} (${sql.raw(columns)}) select ${sql.raw(values)} from generate_series(1, ${sql.lit(count)}) n(i)`
      : (table: string, columns: string, values: string, count: number) =>
          sql`insert into ${sql.table(table)} (${sql.raw(columns)}) ${numbers(count)} select ${sql.raw(values)} from n`;
  const at = String(now - 1_000);
  await insert(
    'accounts',
    'username, display_name, role, status, created_at',
    `'crowd-' || i, '', 'user', 1, ${at}`,
    crowd.accounts,
  ).execute(kysely);
  const columns =
    'user_id, for_admin, type, topic, title_en, content_en, title_zh, content_zh, target_url, related_id, is_read, created_at';
  const text = `'sora-2: the video failed', 'content policy. The quota was returned.', null, null, '/videos/task_' || i, 0`;
  const half = Math.floor(crowd.notifications / 2);
  await insert(
    'notifications',
    columns,
    `1, 0, 'system', 'task.failed', ${text}, case when i <= ${half} then 1 else 0 end, ${at}`,
    crowd.notifications,
  ).execute(kysely);
  await insert(
    'notifications',
    columns,
    `0, 0, 'system', 'system', 'Maintenance ' || i, 'Tonight at ten.', null, null, '', 0, 0, ${now}`,
    crowd.announcements,
  ).execute(kysely);
  const unread = crowd.notifications - half;
  await sql`insert into inboxes (user_id, total_user, unread_user) values (1, ${crowd.notifications}, ${unread})
    on conflict (user_id) do update set total_user = ${crowd.notifications}, unread_user = ${unread}`.execute(kysely);
  await sql`update accounts set created_at = ${now - 1_000} where id = 1`.execute(kysely);
  const first = await kysely
    .selectFrom('accounts')
    .select('id')
    .where('username', '=', 'crowd-1')
    .executeTakeFirstOrThrow();
  const listeners = Array.from({ length: crowd.listeners }, (_, index) => ({
    userId: first.id + index,
    token: randomToken('rgut_', 43, { checksum: true }),
  }));
  for (let start = 0; start < listeners.length; start += 1_000) {
    const rows = listeners
      .slice(start, start + 1_000)
      .map(({ userId, token }) => ({ user_id: userId, hash: hashToken(token), created_at: now }));
    await kysely.insertInto('user_tokens').values(rows).execute();
  }
  return listeners;
}
