import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, it } from 'node:test';
import { CLI_OAUTH_CLIENT } from '../src/contract/device-auth.ts';
import { makeApp } from '../src/server/app.ts';
import { parseConfig } from '../src/server/platform/config.ts';
import { openLog } from '../src/server/platform/log.ts';
import { randomToken } from '../src/server/platform/tokens.ts';
import { PASSWORD, TestUser } from './accounts/test-user-client.ts';
import { CHEAP_PASSWORD_HASHING } from './cheap-password-hashing.ts';
import { checkResponses } from './openapi-response-check.ts';

const ADMIN_PASSWORD = 'administrator-1';

/** Walks all existing routes to find any that lacks its guard or accepts the wrong kind of credential. */
let app: Awaited<ReturnType<typeof makeApp>>;
let user: TestUser;
let key: string;
let userToken: string;
let device: { readonly access_token: string; readonly refresh_token: string; readonly llm_token: string };

before(async () => {
  const config = parseConfig({
    DATABASE_URL: 'sqlite::memory:',
    MASTER_KEY: randomBytes(32).toString('base64'),
    ADMIN_PASSWORD,
    PORT: '0',
  });
  app = await makeApp(config, { log: openLog('silent'), passwordCost: CHEAP_PASSWORD_HASHING });
  checkResponses(app.http.routes.endpoints);
  await app.listen();
  user = new TestUser(app.http.fastify, '127.0.0.1');
  await user.register('walker');
  await user.logIn('walker', PASSWORD);
  ({ key } = await user.ok<{ key: string }>('POST', '/api/tokens', { name: 'walker' }));
  ({ access_token: userToken } = await user.ok<{ access_token: string }>('POST', '/api/user/token'));
  device = await signIn();
});
after(() => app.close(100));

/** Signs a device in as the user, the way a desktop app does. */
async function signIn(): Promise<typeof device> {
  const client = { client_id: CLI_OAUTH_CLIENT.id, client_secret: CLI_OAUTH_CLIENT.secret };
  const codes = await user.ok<{ device_code: string; user_code: string }>('POST', '/api/auth/device/code', client);
  await user.ok('POST', '/api/auth/device/approve', { user_code: codes.user_code });
  return user.ok('POST', '/api/auth/device/token', { ...client, device_code: codes.device_code });
}

const GUARDED = new Set(['account', 'owner', 'admin', 'root', 'model']);

const call = async (method: string, path: string, headers: Record<string, string>) => {
  const response = await app.http.fastify.inject({
    method: method as 'GET',
    url: path.replace(/:\w+/g, '1').replace('*', 'x'),
    headers: { ...headers, ...(method === 'GET' ? {} : { 'content-type': 'application/json' }) },
    ...(method === 'GET' ? {} : { payload: '{}' }),
  });
  return { status: response.statusCode, body: response.body };
};

it('T41: refuses the wrong kind of credential on every route', async () => {
  const id = { 'service-api-user': String(user.id) };
  const session = user.cookies.get('session') ?? '';
  const bearer = (token: string) => ({ ...id, authorization: `Bearer ${token}` });
  const always: Record<string, Record<string, string>> = {
    nothing: {},
    'the user id alone': id,
    'a made-up session': { ...id, cookie: `session=rgs_${'x'.repeat(43)}` },
    'a made-up bearer': bearer('x'.repeat(40)),
    'a refresh token': bearer(device.refresh_token),
    'a made-up access token': bearer(randomToken('rgat_', 43)),
    'a pending login': { ...id, cookie: `pending_login=rgpl_${'x'.repeat(43)}` },
    'a made-up key': { 'x-api-key': `sk-${'x'.repeat(48)}` },
  };
  const people: Record<string, Record<string, string>> = {
    'a session': { ...id, cookie: `session=${session}` },
    'a session as bearer': bearer(session),
    'a user token': bearer(userToken),
  };
  const keys: Record<string, Record<string, string>> = {
    'an sk- key': bearer(key),
    'an x-api-key': { ...id, 'x-api-key': key },
  };
  keys['an llm_token'] = bearer(device.llm_token);
  const devices = { 'a device access_token': bearer(device.access_token) };
  const mismatched = Object.fromEntries(
    Object.entries(people).map(([kind, headers]) => [`${kind} of another id`, { ...headers, 'service-api-user': '1' }]),
  );
  assert.ok(app.http.routes.endpoints.length > 30);
  for (const { method, path, policy } of app.http.routes.endpoints) {
    if (!GUARDED.has(policy)) continue;
    const wrong = { ...always, ...mismatched, ...(policy === 'model' ? { ...people, ...devices } : keys) };
    for (const [kind, headers] of Object.entries(wrong)) {
      const { status, body } = await call(method, path, headers);
      assert.equal(status, 401, `${method} ${path} with ${kind}: ${status} ${body.slice(0, 200)}`);
      if (path.startsWith('/api/')) assert.equal(JSON.parse(body).success, false);
    }
    if (policy === 'model' || policy === 'account') continue;
    const lower = policy === 'owner' ? devices : { ...people, ...devices };
    for (const [kind, headers] of Object.entries(lower)) {
      assert.equal((await call(method, path, headers)).status, 403, `${method} ${path} with ${kind}`);
    }
  }
});

it('accepts no unsafe cross-site request on routes that take a cookie', async () => {
  const cookie = { cookie: `session=${user.cookies.get('session')}`, 'service-api-user': String(user.id) };
  const sites: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
  ];
  for (const { method, path, policy } of app.http.routes.endpoints) {
    if (method === 'GET' || policy === 'model' || policy === 'self') continue;
    for (const site of sites) {
      assert.equal((await call(method, path, { ...cookie, ...site })).status, 403, `${method} ${path}`);
    }
  }
});
