import { LOCALES } from '../../contract/messages/messages.ts';
import * as lines from '../../contract/oauth.ts';
import { AppError, invalid } from '../platform/errors.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { DeviceAuth } from './device-auth.ts';
import type { ClientCredentials } from './devices.ts';
import { originOf, toVerificationLinks } from './json-routes.ts';

interface ClientFields {
  readonly client_id?: string;
  readonly client_secret?: string;
}

/** The standard face: RFC 8628, 8414 and 7009 over the records of the JSON face, for any OAuth client library. */
export function addOauthRoutes(
  routes: Routes,
  {
    deviceAuth,
    baseUrl,
  }: { readonly deviceAuth: Pick<DeviceAuth, 'codes' | 'devices' | 'paceByStandard'>; readonly baseUrl: string },
): void {
  const { codes, devices, paceByStandard } = deviceAuth;

  routes.add(lines.oauthMetadata, async () => ({
    issuer: baseUrl,
    device_authorization_endpoint: `${baseUrl}${lines.oauthDeviceAuthorization.path}`,
    token_endpoint: `${baseUrl}${lines.oauthToken.path}`,
    revocation_endpoint: `${baseUrl}${lines.oauthRevoke.path}`,
    response_types_supported: [],
    grant_types_supported: [lines.DEVICE_GRANT, 'refresh_token'],
    scopes_supported: lines.DEVICE_SCOPE.split(' '),
    token_endpoint_auth_methods_supported: [...AUTH_METHODS],
    revocation_endpoint_auth_methods_supported: [...AUTH_METHODS],
    service_documentation: `${baseUrl}/docs`,
    ui_locales_supported: [...LOCALES],
  }));

  routes.add(lines.oauthDeviceAuthorization, async ({ body, request }) => {
    // Anybody can begin: the secret is not asked for here, as on the JSON face.
    const clientId = readClientId(body, request);
    if (clientId === undefined) throw missing('client_id');
    const issued = await codes.issue({
      clientId,
      clientName: body.client_name ?? '',
      deviceId: body.device_id ?? '',
      userAgent: request.headers['user-agent'] ?? '',
      address: request.address,
    });
    return {
      device_code: issued.deviceCode,
      user_code: issued.userCode,
      ...toVerificationLinks(baseUrl, issued.userCode),
      expires_in: issued.expiresInSeconds,
      interval: issued.intervalSeconds,
    };
  });

  routes.add(lines.oauthToken, async ({ body, request }) => {
    if (body.grant_type === undefined) throw missing('grant_type');
    if (body.grant_type === lines.DEVICE_GRANT) {
      if (body.device_code === undefined) throw missing('device_code');
      const credentials = readClient(body, request);
      const tokens = await devices.collect(body.device_code, credentials, originOf(request), paceByStandard);
      const { llmToken, userId, username, displayName } = tokens;
      return { ...toPair(tokens), llm_token: llmToken, user_id: userId, username, display_name: displayName };
    }
    if (body.grant_type === 'refresh_token') {
      if (body.refresh_token === undefined) throw missing('refresh_token');
      return toPair(await devices.refresh(body.refresh_token, readClient(body, request), originOf(request)));
    }
    throw new AppError('unsupported_grant_type');
  });

  routes.add(lines.oauthRevoke, async ({ body, request }) => {
    if (body.token === undefined) throw missing('token');
    await devices.revoke(body.token, readClient(body, request), originOf(request));
    return {};
  });
}

const AUTH_METHODS = ['client_secret_basic', 'client_secret_post'] as const;

const missing = (name: string): AppError => invalid(`${name} is required`, name);

const toPair = (pair: {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresInSeconds: number;
}) => ({
  access_token: pair.accessToken,
  token_type: 'Bearer' as const,
  expires_in: pair.expiresInSeconds,
  refresh_token: pair.refreshToken,
  scope: lines.DEVICE_SCOPE,
});

/** Id and secret from HTTP Basic or from the body. @throws invalid_request when both are there, invalid_client when none is */
function readClient(body: ClientFields, request: RequestContext): ClientCredentials {
  const basic = readBasic(request.headers.authorization);
  if (basic === undefined) {
    const { client_id: clientId, client_secret: clientSecret } = body;
    if (clientId === undefined || clientSecret === undefined) throw new AppError('invalid_client');
    return { clientId, clientSecret };
  }
  if (body.client_secret !== undefined) throw invalid('Authenticate in one way only', 'client_secret');
  if (body.client_id !== undefined && body.client_id !== basic.clientId) throw new AppError('invalid_client');
  return basic;
}

const readClientId = (body: ClientFields, request: RequestContext): string | undefined =>
  body.client_id ?? readBasic(request.headers.authorization)?.clientId;

/** RFC 6749 section 2.3.1: both halves are form-encoded before Base64. */
function readBasic(header: string | undefined): ClientCredentials | undefined {
  if (header === undefined) return undefined;
  const encoded = /^basic +([A-Za-z0-9+/=]{1,1000})\s*$/i.exec(header)?.[1];
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon === -1) throw new AppError('invalid_client');
  const [clientId, clientSecret] = [text.slice(0, colon), text.slice(colon + 1)].map(fromForm);
  if (clientId === undefined || clientSecret === undefined) throw new AppError('invalid_client');
  return { clientId, clientSecret };
}

/** One form-encoded value, by the parser of forms. */
const fromForm = (text: string): string | undefined =>
  new URLSearchParams(`v=${text.replaceAll('&', '%26')}`).get('v') ?? undefined;
