import * as endpoints from '../../contract/passkeys.ts';
import { done, ok } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { AppError } from '../platform/app-error.ts';
import type { LoginCookies } from '../platform/http/login-cookies.ts';
import { type RouteRegistry, toLoginClient, toRequestOrigin } from '../platform/http/route-registry.ts';
import type { Accounts } from './module.ts';
import type { PasskeyRow } from './passkey-store.ts';
import { toLoginResponse, toSecondsOrNull } from './presenter.ts';

interface PasskeyRouteDependencies {
  readonly accounts: Pick<Accounts, 'logins' | 'passkeys' | 'presence' | 'relyingParty' | 'userAdministration'>;
  readonly cookies: LoginCookies;
}

/** Console page where people manage their passkeys. */
const MANAGE_PAGE = '/account/security';

/** Registers the endpoints of passkeys. */
export function addPasskeyRoutes(routes: RouteRegistry, { accounts, cookies }: PasskeyRouteDependencies): void {
  const { logins, passkeys, presence, relyingParty, userAdministration } = accounts;

  routes.add(endpoints.listPasskeys, async ({ caller }) =>
    ok((await passkeys.list(caller.userId)).map((row) => toPasskey(row, row.isUsable))),
  );

  routes.add(endpoints.passkeyCreationOptions, async ({ caller, body }) => {
    if (!passkeys.isOn) throw new AppError('passkeys_off');
    await presence.assertPresent(caller, body);
    return ok(await passkeys.creationOptions(caller.userId));
  });

  routes.add(endpoints.addPasskey, async ({ caller, body, request }) =>
    ok(toPasskey(await passkeys.add(caller.userId, body.name, body.credential, toRequestOrigin(request)), true)),
  );

  routes.add(endpoints.renamePasskey, async ({ caller, params, body, request }) => {
    await passkeys.rename(caller.userId, Number(params.id), body.name, toRequestOrigin(request));
    return done();
  });

  routes.add(endpoints.removePasskey, async ({ caller, params, request }) => {
    await passkeys.remove(caller.userId, Number(params.id), toRequestOrigin(request));
    return done();
  });

  routes.add(endpoints.passkeyLoginOptions, async () => ok(passkeys.requestOptions()));

  routes.add(endpoints.passkeyLogin, async ({ body, request, reply }) => {
    const client = toLoginClient(request, cookies.knownDeviceOf(reply));
    const login = await logins.logInWithPasskey({ credential: body.credential, client });
    cookies.clearPending(reply);
    cookies.setLogin(reply, login);
    return ok(toLoginResponse(login.account));
  });

  routes.add(endpoints.passkeyEndpoints, async () => {
    if (!passkeys.isOn) throw new AppError('not_found');
    const page = `${relyingParty.origin}${MANAGE_PAGE}`;
    return { enroll: page, manage: page };
  });

  routes.add(endpoints.adminResetSecondFactors, async ({ caller, params, request }) => {
    await userAdministration.resetSecondFactors(caller, Number(params.id), toRequestOrigin(request));
    return done();
  });
}

const toPasskey = (row: PasskeyRow, isUsable: boolean): endpoints.Passkey => ({
  id: row.id,
  name: row.name,
  credential_id: row.credential_id,
  user_handle: row.handle,
  rp_id: row.rp_id,
  usable: isUsable,
  algorithm: row.algorithm,
  synced: row.backed_up === 1,
  created_time: toSeconds(row.created_at),
  last_used_time: toSecondsOrNull(row.last_used_at),
});
