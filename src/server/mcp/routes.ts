import { callMcp } from '../../contract/mcp.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { RpcServer } from './rpc-server.ts';

/** Registers the endpoint of the Model Context Protocol. */
export function addMcpRoutes(routes: RouteRegistry, server: RpcServer): void {
  routes.add(callMcp, async ({ body, caller, request, reply }) => {
    const { headers } = request;
    const session = headers['mcp-session-id'];
    // Without a body Fastify passes null, which is valid JSON.
    const given = request.rawBody === undefined ? undefined : body;
    const response = await server.handle(given, headers, {
      caller,
      locale: request.locale,
      client: headers['user-agent'],
      session: typeof session === 'string' ? session : undefined,
      signal: request.disconnected,
      requestId: request.id,
    });
    return reply
      .status(response.status)
      .headers(response.headers ?? {})
      .send(response.body);
  });
}
