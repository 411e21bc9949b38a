import * as lines from '../../contract/device-clients.ts';
import { done, list, ok, toPage } from '../../contract/schemas.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Actor, ShownClient } from './clients.ts';
import { dropCodesOfClient } from './code-store.ts';
import type { DeviceAuth } from './device-auth.ts';

/** Official clients, for administrators. */
export function addDeviceClientRoutes(
  routes: Routes,
  { clients, endDevices }: Pick<DeviceAuth, 'clients' | 'endDevices'>,
): void {
  routes.add(lines.adminListDeviceClients, async ({ query }) => {
    const { rows, total } = await clients.list(toPage(query));
    return list(rows.map(toRow), total);
  });

  routes.add(lines.adminCreateDeviceClient, async ({ body, caller, request }) => {
    const { id, secret } = await clients.make(actorOf(caller, request), { id: body.client_id, name: body.name });
    return ok({ id, client_id: id, client_secret: secret });
  });

  routes.add(lines.adminGetDeviceClient, async ({ params }) => ok(toRow(await clients.get(params.id))));

  routes.add(lines.adminUpdateDeviceClient, async ({ params, body, caller, request }) => {
    await clients.change(actorOf(caller, request), params.id, body);
    return done();
  });

  routes.add(lines.adminDeleteDeviceClient, async ({ params, caller, request }) => {
    await clients.remove(actorOf(caller, request), params.id, async (trx) => {
      await dropCodesOfClient(trx, params.id);
      await endDevices(trx, { client_id: params.id });
    });
    return done();
  });

  routes.add(lines.adminAddDeviceClientSecret, async ({ params, caller, request }) => {
    const { id, secret } = await clients.addSecret(actorOf(caller, request), params.id);
    return ok({ id, client_secret: secret });
  });

  routes.add(lines.adminDeleteDeviceClientSecret, async ({ params, caller, request }) => {
    await clients.removeSecret(actorOf(caller, request), params.id, Number(params.secret));
    return done();
  });
}

const actorOf = (caller: AccountCaller, { address, id }: RequestContext): Actor => ({
  actorId: caller.userId,
  address,
  requestId: id,
});

const toRow = ({ id, name, enabled, secrets, devices, createdAt }: ShownClient) => ({
  id,
  name,
  enabled,
  secrets: secrets.map((secret) => ({ id: secret.id, hint: secret.hint, created_time: toSeconds(secret.createdAt) })),
  devices,
  created_time: toSeconds(createdAt),
});

const toSeconds = (unixMs: number): number => Math.floor(unixMs / 1000);
