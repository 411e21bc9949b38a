import type { Server } from 'node:http';
import { ok } from '../../../contract/schemas.ts';
import * as lines from '../../../contract/service.ts';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import { isSameSecret } from '../secrets.ts';
import { createServer } from './node-http.ts';
import type { Routes } from './routes.ts';

export interface ServiceRouteParts {
  readonly config: Config;
  readonly version: string;
  readonly metrics: Metrics;
  /** Resolves when the service can work: the database answers and nothing is being stopped. */
  ready(): Promise<boolean>;
}

/** Life signs for load balancers, and what clients ask before they know anybody. */
export function addServiceRoutes(routes: Routes, { config, version, metrics, ready }: ServiceRouteParts): void {
  routes.add(lines.getStatus, async () =>
    ok({
      version,
      ready: await ready(),
      sandbox: config.sandbox,
      registration: config.registration,
      quota_per_unit: config.quotaPerUnit,
      api_user_header: config.apiUserHeader,
      server_address: config.baseUrl,
    }),
  );
  routes.add(lines.livez, async ({ reply }) => reply.type('text/plain').send('ok\n'));
  routes.add(lines.readyz, async ({ reply }) => {
    const isReady = await ready();
    return reply
      .status(isReady ? 200 : 503)
      .type('text/plain')
      .send(isReady ? 'ready\n' : 'not ready\n');
  });
  routes.add(lines.metricsPage, async ({ request, reply }) => {
    if (config.metricsToken === undefined) throw new AppError('not_found');
    if (!isSameSecret(request.headers.authorization ?? '', `Bearer ${config.metricsToken}`))
      throw new AppError('unauthorized');
    const { contentType, body } = await metrics.page();
    return reply.type(contentType).send(body);
  });
}

/** /metrics on a port of its own, for networks that keep it apart. */
export async function openMetricsPort(host: string, port: number, metrics: Metrics): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    metrics.page().then(
      ({ contentType, body }) => response.writeHead(200, { 'content-type': contentType }).end(body),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return server;
}
