import type { Role } from '../../../contract/roles.ts';
import type { Page } from '../../../contract/schemas.ts';
import type { Database } from '../../platform/db/database.ts';
import { prepareQuery } from '../../platform/db/prepared-query.ts';
import type { Executor, Tables, Trx } from '../../tables.ts';

/** A running session with what its account may do now. */
export interface SessionRow {
  readonly id: number;
  readonly user_id: number;
  readonly role: Role;
  readonly status: number;
  readonly created_at: number;
  readonly last_used_at: number;
}

export interface NewSession {
  readonly hash: string;
  readonly user_id: number;
  readonly address: string;
  readonly user_agent: string;
  readonly created_at: number;
  readonly expires_at: number;
}

const sessionByHash = prepareQuery<Tables, { hash: string; now: number }>()((db, p) =>
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

/** SQL of `sessions`. */
export class SessionStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  findByHash(hash: string, now: number): Promise<SessionRow | undefined> {
    return sessionByHash.first(this.#database.kysely, { hash, now });
  }

  /** When a session that was not ended began (Unix milliseconds). Ids are never used again. */
  findStart(id: number, db: Executor = this.#database.kysely): Promise<{ readonly created_at: number } | undefined> {
    return db.selectFrom('sessions').select('created_at').where('id', '=', id).executeTakeFirst();
  }

  async insert(trx: Trx, session: NewSession): Promise<void> {
    await trx
      .insertInto('sessions')
      .values({ ...session, last_used_at: session.created_at })
      .execute();
  }

  /** Moves the end of a running session; one that was ended in the meantime stays ended. */
  async extend(id: number, now: number, expiresAt: number): Promise<void> {
    await this.#database.kysely
      .updateTable('sessions')
      .set({ last_used_at: now, expires_at: expiresAt })
      .where('id', '=', id)
      .execute();
  }

  async deleteByHash(trx: Trx, hash: string): Promise<void> {
    await trx.deleteFrom('sessions').where('hash', '=', hash).execute();
  }

  /** Deletes a session of that account; returns where it was used, or undefined where there was none. */
  delete(
    userId: number,
    id: number,
    db: Executor = this.#database.kysely,
  ): Promise<{ readonly address: string; readonly user_agent: string } | undefined> {
    return db
      .deleteFrom('sessions')
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .returning(['address', 'user_agent'])
      .executeTakeFirst();
  }

  /** Deletes all sessions of an account but the one to keep, if any. */
  async deleteOfUser(trx: Trx, userId: number, keepId = 0): Promise<void> {
    await trx.deleteFrom('sessions').where('user_id', '=', userId).where('id', '!=', keepId).execute();
  }

  async deleteExpired(now: number): Promise<void> {
    await this.#database.kysely.deleteFrom('sessions').where('expires_at', '<=', now).execute();
  }

  /** Running sessions of an account, newest first. */
  async list(userId: number, now: number, page: Page) {
    const own = this.#database.kysely
      .selectFrom('sessions')
      .where('user_id', '=', userId)
      .where('expires_at', '>', now);
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
}
