import { toVerificationLinks } from '../../contract/device-pages.ts';
import { LOCALES } from '../../contract/messages/format-message.ts';
import type { Audience } from '../../contract/oauth.ts';
import * as endpoints from '../../contract/oauth.ts';
import { defined } from '../../contract/objects.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import { type RequestContext, type RouteRegistry, toRequestOrigin } from '../platform/http/route-registry.ts';
import type { ClientCredentials } from './clients.ts';
import { CODE_AUDIENCES, findAudience } from './grants.ts';
import type { DeviceAuth } from './module.ts';
import type { CodeExchange, OnPendingPoll, TokenPair } from './tokens.ts';

interface ClientFields {
  readonly client_id?: string;
  readonly client_secret?: string;
}

interface ExchangeFields {
  readonly code?: string;
  readonly redirect_uri?: string;
  readonly code_verifier?: string;
  readonly resource?: string;
}

/** Dependencies of the OAuth endpoints. */
export interface OauthRouteDependencies {
  readonly deviceAuth: Pick<DeviceAuth, 'codes' | 'deviceTokens'>;
  /** Issuer, and prefix of every link. */
  readonly baseUrl: string;
  readonly site: Live<Pick<SiteSettings, 'siteName' | 'oauthClientMetadata'>>;
}

const RESOURCE_METADATA = { api: endpoints.apiMetadata, mcp: endpoints.mcpMetadata } as const;

/**
 * Registers the endpoints of RFC 8628, 8414 and 7009, for any OAuth client library. They share records with the JSON
 * endpoints.
 */
export function addOauthRoutes(routes: RouteRegistry, { deviceAuth, baseUrl, site }: OauthRouteDependencies): void {
  const { codes, deviceTokens } = deviceAuth;
  const metadata = async () => toMetadata(baseUrl, site.current().oauthClientMetadata);
  routes.add(endpoints.oauthMetadata, metadata);
  routes.add(endpoints.openidConfiguration, metadata);
  for (const audience of CODE_AUDIENCES)
    routes.add(RESOURCE_METADATA[audience], async () => toResourceMetadata(audience, baseUrl, site.current().siteName));

  routes.add(endpoints.oauthDeviceAuthorization, async ({ body, request }) => {
    // No secret is required to request a code, as on the JSON endpoint.
    const clientId = readClientId(body, request);
    if (clientId === undefined) throw missingParameter('client_id');
    const issued = await codes.issue({
      clientId,
      clientName: body.client_name ?? '',
      deviceId: body.device_id ?? '',
      userAgent: request.headers['user-agent'] ?? '',
      address: request.clientIp,
    });
    return {
      device_code: issued.deviceCode,
      user_code: issued.userCode,
      ...toVerificationLinks(baseUrl, issued.userCode),
      expires_in: issued.expiresInSeconds,
      interval: issued.intervalSeconds,
    };
  });

  const onPending: OnPendingPoll = (code, now) => codes.pacePoll(code, now);

  routes.add(endpoints.oauthToken, async ({ body, request }) => {
    const origin = toRequestOrigin(request);
    if (body.grant_type === undefined) throw missingParameter('grant_type');
    if (body.grant_type === endpoints.DEVICE_GRANT) {
      if (body.device_code === undefined) throw missingParameter('device_code');
      const credentials = readClientCredentials(body, request);
      const tokens = await deviceTokens.exchangeCode(body.device_code, credentials, origin, onPending);
      const { llmToken, userId, username, displayName } = tokens;
      const account = { user_id: userId, username, display_name: displayName };
      return { ...toTokenResponse(tokens), ...defined({ llm_token: llmToken }), ...account };
    }
    if (body.grant_type === 'authorization_code') {
      const exchange = readExchange(body, baseUrl);
      const credentials = readClientCredentials(body, request);
      const tokens = await deviceTokens.exchangeAuthorizationCode(exchange, credentials, origin);
      // The management API needs the id; other applications learn nothing about the account.
      const account = tokens.scope.split(' ').includes('account') ? tokens : undefined;
      return {
        ...toTokenResponse(tokens),
        ...defined({
          user_id: account?.userId,
          username: account?.username,
          display_name: account?.displayName,
        }),
      };
    }
    if (body.grant_type === 'refresh_token') {
      if (body.refresh_token === undefined) throw missingParameter('refresh_token');
      const credentials = readClientCredentials(body, request);
      const asked = defined({ scope: body.scope, audience: readAudience(body.resource, baseUrl) });
      return toTokenResponse(await deviceTokens.refresh(body.refresh_token, credentials, origin, asked));
    }
    throw new AppError('unsupported_grant_type');
  });

  routes.add(endpoints.oauthRevoke, async ({ body, request }) => {
    if (body.token === undefined) throw missingParameter('token');
    await deviceTokens.revokeToken(body.token, readClientCredentials(body, request), toRequestOrigin(request));
    return {};
  });
}

