import { setTimeout as delay } from 'node:timers/promises';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { ErrorCode } from '../../contract/error-codes.ts';
import { type Audience, DEVICE_SCOPE } from '../../contract/oauth.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { Memberships } from '../accounts/memberships.ts';
import type { TokenService } from '../accounts/tokens.ts';
import type { Notifier } from '../notifications/notifier.ts';
import { AppError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { RequestOrigin } from '../platform/http/route-registry.ts';
import { type Metrics, REUSED, recordingOutcome, type TokenGrant } from '../platform/metrics.ts';
import { CREDENTIAL_PREFIX, hashToken, randomToken } from '../platform/tokens.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables, Trx } from '../tables.ts';
import type { AuthorizationFilter, AuthorizationStore } from './authorization-store.ts';
import { auditRevocation, type DeviceRevocation } from './authorization-store.ts';
import { type ClientCredentials, type ClientService, type DeviceClient, findAuthenticated } from './clients.ts';
import { type DeviceCodeRow, type DeviceCodeStore, toDeviceCode } from './code-store.ts';
import {
  codeReuseNotice,
  MAX_SIGN_IN_MS,
  reuseNotice,
  toAccessEnd,
  toDeviceCodeStatus,
  toRefreshEnd,
} from './codes.ts';
import { hashAuthorizationCode, matchesChallenge } from './grants.ts';
import type { DeviceRateLimits } from './rate-limits.ts';

const TOKEN_LENGTH = 42;

/** `expiresInSeconds`: remaining lifetime of the access_token. `scope`: as in an OAuth response. */
export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresInSeconds: number;
  readonly scope: string;
}

export interface IssuedTokens extends TokenPair {
  /** Undefined for a grant, whose access_token opens what its scopes say. */
  readonly llmToken: string | undefined;
  readonly userId: number;
  readonly username: string;
  readonly displayName: string;
}

/** The parts of a token request that must match the authorization request. */
export interface CodeExchange {
  readonly code: string;
  /** Undefined: not repeated, as PKCE replaces it in OAuth 2.1 (section 10.2). */
  readonly redirectUri: string | undefined;
  /** Of PKCE. */
  readonly verifier: string;
  readonly audience: Audience | undefined;
}

/** What an OAuth client may name when it refreshes; neither may exceed the grant. */
export interface RefreshRequest {
  readonly scope?: string;
  readonly audience?: Audience;
}

/** Creates the error for a poll of a pending code: the JSON and OAuth endpoints pace their clients differently. */
export type OnPendingPoll = (code: DeviceCodeRow, now: number) => Promise<AppError>;

interface DeviceTokenDependencies {
  readonly database: Database<Tables>;
  readonly authorizations: AuthorizationStore;
  readonly codes: DeviceCodeStore;
  readonly clock: Clock;
  readonly clients: ClientService;
  readonly rateLimits: DeviceRateLimits;
  readonly access: AccountAccess;
  readonly memberships: Pick<Memberships, 'lock'>;
  readonly tokens: Pick<TokenService, 'issueLlm' | 'findIdByHash'>;
  readonly ledger: Pick<Ledger, 'setSpendLimit'>;
  readonly auditLog: AuditLog;
  readonly metrics: Pick<Metrics, 'recordTokenRequest'>;
  readonly notifier: Notifier;
  readonly revocation: DeviceRevocation;
  readonly reuseWindowMs: number;
}

/** The device's side of device authorization: tokens, from the poll that obtains them to the logout. */
export class DeviceTokenService {
  readonly #dependencies: DeviceTokenDependencies;

  constructor(dependencies: DeviceTokenDependencies) {
    this.#dependencies = dependencies;
  }

  /** The client of the given credentials; wrong ones are counted. @throws invalid_client, rate_limit_exceeded */
  async authenticate(credentials: ClientCredentials, origin: RequestOrigin): Promise<DeviceClient> {
    const { clients, rateLimits } = this.#dependencies;
    const client = await clients.authenticate(credentials, origin.address);
    if (client !== undefined) return client;
    await rateLimits.recordWrongClient(origin.address);
    throw new AppError('invalid_client');
  }

  /**
   * Issues the tokens of an approved code, once. @throws the failures of `POLL_CHECKS`, or the error `onPending`
   * returns
   */
  exchangeCode(
    deviceCode: string,
    credentials: ClientCredentials,
    origin: RequestOrigin,
    onPending: OnPendingPoll,
  ): Promise<IssuedTokens> {
    return this.#counted('device_code', () => this.#exchangeCode(deviceCode, credentials, origin, onPending));
  }

