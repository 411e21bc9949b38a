import { randomUUID } from 'node:crypto';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Log } from '../platform/log.ts';
import { addMcpRoutes } from './routes.ts';
import { RpcServer } from './rpc-server.ts';
import { VideoTools } from './video-tools.ts';

type McpDependencies = ConstructorParameters<typeof VideoTools>[0] & {
  readonly siteName: () => string;
  readonly log: Log;
};

/** Assembles the Model Context Protocol endpoint and registers its route. */
export function makeMcp(routes: RouteRegistry, dependencies: McpDependencies): void {
  const tools = new VideoTools(dependencies);
  addMcpRoutes(routes, new RpcServer({ ...dependencies, tools, newSession: randomUUID }));
}
