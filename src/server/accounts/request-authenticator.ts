import type { IncomingHttpHeaders } from 'node:http';
import { CLOSED, ENABLED, outranks } from '../../contract/account-fields.ts';
import type { Endpoint, ModelPolicy } from '../../contract/endpoint.ts';
import { AUDIENCES, type Audience, type OauthScope, RESOURCE_METADATA_PATH } from '../../contract/oauth.ts';
import { defined, isObject } from '../../contract/objects.ts';
import { includesRole, ORGANIZATION_HEADER, type OrganizationRole } from '../../contract/organization-roles.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import { createIpCheck } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { PeriodicWriter } from '../platform/concurrency.ts';
import type {
  AccountCaller,
  AccountPolicy,
  Authenticator,
  Credentials,
  ModelCaller,
  Owner,
} from '../platform/http/route-registry.ts';
import { tryParse } from '../platform/json.ts';
import type { KeyLimits } from '../platform/limits/rate-limits.ts';
import { assertWithinLimit, type RateLimiter } from '../platform/limits/rate-limits.ts';
import { CREDENTIAL_PREFIX, hashToken } from '../platform/tokens.ts';
import type { AccountStore } from './account-store.ts';
import type { FoundMembership, Memberships } from './memberships.ts';
import type { SecondFactors } from './second-factors.ts';
import type { ManagementTokenStore, SessionService } from './sessions.ts';
import type { TokenRow, TokenStore } from './tokens.ts';

const MAX_TOKEN_LENGTH = 200;
/** Long enough for a JWT or signature that contains a token. */
const MAX_AUTHORIZATION_LENGTH = 700;
const MAX_SLUG_LENGTH = 40;
const ALL_MODELS: readonly string[] = [];

/** The access_token of a device sign-in or OAuth grant. `expiresAt`: Unix milliseconds. */
export interface DeviceAccessToken {
  readonly userId: number;
  readonly authorizationId: number;
  readonly expiresAt: number;
  readonly scopes: readonly OauthScope[];
  readonly audience: Audience;
  /** The row of `tokens` that model calls are charged and logged under. */
  readonly modelTokenId: number;
  /** The organization it acts for; undefined: the account itself. */
  readonly organizationId?: number;
}

/** What an access_token must have been issued for. */
interface TokenRequirement {
  readonly audience: Audience;
  readonly scope: OauthScope;
  /** Whether `sk-` tokens are accepted as well. */
  readonly acceptsKeys: boolean;
}

/** The only rule for where an access_token is accepted; all management policies are `account` to it. */
const REQUIREMENTS: Readonly<Record<'account' | ModelPolicy, TokenRequirement>> = {
  account: { audience: 'api', scope: 'account', acceptsKeys: false },
  model: { audience: 'api', scope: 'models', acceptsKeys: true },
  mcp: { audience: 'mcp', scope: 'mcp', acceptsKeys: true },
  'claude-code': { audience: 'claude-code', scope: 'models', acceptsKeys: false },
};

/** Access to the device access_tokens, implemented by device-auth. */
export interface DeviceAccessTokens {
  find(tokenHash: string): Promise<DeviceAccessToken | undefined>;
  /** Records the time and IP of the last use. */
  recordUse(authorizationId: number, clientIp: string): void;
}

/** Dependencies of {@link RequestAuthenticator}. */
export interface RequestAuthenticatorDependencies {
  readonly accounts: AccountStore;
  readonly sessions: SessionService;
  readonly managementTokens: ManagementTokenStore;
  readonly tokens: TokenStore;
  readonly tokenUse: PeriodicWriter<true>;
  readonly oldSecretUse: PeriodicWriter<true>;
  readonly deviceTokens: DeviceAccessTokens;
  readonly memberships: Memberships;
  readonly secondFactors: Pick<SecondFactors, 'assertNotMissing'>;
  /** Limits the requests of a key, by its id; undefined: unlimited. */
  readonly keyLimit: RateLimiter | undefined;
  readonly clock: Clock;
  /** Lower-case name of the header that carries the user id. */
  readonly userHeader: string;
  /** Prefix of every link. */
  readonly baseUrl: string;
}

interface FoundCredential {
  readonly caller: AccountCaller;
  /** Status of the account. */
  readonly status: number;
  /** The organization that a device sign-in acts for. */
  readonly organizationId?: number;
}

/**
 * Resolves the credential of a request to a caller. Reads the database on every request, so that a logout, ban or
 * revocation applies to the next request on every replica.
 */
export class RequestAuthenticator implements Authenticator {
  readonly #dependencies: RequestAuthenticatorDependencies;

