import * as endpoints from '../../contract/admin-device-clients.ts';
import { parseSort } from '../../contract/list-sorting.ts';
import { done, list, ok, toPage } from '../../contract/success-bodies-and-pagination.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { toActor } from '../platform/http/request-context.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { ClientListItem } from './client-service.ts';
import type { DeviceAuth } from './make.ts';

/** Official clients, for administrators. */
export function addDeviceClientAdminRoutes(
  routes: RouteRegistry,
  { clients, codeStore, revocation }: Pick<DeviceAuth, 'clients' | 'codeStore' | 'revocation'>,
): void {
  routes.add(endpoints.adminListDeviceClients, async ({ query }) => {
    const { rows, total } = await clients.list(toPage(query), parseSort(query.sort));
    return list(rows.map(toClientRow), total);
  });

  routes.add(endpoints.adminCreateDeviceClient, async ({ body, caller, request }) => {
    const { id, secret } = await clients.create(toActor(caller, request), { id: body.client_id, name: body.name });
    return ok({ id, client_id: id, client_secret: secret });
  });

  routes.add(endpoints.adminGetDeviceClient, async ({ params }) => ok(toClientRow(await clients.get(params.id))));

  routes.add(endpoints.adminUpdateDeviceClient, async ({ params, body, caller, request }) => {
    await clients.update(toActor(caller, request), params.id, body);
    return done();
  });

  routes.add(endpoints.adminDeleteDeviceClient, async ({ params, caller, request }) => {
    await clients.remove(toActor(caller, request), params.id, async (trx) => {
      await codeStore.deleteOfClient(trx, params.id);
      await revocation.revoke(trx, { client_id: params.id });
    });
    return done();
  });

  routes.add(endpoints.adminAddDeviceClientSecret, async ({ params, caller, request }) => {
    const { id, secret } = await clients.addSecret(toActor(caller, request), params.id);
    return ok({ id, client_secret: secret });
  });

  routes.add(endpoints.adminDeleteDeviceClientSecret, async ({ params, caller, request }) => {
    await clients.removeSecret(toActor(caller, request), params.id, Number(params.secret));
    return done();
  });
}

const toClientRow = ({ id, name, enabled, secrets, devices, createdAt }: ClientListItem) => ({
  id,
  name,
  enabled,
  secrets: secrets.map((secret) => ({ id: secret.id, hint: secret.hint, created_time: toSeconds(secret.createdAt) })),
  devices,
  created_time: toSeconds(createdAt),
});
