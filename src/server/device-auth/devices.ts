import type { Transaction } from 'kysely';
import { ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS } from '../../contract/device-auth.ts';
import type { Page } from '../../contract/schemas.ts';
import type { Audit } from '../accounts/audit.ts';
import type { Standing } from '../accounts/standing.ts';
import type { Tokens } from '../accounts/tokens.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, notExist } from '../platform/errors.ts';
import { hashToken, randomToken } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import {
  type Ended,
  findRefresh,
  insertAuthorization,
  insertRefresh,
  listAuthorizations,
  renewAuthorization,
  takeRefresh,
  type Which,
} from './authorization-store.ts';
import { type Client, type Clients, matchClient } from './clients.ts';
import { type CodeRow, takeApproved } from './code-store.ts';
import type { Origin } from './codes.ts';
import type { EndDevices } from './ending.ts';
import type { DeviceLimits } from './limits.ts';
import { reuseNotice } from './notices.ts';
import { codeOf, findPoll } from './poll-store.ts';
import { AUTHORIZATION_MS, TOMBSTONE_MS } from './states.ts';
import { type ApprovedCode, isComplete, judgePoll } from './token-checks.ts';

type Trx = Transaction<Tables>;

/** What the client proves itself with. */
export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** `expiresInSeconds`: what the access_token has left. */
export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresInSeconds: number;
}

export interface CollectedTokens extends TokenPair {
  readonly llmToken: string;
  readonly userId: number;
  readonly username: string;
  readonly displayName: string;
}

/** How a poll of a pending code is answered: the two faces pace their clients differently. */
export type OnPending = (code: CodeRow, now: number) => Promise<AppError>;

/** The device's half of device authorization: tokens, from the first poll that gets them to the logout. */
export interface Devices {
  /** Hands the tokens of an approved code out, once. @throws the failures of `TOKEN_CHECKS`, or what `onPending` answers */
  collect(deviceCode: string, client: ClientCredentials, from: Origin, onPending: OnPending): Promise<CollectedTokens>;
  /** @throws invalid_client, refresh_token_invalid, refresh_token_expired, refresh_token_spent */
  refresh(refreshToken: string, client: ClientCredentials, from: Origin): Promise<TokenPair>;
  /** Ends the device whose access_token this is; an expired one will do. @throws device_authorization_missing */
  logOut(accessToken: string, from: Origin): Promise<void>;
  /** Ends the client's device whose access_token, refresh_token or llm_token this is; others are ignored. @throws invalid_client */
  revoke(token: string, client: ClientCredentials, from: Origin): Promise<void>;
  list(userId: number, page: Page): ReturnType<typeof listAuthorizations>;
  /** @throws not_exist */
  end(userId: number, id: number, from: Origin): Promise<void>;
  /** The client behind credentials; wrong ones are booked. @throws invalid_client, rate_limit_exceeded */
  authenticate(client: ClientCredentials, from: Origin): Promise<Client>;
}

export interface DeviceParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly clients: Clients;
  readonly limits: DeviceLimits;
  readonly standing: Standing;
  readonly tokens: Pick<Tokens, 'issueLlm' | 'idOf'>;
  readonly audit: Audit;
  readonly notifier: Notifier;
  readonly endDevices: EndDevices;
  readonly reuseWindowMs: number;
}