  constructor(dependencies: RequestAuthenticatorDependencies) {
    this.#dependencies = dependencies;
  }

  async account(
    policy: AccountPolicy,
    { headers, session, clientIp }: Credentials,
    { withoutSecondFactor = false, organization }: Pick<Endpoint, 'withoutSecondFactor' | 'organization'> = {},
  ): Promise<AccountCaller> {
    const { userHeader, deviceTokens, secondFactors } = this.#dependencies;
    // A bearer value takes precedence: if it is invalid, a valid session cookie in the same request is not used
    // instead.
    const token = headers.authorization === undefined ? session : readBearerToken(headers.authorization);
    if (token === undefined || token.length > MAX_TOKEN_LENGTH) throw new AppError('unauthorized');
    const found = await this.#findCredential(token);
    if (found === undefined || found.status !== ENABLED) throw new AppError('unauthorized');
    const { caller } = found;
    if (headers[userHeader] !== String(caller.userId))
      throw new AppError('unauthorized', {
        messageKey: 'user_header_wrong',
        params: { header: toCommonSpelling(userHeader) },
      });
    if (!withoutSecondFactor) await secondFactors.assertNotMissing(caller.userId, caller.role);
    if (caller.kind === 'device') deviceTokens.recordUse(caller.authorizationId, clientIp);
    const membership = await this.#findMembership(found, headers[ORGANIZATION_HEADER.toLowerCase()]);
    if (caller.kind === 'device' && policy !== 'account') throw new AppError('forbidden');
    if (membership !== undefined) return toMember(caller, membership, organization);
    if (policy === 'account' || policy === 'owner') return caller;
    if (outranks(policy, caller.role)) throw new AppError('forbidden');
    return caller;
  }

