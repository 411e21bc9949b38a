import type { Page } from '../../../contract/success-bodies-and-pagination.ts';
import { DAY_MS, HOUR_MS } from '../../../contract/time-units.ts';
import type { Clock } from '../../platform/clock.ts';
import { hashToken, randomToken } from '../../platform/tokens.ts';
import type { Trx } from '../../tables.ts';
import { CREDENTIAL_PREFIX } from '../credential-prefixes.ts';
import type { SessionEnd, SessionRow, SessionStore } from './session-store.ts';

export const SESSION_MS = 7 * DAY_MS;
/** A session's expiry is extended at most this often, so that a page with many requests does not write for each. */
const EXTEND_EVERY_MS = HOUR_MS;
const MAX_ADDRESS_LENGTH = 64;
const MAX_USER_AGENT_LENGTH = 300;

export interface SessionServiceDependencies {
  readonly store: SessionStore;
  readonly clock: Clock;
}

/** Login sessions: opaque cookie values, stored as SHA-256 and kept on the server, so that each can be ended. */
export class SessionService {
  readonly #store: SessionStore;
  readonly #clock: Clock;

  constructor({ store, clock }: SessionServiceDependencies) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Starts a session under a new id and returns the value of its cookie, which is stored nowhere. */
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

  /** The running session of a cookie value; using it extends its expiry. `renewed`: the cookie's expiry has to be extended too. */
  async find(token: string): Promise<(SessionRow & { readonly renewed: boolean }) | undefined> {
    const now = this.#clock.now();
    const row = await this.#store.findByHash(hashToken(token), now);
    if (row === undefined) return undefined;
    const renewed = now - row.last_used_at >= EXTEND_EVERY_MS;
    if (renewed) await this.#store.extend(row.id, now, now + SESSION_MS);
    return { ...row, renewed };
  }

  async endByToken(trx: Trx, token: string): Promise<void> {
    await this.#store.deleteByHash(trx, hashToken(token));
  }

  /** Logs out: nothing is kept of it. Returns false where the account has no such session. */
  end(userId: number, id: number): Promise<boolean> {
    return this.#store.delete(userId, id);
  }

  /** Ends a session from elsewhere, whose browser can then ask why. Returns false where the account has no such session. */
  async endFromElsewhere(userId: number, id: number): Promise<boolean> {
    const end = { reason: 'signed_out_elsewhere' as const, ended_at: this.#clock.now() };
    const ended = await this.#store.transaction((trx) => this.#store.end(trx, userId, id, end));
    return ended !== undefined;
  }

  /** Why the session of a cookie value ended before its time, for as long as the browser keeps the cookie. */
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
