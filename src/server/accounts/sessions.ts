import { sql } from 'kysely';
import type { Role } from '../../contract/account-fields.ts';
import type { SessionEndReason } from '../../contract/logins.ts';
import type { Page } from '../../contract/responses.ts';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery, wasChanged } from '../platform/db/sql.ts';
import { hashToken, randomToken } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import { CREDENTIAL_PREFIX } from './tokens.ts';

/** Lifetime of a session after its last use. */
export const SESSION_MS = 7 * DAY_MS;
/**
 * Minimum time between two extensions of a session's expiry, so that a page with many requests does not cause a write
 * for each.
 */
const EXTEND_EVERY_MS = HOUR_MS;
const MAX_ADDRESS_LENGTH = 64;
/** Hashes per statement, below the databases' limits of parameters. */
const HASH_BATCH = 500;
const MAX_USER_AGENT_LENGTH = 300;

interface SessionServiceDependencies {
  readonly store: SessionStore;
  readonly clock: Clock;
}

/** Login sessions: opaque cookie values, stored on the server as SHA-256 so that each can be revoked. */
export class SessionService {
  readonly #store: SessionStore;
  readonly #clock: Clock;

  constructor({ store, clock }: SessionServiceDependencies) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Starts a session under a new id and returns its cookie value, of which only the hash is stored. */
  async start(trx: Trx, userId: number, client: { readonly address: string; readonly userAgent: string }) {
    const token = randomToken(CREDENTIAL_PREFIX.session, 43);
    const now = this.#clock.now();
    await this.#store.insert(trx, {
      hash: hashToken(token),
      user_id: userId,
      address: client.address.slice(0, MAX_ADDRESS_LENGTH),
      user_agent: client.userAgent.slice(0, MAX_USER_AGENT_LENGTH),
      created_at: now,
      expires_at: now + SESSION_MS,
    });
    return token;
  }

  /**
   * The active session of a cookie value; use extends its expiry. `renewed`: the cookie's expiry must be extended as
   * well.
   */
  async find(token: string): Promise<(SessionRow & { readonly renewed: boolean }) | undefined> {
    const now = this.#clock.now();
    const row = await this.#store.findByHash(hashToken(token), now);
    if (row === undefined) return undefined;
    const renewed = now - row.last_used_at >= EXTEND_EVERY_MS;
    if (renewed) await this.#store.extend(row.id, now, now + SESSION_MS);
    return { ...row, renewed };
  }

  /** Revokes sessions by the SHA-256 of their cookies, and keeps the reason for the browsers to read. */
  endByHashes(trx: Trx, hashes: readonly string[], reason: SessionEndReason): Promise<void> {
    return this.#store.endByHashes(trx, hashes, { reason, ended_at: this.#clock.now() });
  }

  async endByToken(trx: Trx, token: string): Promise<void> {
    await this.#store.deleteByHash(trx, hashToken(token));
  }

  /** Logs out and deletes the session. Returns false if the account has no such session. */
  end(userId: number, id: number): Promise<boolean> {
    return this.#store.delete(userId, id);
  }

  /**
   * Revokes a session from another one, and keeps the reason for the browser to read. Returns false if the account has
   * no such session.
   */
  async endFromElsewhere(userId: number, id: number): Promise<boolean> {
    const end = { reason: 'signed_out_elsewhere' as const, ended_at: this.#clock.now() };
    const ended = await this.#store.transaction((trx) => this.#store.end(trx, userId, id, end));
    return ended !== undefined;
  }

  /** Why the session of a cookie value was revoked, for as long as the browser keeps the cookie. */
  findEnd(token: string): Promise<SessionEnd | undefined> {
    return this.#store.findEnd(hashToken(token), this.#clock.now());
  }

  list(userId: number, page: Page): ReturnType<SessionStore['list']> {
    return this.#store.list(userId, this.#clock.now(), page);
  }

  async deleteExpired(): Promise<void> {
    const now = this.#clock.now();
    await this.#store.deleteExpired(now, now - SESSION_MS);
  }
}

/** An active session with the current permissions of its account. */
interface SessionRow {
  readonly id: number;
  readonly user_id: number;
  readonly role: Role;
  readonly status: number;
  readonly created_at: number;
  readonly last_used_at: number;
}

