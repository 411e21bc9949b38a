import type { FastifyInstance } from 'fastify';
import * as endpoints from '../../contract/claude-code.ts';
import { toDeviceAuthorization } from '../../contract/device-pages.ts';
import { defined } from '../../contract/objects.ts';
import { done, list, ok, toPage } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { EmailConfirmationService } from '../accounts/email.ts';
import type { DeviceAuth } from '../device-auth/module.ts';
import type { TokenPair } from '../device-auth/tokens.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { Live } from '../platform/config.ts';
import { type RouteRegistry, toActor, toRequestOrigin } from '../platform/http/route-registry.ts';
import type { ClaudeCodeUsage, ManagedSettings } from './managed-settings.ts';

const { CLAUDE_CODE_CLIENT: CLIENT, CLAUDE_CODE_PATH: PATH } = endpoints;
/** The program of a developer's computer has no secret. */
const CREDENTIALS = { clientId: CLIENT.id, clientSecret: undefined };
const TERMS = { scopes: ['models'], audience: 'claude-code' } as const;

/** Dependencies of the gateway's routes. */
export interface ClaudeCodeRouteDependencies {
  readonly deviceAuth: Pick<DeviceAuth, 'codes' | 'devices' | 'deviceTokens'>;
  readonly emails: Pick<EmailConfirmationService, 'findConfirmed'>;
  readonly managedSettings: ManagedSettings;
  readonly claudeCodeUsage: Pick<ClaudeCodeUsage, 'find'>;
  /** Prefix of every link. */
  readonly baseUrl: string;
}

/** Answers 404 below the gateway's path while `CLAUDE_CODE_SIGN_IN` is off, before any route runs. */
export function closeGatewayWhileOff(
  fastify: FastifyInstance,
  site: Live<{ readonly claudeCodeSignIn: boolean }>,
): void {
  fastify.addHook('onRequest', async ({ routeOptions }) => {
    const isGateway = routeOptions.url?.startsWith(`${PATH}/`) === true;
    if (isGateway && !site.current().claudeCodeSignIn) throw new AppError('not_found');
  });
}

/**
 * Registers the gateway that Claude Code signs in to: the device flow for its built-in public client, and the endpoints
 * it calls with its token. Model calls are in chat/routes.ts, the list of models in video/model-routes.ts.
 */
export function addClaudeCodeRoutes(routes: RouteRegistry, dependencies: ClaudeCodeRouteDependencies): void {
  addSignInRoutes(routes, dependencies);
  addPolicyRoutes(routes, dependencies.managedSettings);
  addAdminRoutes(routes, dependencies.deviceAuth.devices);

  routes.add(endpoints.claudeCodeHello, async () => ({}));
  routes.add(endpoints.claudeCodeUsage, async ({ caller }) => {
    const usage = await dependencies.claudeCodeUsage.find(caller);
    if (usage === undefined) throw new AppError('not_found');
    return usage;
  });
  for (const line of [endpoints.claudeCodeMetrics, endpoints.claudeCodeLogs, endpoints.claudeCodeTraces])
    routes.add(line, async () => ({}));
}

