import type { Server } from 'node:http';
import type { NotReadyReason } from '../../../contract/health-and-status.ts';
import * as healthEndpoints from '../../../contract/health-and-status.ts';
import { ok } from '../../../contract/success-bodies-and-pagination.ts';
import { AppError } from '../app-error.ts';
import type { Config } from '../config.ts';
import { isSameSecret } from '../generate-and-hash-tokens.ts';
import type { Metrics } from '../metrics.ts';
import { createServer } from './load-node-http.ts';
import { readPublicServiceSettings } from './public-service-settings.ts';
import type { RouteRegistry } from './route-registry.ts';

export interface HealthRouteDependencies {
  readonly config: Config;
  readonly version: string;
  readonly metrics: Metrics;
  /** Resolves with the reason why this process is not ready, undefined when it is; within two seconds. */
  notReadyReason(): Promise<NotReadyReason | undefined>;
}

/** Health checks for load balancers, and the status that clients read before they log in. */
export function addHealthStatusAndMetricsRoutes(
  routes: RouteRegistry,
  { config, version, metrics, notReadyReason }: HealthRouteDependencies,
): void {
  routes.add(healthEndpoints.getStatus, async () =>
    ok({
      ...readPublicServiceSettings(config, version),
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

/** /metrics on a port of its own, for networks that keep it apart. Where a token is set, this port asks for it too. */
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