/** `none`: public clients, which authenticate by PKCE alone. */
const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const;

const toMetadata = (baseUrl: string, acceptsMetadata: boolean) => ({
  issuer: baseUrl,
  authorization_endpoint: `${baseUrl}${endpoints.oauthAuthorize.path}`,
  device_authorization_endpoint: `${baseUrl}${endpoints.oauthDeviceAuthorization.path}`,
  token_endpoint: `${baseUrl}${endpoints.oauthToken.path}`,
  revocation_endpoint: `${baseUrl}${endpoints.oauthRevoke.path}`,
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', endpoints.DEVICE_GRANT, 'refresh_token'],
  scopes_supported: [...endpoints.OAUTH_SCOPES],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: acceptsMetadata,
  token_endpoint_auth_methods_supported: [...AUTH_METHODS],
  revocation_endpoint_auth_methods_supported: [...AUTH_METHODS],
  service_documentation: `${baseUrl}/docs`,
  ui_locales_supported: [...LOCALES],
});

const toResourceMetadata = (audience: Audience, baseUrl: string, siteName: string) => ({
  resource: `${baseUrl}${endpoints.AUDIENCES[audience].path}`,
  authorization_servers: [baseUrl],
  scopes_supported: [...endpoints.AUDIENCES[audience].scopes],
  bearer_methods_supported: ['header'],
  resource_name: siteName,
  resource_documentation: `${baseUrl}/docs`,
});

/** The resource that tokens are requested for (RFC 8707 section 2.2). @throws invalid_target */
function readAudience(resource: string | undefined, baseUrl: string): Audience | undefined {
  const audience = resource === undefined ? undefined : findAudience(resource, baseUrl);
  if (resource !== undefined && audience === undefined) throw new AppError('invalid_target');
  return audience;
}

/** @throws invalid_request, invalid_target */
function readExchange(
  { code, redirect_uri: redirectUri, code_verifier: verifier, resource }: ExchangeFields,
  baseUrl: string,
): CodeExchange {
  if (code === undefined) throw missingParameter('code');
  if (redirectUri === undefined) throw missingParameter('redirect_uri');
  if (verifier === undefined) throw missingParameter('code_verifier');
  return { code, redirectUri, verifier, audience: readAudience(resource, baseUrl) };
}

const missingParameter = (name: string): AppError => invalidRequest(`${name} is required`, name);

const toTokenResponse = (pair: TokenPair) => ({
  access_token: pair.accessToken,
  token_type: 'Bearer' as const,
  expires_in: pair.expiresInSeconds,
  refresh_token: pair.refreshToken,
  scope: pair.scope,
});

/**
 * Reads id and secret from HTTP Basic or the body; an empty secret is none, as public clients may send it.
 *
 * @throws invalid_request if both are present, invalid_client if neither is
 */
function readClientCredentials(body: ClientFields, request: RequestContext): ClientCredentials {
  const basic = parseBasicAuthorization(request.headers.authorization);
  if (basic === undefined) {
    const { client_id: clientId, client_secret: clientSecret } = body;
    if (clientId === undefined) throw new AppError('invalid_client');
    return { clientId, clientSecret: clientSecret === '' ? undefined : clientSecret };
  }
  if (body.client_secret !== undefined) throw invalidRequest('Authenticate in one way only', 'client_secret');
  if (body.client_id !== undefined && body.client_id !== basic.clientId) throw new AppError('invalid_client');
  return { ...basic, clientSecret: basic.clientSecret === '' ? undefined : basic.clientSecret };
}

const readClientId = (body: ClientFields, request: RequestContext): string | undefined =>
  body.client_id ?? parseBasicAuthorization(request.headers.authorization)?.clientId;

/** Both halves are form-encoded before Base64 (RFC 6749 section 2.3.1). */
function parseBasicAuthorization(header: string | undefined): ClientCredentials | undefined {
  if (header === undefined) return undefined;
  const encoded = /^basic +([A-Za-z0-9+/=]{1,1000})\s*$/i.exec(header)?.[1];
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon === -1) throw new AppError('invalid_client');
  return { clientId: decodeFormValue(text.slice(0, colon)), clientSecret: decodeFormValue(text.slice(colon + 1)) };
}

/** Decodes one form-encoded value. */
const decodeFormValue = (text: string): string =>
  new URLSearchParams(`v=${text.replaceAll('&', '%26')}`).get('v') ?? '';