  async #exchangeCode(
    deviceCode: string,
    { clientId, clientSecret }: ClientCredentials,
    origin: RequestOrigin,
    onPending: OnPendingPoll,
  ): Promise<IssuedTokens> {
    const { database, codes, clock, rateLimits } = this.#dependencies;
    const now = clock.now();
    const rows = await codes.findForPoll(clientId, hashToken(deviceCode), now);
    const authenticated = findAuthenticated({ clientSecret }, rows);
    const client = authenticated && { id: clientId, name: authenticated.name };
    const code = toDeviceCode(rows[0]);
    const failure = findPollFailure({ client, code, now });
    if (failure === 'invalid_client') await rateLimits.recordWrongClient(origin.address);
    if (failure === 'authorization_pending' && code !== undefined) throw await onPending(code, now);
    if (failure !== undefined) throw new AppError(failure);
    if (client === undefined || code === undefined || !isComplete(code)) throw new AppError('record_incomplete');
    const issued = await database.transaction((trx) => this.#issueTokens(trx, code, client, origin));
    if (issued === undefined) throw new AppError('device_code_used');
    return issued;
  }

  /**
   * Issues the tokens of an authorization code, once. A second use ends them: the code may have been stolen (RFC 6749
   * section 4.1.2). Any other failure leaves the code unused.
   *
   * @throws invalid_client, authorization_code_invalid, invalid_target
   */
  exchangeAuthorizationCode(
    exchange: CodeExchange,
    credentials: ClientCredentials,
    origin: RequestOrigin,
  ): Promise<IssuedTokens> {
    return this.#counted('authorization_code', () => this.#exchangeAuthorizationCode(exchange, credentials, origin));
  }

  async #exchangeAuthorizationCode(
    { code, redirectUri, verifier, audience }: CodeExchange,
    credentials: ClientCredentials,
    origin: RequestOrigin,
  ): Promise<IssuedTokens> {
    const { database, codes, clock } = this.#dependencies;
    const client = await this.authenticate(credentials, origin);
    const now = clock.now();
    const row = await codes.findByHash(hashAuthorizationCode(code), now);
    if (row?.status === 'used') await this.#revokeAfterReuse(row.id, 'authorization_code', origin);
    if (row === undefined || row.status !== 'approved' || row.expires_at <= now || !isComplete(row))
      throw new AppError('authorization_code_invalid');
    if (
      row.client_id !== client.id ||
      (redirectUri !== undefined && row.redirect_uri !== redirectUri) ||
      !matchesChallenge(verifier, row.code_challenge)
    )
      throw new AppError('authorization_code_invalid');
    if (audience !== undefined && audience !== row.audience) throw new AppError('invalid_target');
    const issued = await database.transaction((trx) => this.#issueTokens(trx, row, client, origin));
    if (issued !== undefined) return issued;
    await this.#revokeAfterReuse(row.id, 'authorization_code', origin);
    throw new AppError('authorization_code_invalid');
  }

  /**
   * @throws invalid_client, refresh_token_invalid, refresh_token_expired, refresh_token_spent; invalid_scope,
   * invalid_target, which leave the refresh_token unused
   */
  refresh(
    refreshToken: string,
    credentials: ClientCredentials,
    origin: RequestOrigin,
    request: RefreshRequest = {},
  ): Promise<TokenPair> {
    return this.#counted('refresh_token', () => this.#refresh(refreshToken, credentials, origin, request));
  }

  async #refresh(
    refreshToken: string,
    credentials: ClientCredentials,
    origin: RequestOrigin,
    request: RefreshRequest,
  ): Promise<TokenPair> {
    const { database, authorizations, clock, access } = this.#dependencies;
    const client = await this.authenticate(credentials, origin);
    const hash = hashToken(refreshToken);
    const now = clock.now();
    const { authorizationId, userId, endsAt, row } = await this.#findRefreshable(hash, client, now, origin);
    assertGranted(row, request);
    return database.transaction(async (trx) => {
      if ((await access.lockEnabled(trx, userId)) === undefined) throw new AppError('refresh_token_spent');
      if (!(await authorizations.consumeRefreshToken(trx, hash, now))) throw new AppError('refresh_token_spent');
      const accessEnd = Math.min(toAccessEnd(now, row), endsAt);
      const tokens = newTokenPair(now, accessEnd, Math.min(toRefreshEnd(now, row), endsAt), row.scopes);
      const use = { last_used_at: now, last_address: origin.address };
      const keepsPrevious = isSharedFile(row);
      if (!(await authorizations.renew(trx, authorizationId, { ...tokens.access, ...use }, { keepsPrevious })))
        throw new AppError('refresh_token_spent');
      await authorizations.insertRefreshToken(trx, {
        ...tokens.refresh,
        authorization_id: authorizationId,
        client_id: client.id,
      });
      return tokens.pair;
    });
  }

  /** Signs out the device of an access_token, including an expired one. @throws device_authorization_missing */
  async logOut(accessToken: string, origin: RequestOrigin): Promise<void> {
    const { database, revocation, auditLog } = this.#dependencies;
    await database.transaction(async (trx) => {
      const [revoked] = await revocation.revoke(trx, { access_hash: hashToken(accessToken) });
      if (revoked === undefined) throw new AppError('device_authorization_missing');
      await auditRevocation(auditLog, trx, revoked, 'device.logout', origin, revoked.user_id);
    });
  }

  /**
   * Signs out the client's device that an access_token, refresh_token or llm_token belongs to; unknown tokens are
   * ignored. @throws invalid_client
   */
  async revokeToken(token: string, credentials: ClientCredentials, origin: RequestOrigin): Promise<void> {
    const { database, revocation, auditLog } = this.#dependencies;
    const client = await this.authenticate(credentials, origin);
    const filter = await this.#findAuthorizationOfToken(token);
    if (filter === undefined) return;
    await database.transaction(async (trx) => {
      for (const revoked of await revocation.revoke(trx, { ...filter, client_id: client.id }))
        await auditRevocation(auditLog, trx, revoked, 'device.revoke', origin);
    });
  }

  #counted<R>(grant: TokenGrant, work: () => Promise<R>): Promise<R> {
    return recordingOutcome((outcome) => this.#dependencies.metrics.recordTokenRequest(grant, outcome), work);
  }

  /** @returns undefined if the code was used or expired meanwhile */
  async #issueTokens(
    trx: Trx,
    code: ApprovedCode,
    client: ClientIdentity,
    origin: RequestOrigin,
  ): Promise<IssuedTokens | undefined> {
    const { authorizations, codes, clock, access, memberships, tokens, ledger } = this.#dependencies;
    const account = await access.lockEnabled(trx, code.user_id);
    if (account === undefined) throw new AppError('device_code_invalid');
    const now = clock.now();
    const consumed = await codes.consumeApproved(trx, code.id, now);
    if (consumed === undefined) return undefined;
    const { organization_id: organizationId } = code;
    const owner = organizationId === null ? { userId: account.id } : { userId: organizationId, actorId: account.id };
    // The member may have been removed since the approval.
    if (organizationId !== null && !(await memberships.lock(trx, organizationId, account.id)))
      throw new AppError('device_code_invalid');
    const issued = newTokenPair(now, code.access_expires_at, code.refresh_expires_at, code.scopes);
    const llm = await tokens.issueLlm(trx, owner, consumed.client_name || client.name, code.grant_ends_at);
    const { spend_amount: amount, spend_period: period } = code;
    if (amount !== null && period !== null)
      await ledger.setSpendLimit(trx, { kind: 'token', id: llm.id }, { amount, period });
    await authorizations.insert(trx, {
      id: code.id,
      user_id: account.id,
      client_id: client.id,
      client_name: consumed.client_name,
      device_id: code.device_id,
      address: code.address,
      user_agent: code.user_agent,
      ...issued.access,
      llm_token_id: llm.id,
      created_at: code.decided_at,
      last_used_at: now,
      last_address: origin.address,
      scopes: code.scopes,
      audience: code.audience,
      grant_ends_at: code.grant_ends_at,
      previous_access_hash: null,
      previous_access_ends_at: null,
      organization_id: organizationId,
    });
    await authorizations.insertRefreshToken(trx, {
      ...issued.refresh,
      authorization_id: code.id,
      client_id: client.id,
    });
    const { id: userId, username, display_name: displayName } = account;
    const llmToken = code.scopes === null ? llm.key : undefined;
    return { ...issued.pair, llmToken, userId, username, displayName };
  }

  /**
   * The device of a currently valid refresh_token. `endsAt`: end of the sign-in's maximum lifetime (Unix milliseconds).
   */
  async #findRefreshable(hash: string, client: DeviceClient, now: number, origin: RequestOrigin) {
    const { authorizations, reuseWindowMs } = this.#dependencies;
    const row = await authorizations.findRefreshToken(hash);
    if (row === undefined || row.client_id !== client.id) throw new AppError('refresh_token_invalid');
    const { authorization_id: authorizationId, user_id: userId, approved_at: approvedAt } = row;
    if (userId === null || approvedAt === null) {
      // A device that retries after the sign-in's maximum lifetime gets the same error again.
      const hasExpired = row.used_at === null && row.expires_at <= now;
      throw new AppError(hasExpired ? 'refresh_token_expired' : 'refresh_token_spent');
    }
    if (row.used_at !== null) {
      const ageMs = now - row.used_at;
      const isOtherNetwork = toIpLimitKey(row.last_address ?? '') !== toIpLimitKey(origin.address);
      if (ageMs > reuseWindowMs && (!isSharedFile(row) || isOtherNetwork))
        await this.#revokeAfterReuse(authorizationId, 'refresh_token', origin);
      else if (isSharedFile(row)) await delay(Math.max(0, STORE_MS - ageMs));
      throw new AppError('refresh_token_spent');
    }
    const endsAt = Math.min(approvedAt + MAX_SIGN_IN_MS, row.grant_ends_at ?? Infinity);
    if (endsAt <= now) await this.#revokeAfterMaximumLifetime(authorizationId, origin);
    if (Math.min(row.expires_at, endsAt) <= now) throw new AppError('refresh_token_expired');
    return { authorizationId, userId, endsAt, row };
  }

  /**
   * Revokes all tokens of a device whose used refresh_token reappeared too late for a race or a lost response, or whose
   * authorization code reappeared: it may be stolen.
   */
  async #revokeAfterReuse(authorizationId: number, grant: keyof typeof REUSE, origin: RequestOrigin): Promise<void> {
    const { database, clients, notifier, revocation, auditLog, metrics } = this.#dependencies;
    const { action, toNotice } = REUSE[grant];
    const ended = await database.transaction(async (trx) => {
      const devices = await revocation.revoke(trx, { id: authorizationId });
      for (const revoked of devices) {
        const { id, user_id: userId, client_name: clientName } = revoked;
        const registeredName = await clients.findName(trx, revoked.client_id);
        await notifier.notify(trx, toNotice({ id, userId, clientName, registeredName }));
        await auditRevocation(auditLog, trx, revoked, action, origin);
      }
      return devices.length;
    });
    if (ended > 0) metrics.recordTokenRequest(grant, REUSED);
  }

  /** Ends a sign-in that has reached its maximum lifetime; the device must be approved again. */
  async #revokeAfterMaximumLifetime(authorizationId: number, origin: RequestOrigin): Promise<void> {
    const { database, revocation, auditLog } = this.#dependencies;
    await database.transaction(async (trx) => {
      for (const revoked of await revocation.revoke(trx, { id: authorizationId }))
        await auditRevocation(auditLog, trx, revoked, 'device.year-over', origin);
    });
  }

  async #findAuthorizationOfToken(token: string): Promise<AuthorizationFilter | undefined> {
    const { authorizations, tokens } = this.#dependencies;
    const hash = hashToken(token);
    if (token.startsWith(CREDENTIAL_PREFIX.device) || token.startsWith(CREDENTIAL_PREFIX.grant)) {
      const row = await authorizations.findByAccessToken(hash);
      return row && { id: row.id };
    }
    if (token.startsWith(CREDENTIAL_PREFIX.refresh)) {
      const row = await authorizations.findRefreshToken(hash);
      return row && { id: row.authorization_id };
    }
    const id = await tokens.findIdByHash(hash);
    return id === undefined ? undefined : { llm_token_id: id };
  }
}

