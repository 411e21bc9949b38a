import type { ErrorCode } from '../../contract/error-codes.ts';
import { AUDIENCES, type Audience, OAUTH_SCOPES, type OauthScope } from '../../contract/oauth.ts';
import { defined } from '../../contract/objects.ts';
import { AppError } from '../platform/app-error.ts';
import { type DeviceClient, isRegisteredUri } from './clients.ts';
import type { GrantTerms } from './codes.ts';

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
