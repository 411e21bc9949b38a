import { getStorage } from '../../contract/own-videos.ts';
import { ok } from '../../contract/responses.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Artifacts } from './module.ts';

/** Registers the endpoints for an account's stored copies. */
export function addArtifactRoutes(routes: RouteRegistry, artifacts: Artifacts): void {
  routes.add(getStorage, async ({ caller }) => {
    const [usage, limits] = await Promise.all([artifacts.usage(caller.userId), artifacts.limitsOf(caller.userId)]);
    return ok({
      enabled: artifacts.isEnabled,
      files: usage.files,
      used_bytes: usage.bytes,
      limit_bytes: limits.bytes,
      days: limits.days,
    });
  });
}