  /**
   * The membership that the request acts by; undefined: it acts for the person. A foreign organization does not exist to
   * the caller. A device sign-in belongs to one context and cannot select another one.
   */
  async #findMembership(
    { caller, organizationId }: FoundCredential,
    header: string | string[] | undefined,
  ): Promise<FoundMembership | undefined> {
    const { memberships } = this.#dependencies;
    if (organizationId !== undefined) {
      const own = await memberships.findById(organizationId, caller.userId);
      if (own === undefined) throw new AppError('unauthorized');
      if (header !== undefined && header !== own.slug) throw new AppError('organization_not_found');
      return own;
    }
    if (header === undefined) return undefined;
    const found =
      caller.kind === 'device' || typeof header !== 'string' || header.length > MAX_SLUG_LENGTH
        ? undefined
        : await memberships.find(header, caller.userId);
    if (found === undefined) throw new AppError('organization_not_found');
    return found;
  }

  async model({ headers, clientIp }: Credentials, policy: ModelPolicy = 'model'): Promise<ModelCaller> {
    const { tokenUse, oldSecretUse, keyLimit, clock } = this.#dependencies;
    const key = readModelKey(headers);
    const row = key === undefined ? undefined : await this.#findModelToken(key, policy, clientIp);
    const endsAt = Math.min(row?.expires_at ?? Infinity, row?.oldSecret?.expiresAt ?? Infinity);
    if (row === undefined || endsAt <= clock.now())
      throw new AppError('invalid_api_key', this.#challenge(policy, key !== undefined && 'invalid_token'));
    assertEnabled(row.status);
    if (row.allowed_addresses !== null && !createIpCheck(JSON.parse(row.allowed_addresses))(clientIp))
      throw new AppError('address_not_allowed', { params: { address: clientIp } });
    if (keyLimit !== undefined) assertWithinLimit(await keyLimit.consume(String(row.id)));
    tokenUse.record(row.id, true);
    if (row.oldSecret !== undefined) oldSecretUse.record(row.oldSecret.id, true);
    return toModelCaller(row);
  }

  /**
   * The caller that a key, sign-in or account is now, for work that it has ordered; addresses are not checked again.
   * @param tokenId 0: the account itself, or the member `actorId` of the organization
   * @throws AppError `invalid_api_key`, `account_disabled`, `organization_not_found` for a former member
   */
  async callerOf({ userId, actorId, tokenId }: Owner & { readonly tokenId: number }): Promise<ModelCaller> {
    const { accounts, memberships, tokens, clock } = this.#dependencies;
    if (tokenId === 0) {
      for (const id of actorId === undefined ? [userId] : [userId, actorId])
        assertEnabled((await accounts.findAccess(id))?.status);
      if (actorId !== undefined && (await memberships.findById(userId, actorId)) === undefined)
        throw new AppError('organization_not_found');
      return { kind: 'model', userId, tokenId, models: ALL_MODELS, ...defined({ actorId }) };
    }
    const row = await tokens.findActive(tokenId);
    if (row === undefined || (row.expires_at !== null && row.expires_at <= clock.now()))
      throw new AppError('invalid_api_key');
    assertEnabled(row.status);
    return toModelCaller(row);
  }

  /** The row of `tokens` behind an `sk-` token or access_token. @throws insufficient_scope */
  async #findModelToken(key: string, policy: ModelPolicy, clientIp: string): Promise<TokenRow | undefined> {
    const { tokens, deviceTokens } = this.#dependencies;
    if (!key.startsWith(CREDENTIAL_PREFIX.grant))
      return REQUIREMENTS[policy].acceptsKeys ? tokens.findByHash(hashToken(key)) : undefined;
    const grant = await this.#findAccessToken(key, policy);
    if (grant === undefined) return undefined;
    deviceTokens.recordUse(grant.authorizationId, clientIp);
    return tokens.findActive(grant.modelTokenId);
  }

  /** An unexpired access_token that was issued for the audience of the policy. @throws insufficient_scope */
  async #findAccessToken(token: string, policy: 'account' | ModelPolicy): Promise<DeviceAccessToken | undefined> {
    const { deviceTokens, clock } = this.#dependencies;
    const { audience, scope } = REQUIREMENTS[policy];
    const found = await deviceTokens.find(hashToken(token));
    if (found === undefined || found.expiresAt <= clock.now() || found.audience !== audience) return undefined;
    if (!found.scopes.includes(scope))
      throw new AppError('insufficient_scope', this.#challenge(policy, 'insufficient_scope'));
    return found;
  }

  /** Tells MCP clients where tokens for /mcp are issued (RFC 9728 section 5.1), which is how they begin to sign in. */
  #challenge(policy: 'account' | ModelPolicy, error: string | false) {
    if (policy !== 'mcp') return {};
    const { baseUrl } = this.#dependencies;
    const { audience, scope } = REQUIREMENTS[policy];
    const parameters = defined({
      resource_metadata: `${baseUrl}${RESOURCE_METADATA_PATH}${AUDIENCES[audience].path}`,
      scope,
      error: error === false ? undefined : error,
    });
    const value = Object.entries(parameters).map(([name, text]) => `${name}="${text}"`);
    return { headers: { 'www-authenticate': `Bearer ${value.join(', ')}` } };
  }

  async #findCredential(token: string): Promise<FoundCredential | undefined> {
    if (token.startsWith(CREDENTIAL_PREFIX.session)) return this.#findSession(token);
    if (token.startsWith(CREDENTIAL_PREFIX.management)) return this.#findManagementToken(hashToken(token));
    const isGrant = token.startsWith(CREDENTIAL_PREFIX.grant);
    return isGrant || token.startsWith(CREDENTIAL_PREFIX.device) ? this.#findDeviceToken(token, isGrant) : undefined;
  }

  async #findSession(token: string): Promise<FoundCredential | undefined> {
    const row = await this.#dependencies.sessions.find(token);
    if (row === undefined) return undefined;
    const { id: sessionId, user_id: userId, role, status, renewed } = row;
    return { caller: { kind: 'session', userId, role, sessionId, renewed }, status };
  }

  async #findManagementToken(tokenHash: string): Promise<FoundCredential | undefined> {
    const row = await this.#dependencies.managementTokens.findByHash(tokenHash);
    if (row === undefined) return undefined;
    return { caller: { kind: 'user-token', userId: row.user_id, role: row.role, tokenHash }, status: row.status };
  }

  async #findDeviceToken(token: string, isGrant: boolean): Promise<FoundCredential | undefined> {
    const row = await this.#findAccessToken(token, 'account');
    if (row === undefined) return undefined;
    const { userId, authorizationId, organizationId } = row;
    const access = await this.#dependencies.accounts.findAccess(userId);
    if (access === undefined) return undefined;
    return {
      caller: {
        kind: 'device',
        userId,
        role: access.role,
        authorizationId,
        ...defined({ isGrant: isGrant || undefined }),
      },
      status: access.status,
      ...defined({ organizationId }),
    };
  }
}

/** `Service-Api-User`, as documents write the name of a header. */
const toCommonSpelling = (header: string): string =>
  header.replaceAll(/(?<![a-z0-9])[a-z]/g, (letter) => letter.toUpperCase());

/** @throws account_disabled, organization_closed */
function assertEnabled(status: number | undefined): void {
  if (status === CLOSED) throw new AppError('organization_closed');
  if (status !== ENABLED) throw new AppError('account_disabled');
}

