import { done, list, ok, toPage } from '../../../contract/success-bodies-and-pagination.ts';
import { toSeconds } from '../../../contract/time-units.ts';
import * as endpoints from '../../../contract/video-shares.ts';
import { toActor } from '../../platform/http/request-context.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import type { ShareService } from './share-service.ts';
import type { ShareOfVideo } from './share-store.ts';

const toSecondsOrNull = (unixMs: number | null): number | null => (unixMs === null ? null : toSeconds(unixMs));

const toShare = (row: ShareOfVideo & { readonly url: string }) => ({
  id: row.id,
  task_id: row.public_id,
  url: row.url,
  title: row.title,
  has_password: row.password_hash !== null,
  created_time: toSeconds(row.created_at),
  expires_at: toSecondsOrNull(row.expires_at),
});

/**
 * The links of an account's own videos. A signed-in device may make them: it can read the files anyway, and the owner sees and
 * ends every link.
 */
export function addShareRoutes(routes: RouteRegistry, shareService: ShareService): void {
  routes.add(endpoints.createShare, async ({ params, body, caller, request }) => {
    const made = await shareService.create(toActor(caller, request), params.task_id, body);
    return ok({ id: made.id, url: made.url, expires_at: toSecondsOrNull(made.expiresAt) });
  });
  routes.add(endpoints.listVideoShares, async ({ params, caller }) =>
    ok((await shareService.listOfVideo(caller.userId, params.task_id)).map(toShare)),
  );
  routes.add(endpoints.deleteShare, async ({ params, caller, request }) => {
    await shareService.delete(toActor(caller, request), params.task_id, Number(params.id));
    return done();
  });
  routes.add(endpoints.listShares, async ({ query, caller }) => {
    const { rows, total } = await shareService.list(caller.userId, toPage(query));
    return list(rows.map(toShare), total);
  });
}
