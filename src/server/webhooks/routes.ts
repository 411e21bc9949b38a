import { done, list, ok, toLimit, toPage } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import * as endpoints from '../../contract/webhooks.ts';
import { type Input, type RouteRegistry, toActor } from '../platform/http/route-registry.ts';
import type { DeliveryRow } from './delivery-store.ts';
import type { EndpointRow } from './endpoint-store.ts';
import { parseTypes } from './endpoints.ts';
import type { Webhooks } from './module.ts';
import { CALLBACK } from './tables.ts';

type DeliveryQuery = Input<typeof endpoints.listDeliveries>['query'];

const toFilter = ({ status, after, limit }: DeliveryQuery) => ({
  status,
  before: after === undefined ? undefined : Number(after),
  limit: toLimit(limit),
});

const toDeliveryPage = ({ rows, hasMore }: { readonly rows: readonly DeliveryRow[]; readonly hasMore: boolean }) =>
  ok({ deliveries: rows.map(toDelivery), next: hasMore ? String(rows.at(-1)?.id) : null });

/** Registers webhook endpoints, their deliveries, and the secret of callbacks. */
export function addWebhookRoutes(
  routes: RouteRegistry,
  { endpointService, callbackSecrets, listCallbacks }: Webhooks,
): void {
  routes.add(endpoints.listWebhooks, async ({ caller, query }) => {
    const { rows, total } = await endpointService.list(caller.userId, toPage(query));
    return list(rows.map(toWebhook), total);
  });
  routes.add(endpoints.createWebhook, async ({ caller, body, request }) =>
    ok(await endpointService.create(toActor(caller, request), caller.role, body)),
  );
  routes.add(endpoints.getWebhook, async ({ caller, params }) =>
    ok(toWebhook(await endpointService.get(caller.userId, Number(params.id)))),
  );
  routes.add(endpoints.updateWebhook, async ({ caller, params, body, request }) => {
    await endpointService.update(toActor(caller, request), caller.role, Number(params.id), body);
    return done();
  });
  routes.add(endpoints.deleteWebhook, async ({ caller, params, request }) => {
    await endpointService.remove(toActor(caller, request), Number(params.id));
    return done();
  });
  routes.add(endpoints.rotateWebhookSecret, async ({ caller, params, request }) =>
    ok({ secret: await endpointService.rotateSecret(toActor(caller, request), Number(params.id)) }),
  );
  routes.add(endpoints.testWebhook, async ({ caller, params }) =>
    ok({ delivery: await endpointService.test(caller.userId, Number(params.id)) }),
  );
  routes.add(endpoints.listDeliveries, async ({ caller, params, query }) => {
    const filter = { ...toFilter(query), userId: caller.userId, endpointId: Number(params.id) };
    return toDeliveryPage(await endpointService.listDeliveries(filter));
  });
  routes.add(endpoints.retryDelivery, async ({ caller, params }) => {
    await endpointService.retry(caller.userId, Number(params.id), Number(params.delivery));
    return done();
  });
  routes.add(endpoints.replayEvents, async ({ caller, params, body }) => {
    const range = { since: body.since * 1000, until: body.until === undefined ? undefined : body.until * 1000 + 999 };
    return ok({ queued: await endpointService.replay(caller.userId, caller.role, Number(params.id), range) });
  });
  routes.add(endpoints.listCallbacks, async ({ caller, query }) =>
    toDeliveryPage(await listCallbacks({ ...toFilter(query), userId: caller.userId, endpointId: CALLBACK })),
  );
  routes.add(endpoints.getCallbackSecret, async ({ caller }) =>
    ok({ secret: await callbackSecrets.get(caller.userId) }),
  );
  routes.add(endpoints.rotateCallbackSecret, async ({ caller, request }) =>
    ok({ secret: await callbackSecrets.rotate(toActor(caller, request)) }),
  );
}

const toSecondsOrNull = (unixMs: number | null): number | null => (unixMs === null ? null : toSeconds(unixMs));

const toWebhook = (row: EndpointRow & { readonly pending: number }) => ({
  id: row.id,
  url: row.url,
  events: parseTypes(row),
  description: row.description,
  enabled: row.enabled === 1,
  preset: row.preset,
  disabled_reason: row.disabled_reason,
  failing_since: toSecondsOrNull(row.failing_since),
  pending: row.pending,
  created_time: toSeconds(row.created_at),
});

const toDelivery = (row: DeliveryRow) => ({
  id: row.id,
  event_id: row.event_id,
  event_type: row.event_type,
  status: row.status,
  tries: row.tries,
  next_try_at: toSecondsOrNull(row.next_try_at),
  created_time: toSeconds(row.created_at),
  last_try:
    row.last_try_at === null
      ? null
      : {
          at: toSeconds(row.last_try_at),
          url: row.last_url,
          request_body: row.last_request,
          response_status: row.last_status,
          response_body: row.last_response,
          error: row.last_error,
          duration_ms: row.last_duration_ms,
        },
});
