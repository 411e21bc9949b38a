import { randomUUID } from 'node:crypto';
import { callMcp } from '../../contract/mcp.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Log } from '../platform/log.ts';
import { RpcServer } from './rpc-server.ts';
import { VideoTools } from './video-tools.ts';

type McpDependencies = ConstructorParameters<typeof VideoTools>[0] & {
  readonly siteName: () => string;
  readonly log: Log;
};

/** Assembles the Model Context Protocol endpoint and registers its route. */
export function addMcpRoutes(routes: RouteRegistry, dependencies: McpDependencies): void {
  const tools = new VideoTools(dependencies);
  const server = new RpcServer({ ...dependencies, tools, newSession: randomUUID });
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
