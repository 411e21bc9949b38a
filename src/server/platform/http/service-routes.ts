import { hash } from 'node:crypto';
import type { Server } from 'node:http';
import type { FastifyReply } from 'fastify';
import * as files from '../../../contract/design-files.ts';
import { ok } from '../../../contract/responses.ts';
import * as healthEndpoints from '../../../contract/service.ts';
import { type NotReadyReason, passkeyStateOf } from '../../../contract/service.ts';
import { type AccentName, logoSvg } from '../../../design/accent-colors.ts';
import { PAGES_CSS, toTokensCss } from '../../../design/site-css.ts';
import { AppError } from '../app-error.ts';
import type { Config, Live, SiteSettings } from '../config.ts';
import type { Metrics } from '../metrics.ts';
import { isSameSecret } from '../tokens.ts';
import { createServer } from './body.ts';
import type { RouteRegistry } from './route-registry.ts';

/** Dependencies of the health checks, status and metrics endpoints. */
export interface HealthRouteDependencies {
  readonly config: Config;
  readonly settings: Live<SiteSettings>;
  readonly version: string;
  readonly metrics: Metrics;
  /** Why this process is not ready; undefined when it is. Resolves within two seconds. */
  notReadyReason(): Promise<NotReadyReason | undefined>;
}

/** Health checks for load balancers, the status that clients read before they log in, and metrics. */
export function addServiceRoutes(
  routes: RouteRegistry,
  { config, settings, version, metrics, notReadyReason }: HealthRouteDependencies,
): void {
  routes.add(healthEndpoints.getStatus, async () =>
    ok({
      ...readPublicServiceSettings(config, settings.current(), version),
      ready: (await notReadyReason()) === undefined,
    }),
  );
  routes.add(healthEndpoints.livez, async ({ reply }) => reply.type('text/plain').send('ok\n'));
  routes.add(healthEndpoints.readyz, async ({ reply }) => {
    const reason = await notReadyReason();
    if (reason === undefined) return { ready: true };
    reply.status(503);
    return { ready: false, reason };
  });
  routes.add(healthEndpoints.metricsPage, async ({ request, reply }) => {
    if (config.metricsToken === undefined) throw new AppError('not_found');
    if (!hasToken(request.headers.authorization, config.metricsToken)) throw new AppError('unauthorized');
    const { contentType, body } = await metrics.render();
    return reply.type(contentType).send(body);
  });
}

const hasToken = (authorization: string | undefined, token: string): boolean =>
  isSameSecret(authorization ?? '', `Bearer ${token}`);

/** Serves /metrics on a separate port, for isolated networks. If a token is set, this port requires it too. */
export async function startMetricsServer(
  { host, metricsToken }: Pick<Config, 'host' | 'metricsToken'>,
  port: number,
  metrics: Metrics,
): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    if (metricsToken !== undefined && !hasToken(request.headers.authorization, metricsToken)) {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      return;
    }
    metrics.render().then(
      ({ contentType, body }) => response.writeHead(200, { 'content-type': contentType }).end(body),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return server;
}

/**
 * The public facts about the service, available before sign-in: `GET /api/status` returns them, and the console's page
 * embeds them.
 */
export const readPublicServiceSettings = (config: Config, site: SiteSettings, version: string) => ({
  version,
  sandbox: config.sandbox,
  site_name: site.siteName,
  sign_in_notice: site.signInNotice ?? '',
  status_page: site.statusPage,
  prompt_model: site.promptModel ?? '',
  default_video_model: site.defaultVideoModel ?? '',
  registration: site.passwordSignIn ? site.registration : ('closed' as const),
  password_sign_in: site.passwordSignIn,
  identity_providers: site.oidcProviders.map(({ id, title }) => ({ id, title })),
  quota_per_unit: config.quotaPerUnit,
  currency: site.currency ?? '',
  api_user_header: config.apiUserHeader,
  server_address: config.baseUrl,
  phone_codes: site.phoneHttpUrl !== undefined ? ('sms' as const) : ('log' as const),
  mail: config.smtpUrl !== undefined,
  passkeys: passkeyStateOf(config.baseUrl),
  messaging_binding: site.messagingVerifyUrl !== undefined,
});

/** The design files of all pages. Browsers revalidate them on each use, so a new colour applies immediately. */
export function addDesignRoutes(routes: RouteRegistry, site: Live<SiteDesign>): void {
  const add = (endpoint: DesignFile, type: string, render: (accent: AccentName) => string): void =>
    routes.add(endpoint, async ({ reply, request }) =>
      sendFile(reply, request.headers['if-none-match'], type, render(site.current().siteAccent)),
    );
  add(files.tokensCssFile, 'text/css; charset=utf-8', toTokensCss);
  add(files.pagesCssFile, 'text/css; charset=utf-8', (name) => `${toTokensCss(name)}\n${PAGES_CSS}`);
  routes.add(files.logoFile, async ({ reply, request }) => {
    const { siteLogo, siteAccent } = site.current();
    const [, type = 'image/svg+xml', data] = LOGO_URL.exec(siteLogo ?? '') ?? [];
    const body = data === undefined ? logoSvg(siteAccent) : Buffer.from(data, 'base64');
    return sendFile(reply, request.headers['if-none-match'], type, body);
  });
}

/** The appearance of the pages. */
export interface SiteDesign {
  readonly siteAccent: AccentName;
  /** A data URL; undefined: the default logo. */
  readonly siteLogo: string | undefined;
}

const LOGO_URL = /^data:(image\/(?:png|webp|jpeg));base64,(.+)$/;

type DesignFile = (typeof files)[keyof typeof files];

function sendFile(reply: FastifyReply, known: string | undefined, type: string, body: string | Buffer): FastifyReply {
  // Weak, because the same file may be sent compressed (RFC 9110 section 8.8.1).
  const etag = `W/"${hash('sha256', body, 'base64url')}"`;
  reply.headers({ etag, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
  return known === etag ? reply.status(304).send() : reply.type(type).send(body);
}
