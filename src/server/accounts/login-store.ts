import type { Kysely } from 'kysely';
import type { Tables } from '../tables.ts';

type Executor = Kysely<Tables>;

export interface PendingLogin {
  readonly hash: string;
  readonly user_id: number;
  readonly purpose: string;
  readonly subject: string;
  readonly created_at: number;
  readonly expires_at: number;
}

export const insertPending = (db: Executor, pending: PendingLogin): Promise<unknown> =>
  db
    .insertInto('pending_logins')
    .values({ ...pending, wrong: 0 })
    .execute();

/** Books one try before it is looked at, so that a hundred at once count as a hundred; undefined: ended or used up. */
export const bookTry = (db: Executor, hash: string, most: number, now: number) =>
  db
    .updateTable('pending_logins')
    .set((row) => ({ wrong: row('wrong', '+', 1) }))
    .where('hash', '=', hash)
    .where('wrong', '<', most)
    .where('expires_at', '>', now)
    .returning(['hash', 'user_id', 'purpose', 'subject', 'wrong'])
    .executeTakeFirst();

/** Consumes a pending login; answers whether this call did. */
export async function takePending(db: Executor, hash: string): Promise<boolean> {
  const result = await db.deleteFrom('pending_logins').where('hash', '=', hash).executeTakeFirst();
  return result.numDeletedRows === 1n;
}

export const deletePendingOf = (db: Executor, userId: number): Promise<unknown> =>
  db.deleteFrom('pending_logins').where('user_id', '=', userId).execute();

export const deleteExpiredLogins = (db: Executor, now: number): Promise<unknown> =>
  db.deleteFrom('pending_logins').where('expires_at', '<=', now).execute();
