import type { Foundation } from './foundation.ts';
import type { Modules } from './make-modules.ts';
import { createClientIpResolver, createIpCheck } from './platform/client-ip.ts';
import type { PortLifecycle } from './platform/http/lifecycle.ts';
import { createHttpServer, type HttpServer } from './platform/http/server.ts';

/** The HTTP server of the service by its settings, without routes. @param port to serve on, which may be open already */
export function makeHttpServer(
  { config, log, metrics, tracing }: Foundation,
  { accounts }: Modules,
  port: PortLifecycle | undefined,
): Promise<HttpServer> {
  return createHttpServer({
    port,
    log,
    authenticator: accounts.authenticator,
    defaultLocale: config.defaultLocale,
    baseUrl: config.baseUrl,
    corsOrigins: config.corsOrigins,
    maxConnectionsPerIp: config.connectionsPerAddress,
    clientIpOf: createClientIpResolver(config.trustProxy),
    isTrustedProxy: createIpCheck(config.trustProxy),
    tracing,
    onResponse: metrics.recordRequest,
  });
}
