import type { IncomingHttpHeaders } from 'node:http';
import { outranks } from '../../contract/roles.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError } from '../platform/errors.ts';
import type { AccountCaller, Authenticator, Credentials, ModelCaller } from '../platform/http/caller.ts';
import { hashToken } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import type { LastUse } from './last-use.ts';
import { findStanding, findUserToken } from './session-store.ts';
import type { Sessions } from './sessions.ts';
import { ENABLED } from './store.ts';
import { findToken } from './token-store.ts';

/** The device access_tokens, kept by device-auth. */
export interface DeviceTokens {
  find(
    tokenHash: string,
  ): Promise<{ readonly userId: number; readonly authorizationId: number; readonly expiresAt: number } | undefined>;
  /** One of them was used. */
  used(authorizationId: number, address: string): void;
}

export interface AuthenticatorParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly sessions: Sessions;
  readonly lastUse: LastUse;
  /** Lower-case name of the header that carries the user id. */
  readonly userHeader: string;
  readonly deviceTokens?: DeviceTokens;
}

/** What a credential is, is told by its prefix; a kind is looked up in its own table only and never passes for another. */
export const PREFIX = { session: 'rgs_', userToken: 'rgut_', device: 'rgat_', sk: 'sk-' } as const;

const ALL_MODELS: readonly string[] = [];

/**
 * Nothing is remembered between requests: each asks the database, so a logout, a ban or a revocation holds for the next
 * request on every replica.
 */
export function makeAuthenticator(parts: AuthenticatorParts): Authenticator {
  const { database, clock, sessions, lastUse, userHeader } = parts;

  const find = async (token: string): Promise<Found | undefined> => {
    if (token.startsWith(PREFIX.session)) {
      const row = await sessions.find(token);
      if (row === undefined) return undefined;
      const { user_id: userId, role, status, renewed } = row;
      return { caller: { kind: 'session', userId, role, sessionId: row.id, renewed }, status };
    }
    if (token.startsWith(PREFIX.userToken)) {
      const tokenHash = hashToken(token);
      const row = await findUserToken(database.kysely, tokenHash);
      if (row === undefined) return undefined;
      return { caller: { kind: 'user-token', userId: row.user_id, role: row.role, tokenHash }, status: row.status };
    }
    if (token.startsWith(PREFIX.device)) {
      const row = await parts.deviceTokens?.find(hashToken(token));
      if (row === undefined || row.expiresAt <= clock.now()) return undefined;
      const standing = await findStanding(database.kysely, row.userId);
      if (standing === undefined) return undefined;
      const { userId, authorizationId } = row;
      return { caller: { kind: 'device', userId, role: standing.role, authorizationId }, status: standing.status };
    }
    return undefined;
  };

  return {
    async account(policy, { headers, session, address }: Credentials) {
      // A bearer value stands alone: a wrong one is not made good by a cookie that came along.
      const token = headers.authorization === undefined ? session : bearerOf(headers.authorization);
      if (token === undefined || token.length > 200) throw new AppError('unauthorized');
      const found = await find(token);
      if (found === undefined || found.status !== ENABLED) throw new AppError('unauthorized');
      const { caller } = found;
      if (headers[userHeader] !== String(caller.userId)) throw new AppError('unauthorized');
      if (caller.kind === 'device') parts.deviceTokens?.used(caller.authorizationId, address);
      if (policy === 'account') return caller;
      if (caller.kind === 'device') throw new AppError('forbidden');
      if (policy !== 'owner' && outranks(policy, caller.role)) throw new AppError('forbidden');
      return caller;
    },
    async model({ headers }): Promise<ModelCaller> {
      const key = keyOf(headers);
      if (key === undefined) throw new AppError('invalid_api_key');
      const row = await findToken(database.kysely, hashToken(key));
      if (row === undefined || (row.expires_at !== null && row.expires_at <= clock.now())) {
        throw new AppError('invalid_api_key');
      }
      if (row.status !== ENABLED) throw new AppError('account_disabled');
      lastUse.note(row.id);
      const models = row.models === null ? ALL_MODELS : (JSON.parse(row.models) as string[]);
      return { kind: 'model', userId: row.user_id, tokenId: row.id, models };
    },
  };
}

interface Found {
  readonly caller: AccountCaller;
  readonly status: number;
}

/** RFC 6750 section 2.1; the scheme's case does not matter (RFC 9110 section 11.1). */
function bearerOf(header: string): string | undefined {
  return header.length < 300 && /^bearer /i.test(header) ? header.slice(7).trim() : undefined;
}

/** `Authorization: Bearer`, else the headers clients of other vendors' APIs use. */
function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const { authorization } = headers;
  const key =
    (authorization === undefined ? undefined : bearerOf(authorization)) ??
    headers['x-api-key'] ??
    headers['x-goog-api-key'];
  if (typeof key !== 'string' || key.length > 200) return undefined;
  return key.startsWith(PREFIX.sk) ? key : undefined;
}
