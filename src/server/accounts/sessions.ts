import type { Transaction } from 'kysely';
import type { Page } from '../../contract/schemas.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { hashToken, randomToken } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import {
  deleteExpiredSessions,
  deleteSessionByHash,
  deleteSessionsOf,
  findSession,
  insertSession,
  listSessions,
  prolongSession,
  type SessionRow,
  takeSession,
} from './session-store.ts';

export const SESSION_MS = 7 * 24 * 60 * 60_000;
/** A session's end is moved at most this often, so that a busy page does not write with every request. */
const PROLONG_EVERY_MS = 60 * 60_000;

/** From where somebody logs in. */
export interface Visitor {
  readonly address: string;
  readonly userAgent: string;
}

export interface Sessions {
  /** Begins a session under a new id and answers the value of its cookie, which is stored nowhere. */
  start(trx: Transaction<Tables>, userId: number, from: Visitor): Promise<string>;
  /** A running session and its account's standing; use moves its end. `renewed`: the cookie's end should move too. */
  find(token: string): Promise<(SessionRow & { readonly renewed: boolean }) | undefined>;
  endByToken(trx: Transaction<Tables>, token: string): Promise<void>;
  /** Ends all sessions of an account, save the one named. */
  endAll(trx: Transaction<Tables>, userId: number, keepId?: number): Promise<void>;
  /** Answers whether the account had it. */
  end(userId: number, id: number): Promise<boolean>;
  list(userId: number, page: Page): ReturnType<typeof listSessions>;
  removeExpired(): Promise<void>;
}

export function makeSessions(database: Database<Tables>, clock: Clock): Sessions {
  const { kysely } = database;
  return {
    async start(trx, userId, { address, userAgent }) {
      const token = randomToken('rgs_', 43);
      const now = clock.now();
      await insertSession(trx, {
        hash: hashToken(token),
        user_id: userId,
        address: address.slice(0, 64),
        user_agent: userAgent.slice(0, 300),
        created_at: now,
        expires_at: now + SESSION_MS,
      });
      return token;
    },
    async find(token) {
      const now = clock.now();
      const row = await findSession(kysely, hashToken(token), now);
      if (row === undefined) return undefined;
      const renewed = now - row.last_used_at >= PROLONG_EVERY_MS;
      if (renewed) await prolongSession(kysely, row.id, now, now + SESSION_MS);
      return { ...row, renewed };
    },
    endByToken: async (trx, token) => void (await deleteSessionByHash(trx, hashToken(token))),
    endAll: async (trx, userId, keepId) => void (await deleteSessionsOf(trx, userId, keepId)),
    end: async (userId, id) => (await takeSession(kysely, userId, id)) !== undefined,
    list: (userId, page) => listSessions(kysely, userId, clock.now(), page),
    removeExpired: async () => void (await deleteExpiredSessions(kysely, clock.now())),
  };
}