/** How the reuse of a code or refresh_token is audited and reported to the owner. */
const REUSE = {
  authorization_code: { action: 'device.code-reuse', toNotice: codeReuseNotice },
  refresh_token: { action: 'device.refresh-reuse', toNotice: reuseNotice },
} as const satisfies Partial<
  Record<TokenGrant, { readonly action: AuditAction; readonly toNotice: typeof reuseNotice }>
>;

/**
 * Whether the programs of a sign-in share a credential file, as all terminals of Claude Code on a computer do. The
 * first one renews the tokens; the others still send the used refresh_token, hours later if they were idle, and on
 * refusal read the file again. From the network of the last use this does not end the sign-in.
 */
const isSharedFile = ({ audience }: Pick<DeviceCodeRow, 'audience'>): boolean => audience === 'claude-code';

/** Time for the first terminal to store new tokens: one refused earlier would delete them from the file. */
const STORE_MS = 2_000;

/**
 * Rejects a refresh for more than was granted (RFC 6749 section 6, RFC 8707 section 2.2).
 *
 * @throws invalid_scope, invalid_target
 */
function assertGranted(
  { scopes, audience }: Pick<DeviceCodeRow, 'scopes' | 'audience'>,
  { scope = '', audience: requested }: RefreshRequest,
): void {
  const granted = (scopes ?? DEVICE_SCOPE).split(' ');
  if (scope.split(' ').some((each) => each !== '' && !granted.includes(each))) throw new AppError('invalid_scope');
  if (requested !== undefined && requested !== (audience ?? 'api')) throw new AppError('invalid_target');
}

