import { createHash } from 'node:crypto';
import type { SpendLimit } from '../../contract/amounts.ts';
import type { ErrorCode } from '../../contract/error-codes.ts';
import { AUDIENCES, type Audience, OAUTH_SCOPES, type OauthScope } from '../../contract/oauth.ts';
import { defined } from '../../contract/objects.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { Memberships } from '../accounts/memberships.ts';
import type { SecondStepProof } from '../accounts/second-factors.ts';
import type { CredentialRecheck } from '../accounts/sessions.ts';
import type { Notifier } from '../notifications/notifier.ts';
import { AppError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { RequestOrigin } from '../platform/http/route-registry.ts';
import { hashToken, randomText } from '../platform/tokens.ts';
import type { Tables } from '../tables.ts';
import { type DeviceClient, isRegisteredUri } from './clients.ts';
import { type DeviceCodeStore, ENDED_CODE_RETENTION_MS } from './code-store.ts';
import {
  type ApprovalSecondStepCheck,
  type Approver,
  type GrantTerms,
  lockOrganization,
  newGrantNotice,
  toAccessEnd,
  toRefreshEnd,
  toSingleLine,
  USER_AGENT_LENGTH,
} from './codes.ts';
import type { DeviceRateLimits } from './rate-limits.ts';

/** Lifetime of an authorization code, which its client exchanges at once (RFC 9700 section 2.1.1). */
const CODE_SECONDS = 60;
const CODE_LENGTH = 43;

/** Limits a person sets for a grant. */
export interface GrantLimits {
  /** Unix milliseconds. */
  readonly endsAt: number | null;
  readonly spendLimit: SpendLimit | null;
}

/** Origin of an approval, with the person's browser. */
interface BrowserOrigin extends RequestOrigin {
  readonly userAgent: string;
}

interface GrantServiceDependencies {
  readonly database: Database<Tables>;
  readonly codeStore: DeviceCodeStore;
  readonly clock: Clock;
  readonly access: AccountAccess;
  readonly credentials: CredentialRecheck;
  readonly memberships: Pick<Memberships, 'find' | 'lock'>;
  readonly approvalCheck: ApprovalSecondStepCheck;
  readonly rateLimits: DeviceRateLimits;
  readonly auditLog: AuditLog;
  readonly notifier: Notifier;
}

/** A person's decisions about authorization requests. */
export class GrantService {
  readonly #dependencies: GrantServiceDependencies;

  constructor(dependencies: GrantServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Approves a request.
   *
   * @param proof required if the login is too old
   * @returns the authorization code, which is stored as a hash
   * @throws unauthorized, second_step_required, wrong_code, rate_limit_exceeded
   */
  async approve(
    { client, redirectUri, terms, codeChallenge }: ValidRequest,
    approver: Approver,
    { endsAt, spendLimit }: GrantLimits,
    { userAgent, ...origin }: BrowserOrigin,
    proof: SecondStepProof,
  ): Promise<string> {
    const { database, codeStore, clock, access, credentials, memberships, rateLimits, auditLog, notifier } =
      this.#dependencies;
    const { userId } = approver.caller;
    await this.#dependencies.approvalCheck.assertSecondStep(origin, approver, origin.address, proof);
    await rateLimits.consumeGrant(userId);
    const code = randomText(CODE_LENGTH);
    const now = clock.now();
    const limits = { scopes: terms.scopes.join(' '), grant_ends_at: endsAt };
    await database.transaction(async (trx) => {
      // Locked until the commit, as for a device: a concurrent ban sees this grant or prevents it.
      if ((await access.lockEnabled(trx, userId)) === undefined) throw new AppError('unauthorized');
      await credentials.assertLive(trx, approver.caller);
      const organizationId = await lockOrganization(trx, memberships, approver.organization, userId);
      const id = await codeStore.insertApproved(trx, {
        organization_id: organizationId,
        device_code_hash: hashAuthorizationCode(code),
        // Not a code that can be typed.
        user_code: `grant ${randomText(24)}`,
        client_id: client.id,
        client_name: client.publisher === undefined ? '' : client.name,
        device_id: '',
        address: origin.address,
        network: toIpLimitKey(origin.address),
        user_agent: toSingleLine(userAgent, USER_AGENT_LENGTH),
        claimed_by: userId,
        user_id: userId,
        created_at: now,
        expires_at: now + CODE_SECONDS * 1000,
        decided_at: now,
        access_expires_at: toAccessEnd(now, limits),
        refresh_expires_at: toRefreshEnd(now, limits),
        interval_seconds: 0,
        sweep_at: now + ENDED_CODE_RETENTION_MS,
        ...limits,
        audience: terms.audience,
        redirect_uri: redirectUri,
        code_challenge: codeChallenge,
        spend_amount: spendLimit?.amount ?? null,
        spend_period: spendLimit?.period ?? null,
      });
      await notifier.notify(trx, newGrantNotice({ id, userId, name: client.name, address: origin.address }));
      const after = {
        client: client.id,
        redirect_uri: redirectUri,
        ...terms,
        ends_at: endsAt,
        spend_limit: spendLimit,
        organization: organizationId ?? undefined,
      };
      await auditLog.record(trx, {
        actorId: userId,
        ownerId: organizationId ?? userId,
        action: 'grant.approve',
        target: `device:${id}`,
        after,
        ...origin,
      });
    });
    return code;
  }

  /** Records that a person refused a request. */
  async deny(
    { client, terms }: ValidRequest,
    userId: number,
    { userAgent: _, ...origin }: BrowserOrigin,
  ): Promise<void> {
    const { database, auditLog } = this.#dependencies;
    const after = { scopes: terms.scopes };
    const entry = { actorId: userId, target: `device-client:${client.id}`, after, ...origin };
    await database.transaction((trx) => auditLog.record(trx, { ...entry, action: 'grant.deny' }));
  }
}

/**
 * The stored form of an authorization code: different from that of a device_code, so that neither can be collected as
 * the other, not even by an earlier release.
 */
export const hashAuthorizationCode = (code: string): string => hashToken(`authorization code ${code}`);

/** Whether a verifier belongs to a challenge (RFC 7636 section 4.6). */
export const matchesChallenge = (verifier: string, challenge: string | null): boolean =>
  createHash('sha256').update(verifier).digest('base64url') === challenge;

/** An authorization request whose client may redirect to its URI (RFC 6749 section 4.1.1). */
export interface AuthorizationRequest {
  readonly client: DeviceClient;
  readonly redirectUri: string;
  readonly state: string | undefined;
}

/** A request that the person may approve. */
export interface ValidRequest extends AuthorizationRequest {
  readonly terms: GrantTerms;
  /** S256 challenge of PKCE (RFC 7636). */
  readonly codeChallenge: string;
}

/** Resources that the authorization endpoint issues tokens for. */
export const CODE_AUDIENCES = ['api', 'mcp'] as const satisfies readonly Audience[];

/** SHA-256 in Base64url without padding. */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/** The resource of a URI, with or without a final slash. */
export const findAudience = (resource: string, baseUrl: string): Audience | undefined =>
  CODE_AUDIENCES.find((name) => `${baseUrl}${AUDIENCES[name].path}` === resource.replace(/\/$/, ''));

/** Value of a parameter; undefined unless it occurs exactly once. */
const single = (parameters: URLSearchParams, name: string): string | undefined => {
  const values = parameters.getAll(name);
  return values.length === 1 ? values[0] : undefined;
};

/**
 * Reads the client and its redirect URI, without which no error may be reported by a redirect.
 *
 * @throws client_unknown, redirect_uri_invalid
 */
export async function readTarget(
  parameters: URLSearchParams,
  findClient: (id: string) => Promise<DeviceClient | undefined>,
): Promise<AuthorizationRequest> {
  const client = await findClient(single(parameters, 'client_id') ?? '');
  if (client === undefined) throw new AppError('client_unknown');
  const redirectUri = single(parameters, 'redirect_uri');
  if (redirectUri === undefined || !isRegisteredUri(client.redirectUris, redirectUri))
    throw new AppError('redirect_uri_invalid');
  return { client, redirectUri, state: single(parameters, 'state') };
}

/** Parameters that must not be repeated (RFC 6749 section 3.1). */
const SINGLE_PARAMETERS = [
  'response_type',
  'response_mode',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'prompt',
];

/**
 * Reads what the client requests.
 *
 * @throws invalid_request, unsupported_response_type, invalid_scope, invalid_target, interaction_required
 */
export function readRequest(target: AuthorizationRequest, parameters: URLSearchParams, baseUrl: string): ValidRequest {
  const refuse = (code: ErrorCode, message: string) => new AppError(code, { message });
  for (const name of SINGLE_PARAMETERS)
    if (parameters.getAll(name).length > 1) throw refuse('invalid_request', `${name} is repeated`);
  const responseType = parameters.get('response_type');
  if (responseType === null) throw refuse('invalid_request', 'response_type is required');
  if (responseType !== 'code') throw new AppError('unsupported_response_type');
  if ((parameters.get('response_mode') ?? 'query') !== 'query')
    throw refuse('invalid_request', 'response_mode must be query');
  for (const name of ['request', 'request_uri'])
    if (parameters.has(name)) throw refuse('invalid_request', `${name} is not supported`);
  const codeChallenge = parameters.get('code_challenge') ?? '';
  if (!CHALLENGE.test(codeChallenge)) throw refuse('invalid_request', 'code_challenge of S256 is required');
  // Without a method the challenge would be the verifier itself (RFC 7636 section 4.3).
  if (parameters.get('code_challenge_method') !== 'S256')
    throw refuse('invalid_request', 'code_challenge_method must be S256');
  const terms = readTerms(target.client, parameters, baseUrl);
  // A person has to choose limits, so a code is never issued silently.
  if (parameters.get('prompt') === 'none') throw new AppError('interaction_required');
  return { ...target, terms, codeChallenge };
}

function readTerms({ scopes: own }: DeviceClient, parameters: URLSearchParams, baseUrl: string): GrantTerms {
  const resources = parameters.getAll('resource');
  const requested = (parameters.get('scope') ?? '').split(' ').filter(Boolean);
  const found = resources.map((resource) => findAudience(resource, baseUrl));
  const audience = found.length === 0 ? 'api' : found[0];
  // One access_token serves one resource.
  if (audience === undefined || found.some((each) => each !== audience)) throw new AppError('invalid_target');
  const offered: readonly OauthScope[] = AUDIENCES[audience].scopes;
  const permitted = offered.filter((scope) => own === undefined || own.includes(scope));
  if (requested.length === 0) return { audience, scopes: toDefaultScopes(permitted, own) };
  if (requested.some((scope) => !(OAUTH_SCOPES as readonly string[]).includes(scope)))
    throw new AppError('invalid_scope');
  if (resources.length === 0 && requested.includes('mcp')) throw new AppError('invalid_target');
  const scopes = permitted.filter((scope) => requested.includes(scope));
  if (scopes.length !== new Set(requested).size) throw new AppError('invalid_scope');
  return { audience, scopes };
}

/** Without `scope`: what the client is registered for, otherwise everything but the account, which it must name. */
function toDefaultScopes(permitted: readonly OauthScope[], own: DeviceClient['scopes']): readonly OauthScope[] {
  const scopes = own === undefined ? permitted.filter((scope) => scope !== 'account') : permitted;
  if (scopes.length === 0) throw new AppError('invalid_scope');
  return scopes;
}

/** Where to send the browser with the response; `issuer` lets the client detect a mix-up of servers (RFC 9207). */
export function toRedirect(
  { redirectUri, state }: AuthorizationRequest,
  issuer: string,
  response: { readonly code: string } | { readonly error: string; readonly error_description?: string },
): string {
  const parameters = new URLSearchParams({ ...response, ...defined({ state }), iss: issuer });
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${parameters}`;
}

/** The error code of RFC 6749 section 4.1.2.1 for a request that cannot be approved; undefined: not for the client. */
export const toRedirectError = (code: ErrorCode): string | undefined =>
  (REDIRECT_ERRORS as readonly ErrorCode[]).find((each) => each === code);

const REDIRECT_ERRORS = [
  'invalid_request',
  'unsupported_response_type',
  'invalid_scope',
  'invalid_target',
  'interaction_required',
  'access_denied',
] as const satisfies readonly ErrorCode[];