interface NewSession {
  readonly hash: string;
  readonly user_id: number;
  readonly address: string;
  readonly user_agent: string;
  readonly created_at: number;
  readonly expires_at: number;
}

/** Why and when a session ended, in Unix milliseconds. */
interface SessionEnd {
  readonly reason: SessionEndReason;
  readonly ended_at: number;
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

  /** When a session that has not ended was created (Unix milliseconds). Ids are never reused. */
  findStart(id: number, db: Executor = this.#database.kysely): Promise<{ readonly created_at: number } | undefined> {
    return db.selectFrom('sessions').select('created_at').where('id', '=', id).executeTakeFirst();
  }

  async insert(trx: Trx, session: NewSession): Promise<void> {
    await trx
      .insertInto('sessions')
      .values({ ...session, last_used_at: session.created_at })
      .execute();
  }

  /** Extends an active session; one revoked since stays revoked. */
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

  transaction<R>(work: (trx: Trx) => Promise<R>): Promise<R> {
    return this.#database.transaction(work);
  }

  /** Deletes a session of that account; returns false if there was none. */
  async delete(userId: number, id: number): Promise<boolean> {
    return wasChanged(
      await this.#database.kysely
        .deleteFrom('sessions')
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst(),
    );
  }

  /** Revokes a session of that account; returns where it was used, or undefined if there was none. */
  async end(trx: Trx, userId: number, id: number, end: SessionEnd) {
    const ended = await trx
      .deleteFrom('sessions')
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .returning(['hash', 'address', 'user_agent'])
      .executeTakeFirst();
    if (ended === undefined) return undefined;
    const { hash, ...client } = ended;
    await trx
      .insertInto('ended_sessions')
      .values({ hash, ...end })
      .execute();
    return client;
  }

  /** Revokes the sessions of these cookies that have not ended. */
  async endByHashes(trx: Trx, hashes: readonly string[], end: SessionEnd): Promise<void> {
    for (let start = 0; start < hashes.length; start += HASH_BATCH) {
      const batch = hashes.slice(start, start + HASH_BATCH);
      const ended = await trx.deleteFrom('sessions').where('hash', 'in', batch).returning('hash').execute();
      if (ended.length === 0) continue;
      await trx
        .insertInto('ended_sessions')
        .values(ended.map(({ hash }) => ({ hash, ...end })))
        .execute();
    }
  }

  /** Revokes all sessions of an account except the one to keep, if any. */
  async endOfUser(trx: Trx, userId: number, { reason, ended_at }: SessionEnd, keepId = 0): Promise<void> {
    await trx
      .insertInto('ended_sessions')
      .columns(['hash', 'reason', 'ended_at'])
      // One statement: an account may have more sessions than a statement has parameters.
      .expression((row) =>
        row
          .selectFrom('sessions')
          .select([
            'hash',
            sql<SessionEndReason>`cast(${reason} as text)`.as('reason'),
            sql<number>`cast(${ended_at} as bigint)`.as('ended_at'),
          ])
          .where('user_id', '=', userId)
          .where('id', '!=', keepId),
      )
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await trx.deleteFrom('sessions').where('user_id', '=', userId).where('id', '!=', keepId).execute();
  }

  /** Why and when a session ended: it was revoked, or expired by `now` (Unix milliseconds). */
  async findEnd(hash: string, now: number): Promise<SessionEnd | undefined> {
    const { kysely } = this.#database;
    const ended = await kysely
      .selectFrom('ended_sessions')
      .select(['reason', 'ended_at'])
      .where('hash', '=', hash)
      .executeTakeFirst();
    if (ended !== undefined) return ended;
    const expired = await kysely
      .selectFrom('sessions')
      .select('expires_at as ended_at')
      .where('hash', '=', hash)
      .where('expires_at', '<=', now)
      .executeTakeFirst();
    return expired && { reason: 'expired', ...expired };
  }

  /** @param endedBefore reasons of sessions that ended earlier are deleted; Unix milliseconds */
  async deleteExpired(now: number, endedBefore: number): Promise<void> {
    const { kysely } = this.#database;
    await kysely.deleteFrom('sessions').where('expires_at', '<=', now).execute();
    await kysely.deleteFrom('ended_sessions').where('ended_at', '<=', endedBefore).execute();
  }

  /** Active sessions of an account, newest first. */
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