/**
 * Creates a new token pair and its stored columns. Expiry times are Unix milliseconds, after `now`. `scopes`: of a
 * grant.
 */
function newTokenPair(now: number, accessEnd: number, refreshEnd: number, scopes: string | null) {
  const prefix = scopes === null ? CREDENTIAL_PREFIX.device : CREDENTIAL_PREFIX.grant;
  const accessToken = randomToken(prefix, TOKEN_LENGTH, { checksum: true });
  const refreshToken = randomToken(CREDENTIAL_PREFIX.refresh, TOKEN_LENGTH, { checksum: true });
  const expiresInSeconds = Math.floor((accessEnd - now) / 1000);
  return {
    pair: { accessToken, refreshToken, expiresInSeconds, scope: scopes ?? DEVICE_SCOPE },
    access: { access_hash: hashToken(accessToken), access_expires_at: accessEnd, refresh_expires_at: refreshEnd },
    refresh: { hash: hashToken(refreshToken), expires_at: refreshEnd },
  };
}

type ClientIdentity = Pick<DeviceClient, 'id' | 'name'>;

/** The facts known when a device polls. */
interface Poll {
  /** The authenticated client; undefined if its id or secret was wrong. */
  readonly client: ClientIdentity | undefined;
  /** The record of the device_code. */
  readonly code: DeviceCodeRow | undefined;
  readonly now: number;
}