function toModelCaller(row: TokenRow): ModelCaller {
  const caller = {
    kind: 'model',
    userId: row.user_id,
    tokenId: row.id,
    models: row.models === null ? ALL_MODELS : (JSON.parse(row.models) as string[]),
    limits: toKeyLimits(row),
  } as const;
  return row.actor_id === null ? caller : { ...caller, actorId: row.actor_id };
}

/**
 * The caller as a member of an organization, if the endpoint acts for organizations and the role permits it.
 *
 * @throws account_disabled, organization_closed, invalid_request, forbidden
 */
function toMember(
  caller: AccountCaller,
  { organizationId, slug, role, status, promptsVisible }: FoundMembership,
  needed: OrganizationRole | undefined,
): AccountCaller {
  assertEnabled(status);
  if (needed === undefined)
    throw caller.kind === 'device'
      ? new AppError('forbidden')
      : invalidRequest('This endpoint concerns your own account; send it without X-Organization.', ORGANIZATION_HEADER);
  if (!includesRole(role, needed)) throw new AppError('forbidden');
  const seesPrompts = promptsVisible === 1 && includesRole(role, 'admin');
  const member = { userId: caller.userId, role, slug, seesPrompts, accountRole: caller.role };
  return { ...caller, userId: organizationId, role: 'user', member };
}

/** Undefined for a key without limits, the common case, whose requests are not counted. */
function toKeyLimits(row: TokenRow): KeyLimits | undefined {
  const {
    requests_per_minute: requests,
    tokens_per_minute: tokens,
    concurrent_calls: calls,
    concurrent_tasks: tasks,
    queued_tasks: queued,
  } = row;
  if (requests === null && tokens === null && calls === null && tasks === null && queued === null) return undefined;
  return {
    requestsPerMinute: requests ?? undefined,
    tokensPerMinute: tokens ?? undefined,
    concurrentCalls: calls ?? undefined,
    concurrentTasks: tasks ?? undefined,
    queuedTasks: queued ?? undefined,
  };
}

/** Reads a bearer token (RFC 6750 section 2.1); the scheme is case-insensitive (RFC 9110 section 11.1). */
function readBearerToken(header: string): string | undefined {
  return header.length < MAX_AUTHORIZATION_LENGTH && /^bearer /i.test(header) ? header.slice(7).trim() : undefined;
}

/** Reads `Authorization: Bearer`, else the headers used by clients of other vendors' APIs. */
function readModelKey(headers: IncomingHttpHeaders): string | undefined {
  const { authorization } = headers;
  const key =
    (authorization === undefined
      ? undefined
      : (readBearerToken(authorization) ?? readPastedKey(authorization) ?? readVolcengineKey(authorization))) ??
    headers['x-api-key'] ??
    headers['x-goog-api-key'];
  if (typeof key !== 'string') return undefined;
  const isToken = key.startsWith(CREDENTIAL_PREFIX.model) || key.startsWith(CREDENTIAL_PREFIX.grant);
  const token = isToken ? key : (readPastedKey(key) ?? readIssuer(key));
  return token === undefined || token.length > MAX_TOKEN_LENGTH ? undefined : token;
}

const { model: KEY_PREFIX, grant: GRANT_PREFIX } = CREDENTIAL_PREFIX;
const PASTED_KEY = new RegExp(
  `^(?:bearer(?:\\s+|\\s*:\\s*))*(["'\`]?)((?:${KEY_PREFIX}|${GRANT_PREFIX})[\\w-]+)\\1$`,
  'i',
);

/** The key in a field that was meant for the key alone, or for the whole header: with the scheme, or in quotes. */
const readPastedKey = (value: string): string | undefined =>
  value.length < MAX_AUTHORIZATION_LENGTH ? PASTED_KEY.exec(value)?.[2] : undefined;

/**
 * Clients of Volcengine's APIs sign with a key pair and send the access key in clear. The access key is the caller's
 * key; the signature proves nothing more and is not checked.
 */
const readVolcengineKey = (header: string): string | undefined =>
  header.length < MAX_AUTHORIZATION_LENGTH ? /^HMAC-SHA256 Credential=([^/,\s]+)\//.exec(header)?.[1] : undefined;

/** Clients that sign a JWT with a key pair put the access key into `iss`, which is the caller's key, as above. */
function readIssuer(token: string): string | undefined {
  const payload = /^eyJ[\w-]+\.([\w-]+)\.[\w-]+$/.exec(token)?.[1];
  const claims = payload === undefined ? undefined : tryParse(Buffer.from(payload, 'base64url'));
  const iss = isObject(claims) ? claims.iss : undefined;
  return typeof iss === 'string' && iss.startsWith(CREDENTIAL_PREFIX.model) ? iss : undefined;
}
