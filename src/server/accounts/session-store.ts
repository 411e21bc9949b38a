import type { Kysely } from 'kysely';
import type { Role } from '../../contract/roles.ts';
import type { Page } from '../../contract/schemas.ts';
import { prepare } from '../platform/db/prepared.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import type { Tables } from '../tables.ts';

type Executor = Kysely<Tables>;

export interface SessionRow {
  readonly id: number;
  readonly user_id: number;
  readonly role: Role;
  readonly status: number;
  readonly created_at: number;
  readonly last_used_at: number;
}

const byHash = prepare<Tables, { hash: string; now: number }>()((db, p) =>
  db
    .selectFrom('sessions')
    .innerJoin('accounts', 'accounts.id', 'sessions.user_id')
    .select([
      'sessions.id',
      'sessions.user_id',
      'sessions.created_at',
      'sessions.last_used_at',
      'accounts.role',
      'accounts.status',
    ])
    .where('sessions.hash', '=', p('hash'))
    .where('sessions.expires_at', '>', p('now')),
);

/** A session that still runs, with its account's standing now. */
export const findSession = (db: Executor, hash: string, now: number): Promise<SessionRow | undefined> =>
  byHash.first(db, { hash, now });

export interface NewSession {
  readonly hash: string;
  readonly user_id: number;
  readonly address: string;
  readonly user_agent: string;
  readonly created_at: number;
  readonly expires_at: number;
}

export async function insertSession(db: Executor, session: NewSession): Promise<number> {
  const row = await db
    .insertInto('sessions')
    .values({ ...session, last_used_at: session.created_at })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

/** Moves the end of a running session; one that was ended meanwhile stays ended. */
export const prolongSession = (db: Executor, id: number, now: number, expiresAt: number): Promise<unknown> =>
  db.updateTable('sessions').set({ last_used_at: now, expires_at: expiresAt }).where('id', '=', id).execute();

export const deleteSessionByHash = (db: Executor, hash: string): Promise<unknown> =>
  db.deleteFrom('sessions').where('hash', '=', hash).execute();

/** Deletes a session of that account and answers from where it was used; undefined where there was none. */
export const takeSession = (
  db: Executor,
  userId: number,
  id: number,
): Promise<{ address: string; user_agent: string } | undefined> =>
  db
    .deleteFrom('sessions')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .returning(['address', 'user_agent'])
    .executeTakeFirst();

/** All sessions of an account but the one kept, if any. */
export const deleteSessionsOf = (db: Executor, userId: number, keepId = 0): Promise<unknown> =>
  db.deleteFrom('sessions').where('user_id', '=', userId).where('id', '!=', keepId).execute();

export const deleteExpiredSessions = (db: Executor, now: number): Promise<unknown> =>
  db.deleteFrom('sessions').where('expires_at', '<=', now).execute();

/** Newest first. */
export async function listSessions(db: Executor, userId: number, now: number, page: Page) {
  const own = db.selectFrom('sessions').where('user_id', '=', userId).where('expires_at', '>', now);
  const [rows, count] = await Promise.all([
    own
      .select(['id', 'address', 'user_agent', 'created_at', 'last_used_at', 'expires_at'])
      .orderBy('id', 'desc')
      .limit(page.pageSize)
      .offset(page.offset)
      .execute(),
    own.select((row) => row.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ]);
  return { rows, total: Number(count.total) };
}

const userToken = prepare<Tables, { hash: string }>()((db, p) =>
  db
    .selectFrom('user_tokens')
    .innerJoin('accounts', 'accounts.id', 'user_tokens.user_id')
    .select(['user_tokens.user_id', 'accounts.role', 'accounts.status'])
    .where('user_tokens.hash', '=', p('hash')),
);

export const findUserToken = (
  db: Executor,
  hash: string,
): Promise<{ user_id: number; role: Role; status: number } | undefined> => userToken.first(db, { hash });

export const putUserToken = (db: Executor, userId: number, hash: string, now: number): Promise<unknown> =>
  db
    .insertInto('user_tokens')
    .values({ user_id: userId, hash, created_at: now })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ hash, created_at: now }))
    .execute();

export const deleteUserToken = (db: Executor, userId: number): Promise<unknown> =>
  db.deleteFrom('user_tokens').where('user_id', '=', userId).execute();

/** Whether a session or a management access token was not ended since it was read. */
export async function stillOpens(
  db: Executor,
  caller: Extract<AccountCaller, { kind: 'session' | 'user-token' }>,
): Promise<boolean> {
  const found =
    caller.kind === 'session'
      ? db.selectFrom('sessions').select('user_id').where('id', '=', caller.sessionId)
      : db.selectFrom('user_tokens').select('user_id').where('hash', '=', caller.tokenHash);
  return (await found.executeTakeFirst())?.user_id === caller.userId;
}

const standing = prepare<Tables, { id: number }>()((db, p) =>
  db.selectFrom('accounts').select(['role', 'status']).where('id', '=', p('id')),
);

/** Role and status now, for credentials other capabilities keep. */
export const findStanding = (db: Executor, id: number): Promise<{ role: Role; status: number } | undefined> =>
  standing.first(db, { id });