interface TokenCheck {
  readonly failure: ErrorCode;
  isFailing(poll: Poll): boolean;
}

const hasStatus = (state: ReturnType<typeof toDeviceCodeStatus>) => (poll: Poll) =>
  toDeviceCodeStatus(poll.code, poll.now) === state;

/**
 * The checks of a poll in order; the first failing check determines the error. The format of the request is checked
 * before them (`invalid_request`), the account's state after them, in the transaction that issues the tokens. A wrong
 * secret reveals nothing about the code, and polling too fast never hides that a code has ended.
 */
export const POLL_CHECKS: readonly TokenCheck[] = [
  { failure: 'invalid_client', isFailing: ({ client }) => client === undefined },
  { failure: 'device_code_invalid', isFailing: hasStatus('invalid') },
  { failure: 'device_code_invalid', isFailing: ({ client, code }) => code?.client_id !== client?.id },
  { failure: 'device_code_used', isFailing: hasStatus('used') },
  { failure: 'access_denied', isFailing: hasStatus('denied') },
  { failure: 'expired_token', isFailing: hasStatus('expired') },
  { failure: 'authorization_pending', isFailing: hasStatus('pending') },
  { failure: 'record_incomplete', isFailing: ({ code }) => code === undefined || !isComplete(code) },
];

/** The first failure, or undefined if tokens may be issued. */
export const findPollFailure = (poll: Poll): ErrorCode | undefined =>
  POLL_CHECKS.find((check) => check.isFailing(poll))?.failure;

type ApprovedCode = DeviceCodeRow & {
  readonly user_id: number;
  readonly decided_at: number;
  readonly access_expires_at: number;
  readonly refresh_expires_at: number;
};

/** Whether an approved code has every column needed to issue tokens. */
export const isComplete = (code: DeviceCodeRow): code is ApprovedCode =>
  code.user_id !== null &&
  code.decided_at !== null &&
  code.access_expires_at !== null &&
  code.refresh_expires_at !== null;