export function makeDevices(parts: DeviceParts): Devices {
  const { database, clock, clients, limits, standing, tokens, audit, notifier, endDevices } = parts;
  const { kysely } = database;

  const authenticate: Devices['authenticate'] = async ({ clientId, clientSecret }, { address }) => {
    const client = await clients.authenticate(clientId, clientSecret);
    if (client !== undefined) return client;
    await limits.wrongClient(address);
    throw new AppError('invalid_client');
  };

  /** The new pair, and what is stored of it. */
  const newPair = (now: number, accessEnd: number, refreshEnd: number) => {
    const accessToken = randomToken('rgat_', 42, { checksum: true });
    const refreshToken = randomToken('rgrt_', 42, { checksum: true });
    return {
      pair: { accessToken, refreshToken, expiresInSeconds: Math.max(0, Math.floor((accessEnd - now) / 1000)) },
      access: { access_hash: hashToken(accessToken), access_expires_at: accessEnd, refresh_expires_at: refreshEnd },
      refresh: { hash: hashToken(refreshToken), expires_at: refreshEnd },
    };
  };

  const mint = async (trx: Trx, code: ApprovedCode, client: Client, from: Origin): Promise<CollectedTokens> => {
    const account = await standing.hold(trx, code.user_id);
    if (account === undefined) throw new AppError('device_code_invalid');
    const now = clock.now();
    const taken = await takeApproved(trx, code.id, now + TOMBSTONE_MS);
    if (taken === undefined) throw new AppError('device_code_used');
    const { pair, access, refresh } = newPair(now, code.access_expires_at, code.refresh_expires_at);
    const llm = await tokens.issueLlm(trx, account.id, taken.client_name || client.name);
    await insertAuthorization(trx, {
      id: code.id,
      user_id: account.id,
      client_id: client.id,
      client_name: taken.client_name,
      device_id: code.device_id,
      address: code.address,
      user_agent: code.user_agent,
      ...access,
      llm_token_id: llm.id,
      created_at: code.decided_at,
      last_used_at: now,
      last_address: from.address,
    });
    await insertRefresh(trx, { ...refresh, authorization_id: code.id, client_id: client.id });
    const { id: userId, username, display_name: displayName } = account;
    return { ...pair, llmToken: llm.key, userId, username, displayName };
  };

  const auditEnd = (trx: Trx, ended: Ended, action: string, from: Origin, actorId?: number): Promise<void> =>
    audit.record(trx, {
      ...(actorId === undefined ? {} : { actorId }),
      action,
      target: `device:${ended.id}`,
      before: { user: ended.user_id, client: ended.client_id, name: ended.client_name },
      ...from,
    });

  /** A spent refresh_token came again, too late for a race or a lost answer: whoever holds the others must not keep them. */
  const endChain = (authorizationId: number, from: Origin): Promise<void> =>
    database.transaction(async (trx) => {
      for (const ended of await endDevices(trx, { id: authorizationId })) {
        const { id, user_id: userId, client_name: clientName } = ended;
        const registeredName = await clients.nameOf(trx, ended.client_id);
        await notifier.notify(trx, reuseNotice({ id, userId, clientName, registeredName }));
        await auditEnd(trx, ended, 'device.refresh-reuse', from);
      }
    });

  /** The year is over: whoever holds the tokens has to be approved anew. */
  const endForGood = (authorizationId: number, from: Origin): Promise<void> =>
    database.transaction(async (trx) => {
      for (const ended of await endDevices(trx, { id: authorizationId }))
        await auditEnd(trx, ended, 'device.year-over', from);
    });

  const whose = async (token: string): Promise<Which | undefined> => {
    const hash = hashToken(token);
    if (token.startsWith('rgat_')) return { access_hash: hash };
    if (token.startsWith('rgrt_')) {
      const row = await findRefresh(kysely, hash);
      return row && { id: row.authorization_id };
    }
    const id = await tokens.idOf(hash);
    return id === undefined ? undefined : { llm_token_id: id };
  };

  return {
    authenticate,
    async collect(deviceCode, credentials, from, onPending) {
      const { clientId, clientSecret } = credentials;
      const now = clock.now();
      const rows = await findPoll(kysely, clientId, hashToken(deviceCode), now);
      const client = matchClient(clientId, clientSecret, rows);
      const code = codeOf(rows[0]);
      const failure = judgePoll({ client, code, now });
      if (failure === 'invalid_client') await limits.wrongClient(from.address);
      if (failure === 'authorization_pending' && code !== undefined) throw await onPending(code, now);
      if (failure !== undefined) throw new AppError(failure);
      if (client === undefined || code === undefined || !isComplete(code)) throw new AppError('record_incomplete');
      return database.transaction((trx) => mint(trx, code, client, from));
    },
    async refresh(refreshToken, credentials, from) {
      const client = await authenticate(credentials, from);
      const hash = hashToken(refreshToken);
      const row = await findRefresh(kysely, hash);
      const now = clock.now();
      if (row === undefined || row.client_id !== client.id) throw new AppError('refresh_token_invalid');
      const { user_id: userId, approved_at: approvedAt, authorization_id: id } = row;
      if (userId === null || approvedAt === null) {
        // Whoever asks again after the year hears the same again.
        const ranOut = row.used_at === null && row.expires_at <= now;
        throw new AppError(ranOut ? 'refresh_token_expired' : 'refresh_token_spent');
      }
      if (row.used_at !== null) {
        if (now - row.used_at > parts.reuseWindowMs) await endChain(id, from);
        throw new AppError('refresh_token_spent');
      }
      const lastsUntil = approvedAt + AUTHORIZATION_MS;
      if (lastsUntil <= now) await endForGood(id, from);
      if (Math.min(row.expires_at, lastsUntil) <= now) throw new AppError('refresh_token_expired');
      return database.transaction(async (trx) => {
        if ((await standing.hold(trx, userId)) === undefined) throw new AppError('refresh_token_spent');
        if (!(await takeRefresh(trx, hash, now))) throw new AppError('refresh_token_spent');
        const { pair, access, refresh } = newPair(
          now,
          Math.min(now + ACCESS_TOKEN_SECONDS * 1000, lastsUntil),
          Math.min(now + REFRESH_TOKEN_SECONDS * 1000, lastsUntil),
        );
        const use = { last_used_at: now, last_address: from.address };
        if (!(await renewAuthorization(trx, id, { ...access, ...use }))) throw new AppError('refresh_token_spent');
        await insertRefresh(trx, { ...refresh, authorization_id: id, client_id: client.id });
        return pair;
      });
    },
    logOut: (accessToken, from) =>
      database.transaction(async (trx) => {
        const [ended] = await endDevices(trx, { access_hash: hashToken(accessToken) });
        if (ended === undefined) throw new AppError('device_authorization_missing');
        await auditEnd(trx, ended, 'device.logout', from, ended.user_id);
      }),
    async revoke(token, credentials, from) {
      const client = await authenticate(credentials, from);
      const which = await whose(token);
      if (which === undefined) return;
      await database.transaction(async (trx) => {
        for (const ended of await endDevices(trx, { ...which, client_id: client.id })) {
          await auditEnd(trx, ended, 'device.revoke', from);
        }
      });
    },
    list: (userId, page) => listAuthorizations(kysely, userId, page),
    end: (userId, id, from) =>
      database.transaction(async (trx) => {
        const [ended] = await endDevices(trx, { id, user_id: userId });
        if (ended === undefined) throw notExist('device');
        await auditEnd(trx, ended, 'device.end', from, userId);
      }),
  };
}