function addSignInRoutes(routes: RouteRegistry, { deviceAuth, emails, baseUrl }: ClaudeCodeRouteDependencies): void {
  const { codes, deviceTokens } = deviceAuth;
  const metadata = toMetadata(baseUrl);
  routes.add(endpoints.claudeCodeMetadata, async () => metadata);

  routes.add(endpoints.claudeCodeDeviceAuthorization, async ({ request }) => {
    const issued = await codes.issue({
      clientId: CLIENT.id,
      clientName: '',
      deviceId: '',
      userAgent: request.headers['user-agent'] ?? '',
      address: request.clientIp,
      terms: TERMS,
    });
    return toDeviceAuthorization(issued, baseUrl);
  });

  routes.add(endpoints.claudeCodeToken, async ({ body, request }) => {
    const origin = toRequestOrigin(request);
    const { grant_type: grantType, device_code: deviceCode, refresh_token: refreshToken } = body;
    if (grantType === 'refresh_token') {
      if (refreshToken === undefined) throw missingParameter('refresh_token');
      return toTokenResponse(await deviceTokens.refresh(refreshToken, CREDENTIALS, origin));
    }
    if (grantType === undefined) throw missingParameter('grant_type');
    if (grantType !== endpoints.CLAUDE_CODE_GRANTS[0]) throw new AppError('unsupported_grant_type');
    if (deviceCode === undefined) throw missingParameter('device_code');
    const tokens = await deviceTokens.exchangeCode(deviceCode, CREDENTIALS, origin, (code, now) =>
      codes.pacePoll(code, now),
    );
    return { ...toTokenResponse(tokens), ...defined({ email: await emails.findConfirmed(tokens.userId) }) };
  });

  routes.add(endpoints.claudeCodeRevoke, async ({ body, request }) => {
    if (body.token === undefined) throw missingParameter('token');
    await deviceTokens.revokeToken(body.token, CREDENTIALS, toRequestOrigin(request));
    return {};
  });
}

function toMetadata(baseUrl: string) {
  const issuer = `${baseUrl}${PATH}`;
  return {
    issuer,
    device_authorization_endpoint: `${baseUrl}${endpoints.claudeCodeDeviceAuthorization.path}`,
    token_endpoint: `${baseUrl}${endpoints.claudeCodeToken.path}`,
    revocation_endpoint: `${baseUrl}${endpoints.claudeCodeRevoke.path}`,
    grant_types_supported: [...endpoints.CLAUDE_CODE_GRANTS],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    scopes_supported: [...TERMS.scopes],
    gateway_protocol_version: 1,
  };
}

const toTokenResponse = (pair: TokenPair) => ({
  access_token: pair.accessToken,
  token_type: 'Bearer' as const,
  expires_in: pair.expiresInSeconds,
  refresh_token: pair.refreshToken,
  scope: pair.scope,
});

const missingParameter = (name: string): AppError => invalidRequest(`${name} is required`, name);

function addPolicyRoutes(routes: RouteRegistry, managedSettings: ManagedSettings): void {
  routes.add(endpoints.claudeCodeSettings, async ({ request, reply }) => {
    const { value, checksum } = await managedSettings.find();
    if (value === null) throw new AppError('not_found');
    const etag = `"${checksum}"`;
    reply.header('etag', etag).header('cache-control', 'private, no-cache');
    if (isMatch(request.headers['if-none-match'], etag)) return reply.status(304).send();
    return reply
      .type('application/json; charset=utf-8')
      .send(JSON.stringify({ uuid: checksum, checksum, settings: value }));
  });

  routes.add(endpoints.getClaudeCodePolicy, async () => ok(await managedSettings.find()));
  routes.add(endpoints.updateClaudeCodePolicy, async ({ caller, body, request }) =>
    ok(await managedSettings.set(caller, toActor(caller, request), body)),
  );
}

/** RFC 9110 section 13.1.2, with `*` and weak tags. */
const isMatch = (header = '', etag: string): boolean =>
  header.split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()));

function addAdminRoutes(routes: RouteRegistry, devices: DeviceAuth['devices']): void {
  routes.add(endpoints.adminListClaudeCode, async ({ query }) => {
    const { rows, total } = await devices.listOfClient(CLIENT.id, toPage(query));
    return list(
      rows.map((row) => ({
        id: row.id,
        user_id: row.user_id,
        username: row.username ?? '',
        name: row.client_name,
        program: row.user_agent,
        created_time: toSeconds(row.created_at),
        last_used_time: toSeconds(row.last_used_at),
        last_used_address: row.last_address,
      })),
      total,
    );
  });

  routes.add(endpoints.adminEndClaudeCode, async ({ caller, params, request }) => {
    await devices.revokeOfClient(toActor(caller, request), Number(params.id), CLIENT.id);
    return done();
  });
}
