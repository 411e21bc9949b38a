import { listEvents, toEventPayload } from '../../contract/events.ts';
import { ok, toLimit } from '../../contract/responses.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { ADMINISTRATORS, type Events } from './event-log.ts';

/** Registers the events of the caller's own account. */
export function addEventRoutes(routes: RouteRegistry, { store }: Pick<Events, 'store'>): void {
  routes.add(listEvents, async ({ caller, query }) => {
    const limit = toLimit(query.limit);
    const rows = await store.list({
      userIds: caller.role === 'user' ? [caller.userId] : [caller.userId, ADMINISTRATORS],
      since: Number(query.since ?? 0) * 1000,
      afterSeq: Number(query.after ?? 0),
      limit,
    });
    const last = rows.at(-1);
    return ok({
      events: rows.map(({ id, type, created_at, data }) => ({ id, ...toEventPayload(type, created_at, data) })),
      next: last === undefined || rows.length < limit ? null : String(last.seq),
    });
  });
}
