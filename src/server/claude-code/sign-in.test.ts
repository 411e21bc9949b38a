import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { GatewayClient } from '../../../test/claude-code/gateway-client.ts';
import { CLI, type DeviceAuthFixture, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { ScriptlessBrowser } from '../../../test/device-auth/scriptless-browser.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';

const MINUTE_MS = 60_000;
const ISSUER = 'https://gateway.example/claude-code';

forEachDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  let gateway: GatewayClient;
  let ada: TestUser;
  let bob: TestUser;
  before(async () => {
    service = await startDeviceService(await freshUrl(), {
      env: { CLAUDE_CODE_SIGN_IN: '1', BASE_URL: 'https://gateway.example' },
    });
    gateway = new GatewayClient(service.app.http.fastify);
    ada = await service.newUser('ada');
    bob = await service.newUser('bob');
  });
  after(() => service.app.close());

  const errorOf = async (answer: Promise<{ status: number; json: unknown }>) => {
    const { status, json } = await answer;
    return [status, (json as { error?: string } | undefined)?.error];
  };

  it('describes the gateway with endpoints of its own origin', async () => {
    const { status, json } = await gateway.send('GET', '/.well-known/oauth-authorization-server');
    assert.equal(status, 200);
    assert.deepEqual(json, {
      issuer: ISSUER,
      device_authorization_endpoint: `${ISSUER}/oauth/device_authorization`,
      token_endpoint: `${ISSUER}/oauth/token`,
      revocation_endpoint: `${ISSUER}/oauth/revoke`,
      grant_types_supported: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      response_types_supported: [],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      scopes_supported: ['models'],
      gateway_protocol_version: 1,
    });
  });

  it('starts a sign-in without a client, from every form of body older programs send', async () => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const request of [
      { headers: type },
      { headers: type, body: 'surface=claude_code&client_id=unknown&later=1' },
      {},
    ]) {
      const { status, json, headers } = await gateway.send('POST', '/oauth/device_authorization', request);
      assert.equal(status, 200, JSON.stringify(json));
      assert.match(String(json?.user_code), /^[A-Z]{4}-[A-Z]{4}$/);
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(json?.verification_uri, 'https://gateway.example/authorize');
      assert.equal(json?.expires_in, 600);
    }
  });

  it('answers polls with the errors the program knows', async () => {
    const { device_code: code, user_code: userCode } = await gateway.start();
    assert.deepEqual(await errorOf(gateway.poll(code)), [400, 'authorization_pending']);
    assert.deepEqual(await errorOf(gateway.poll(code)), [429, 'slow_down']);
    assert.deepEqual(await errorOf(gateway.poll('nothing')), [400, 'expired_token']);
    assert.deepEqual(await errorOf(gateway.post('/oauth/token', { grant_type: 'password' })), [
      400,
      'unsupported_grant_type',
    ]);
    assert.deepEqual(await errorOf(gateway.post('/oauth/token', {})), [400, 'invalid_request']);
    await ada.ok('POST', '/api/auth/device/approve', { user_code: userCode });
    const { status, json } = await gateway.poll(code);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(json ?? {}).sort(), [
      'access_token',
      'expires_in',
      'refresh_token',
      'scope',
      'token_type',
    ]);
    assert.deepEqual([json?.expires_in, json?.scope, json?.token_type], [3_600, 'models', 'Bearer']);
    assert.deepEqual(await errorOf(gateway.poll(code)), [400, 'expired_token']);
    const denied = await gateway.start();
    await ada.ok('POST', '/api/auth/device/deny', { user_code: denied.user_code });
    assert.deepEqual(await errorOf(gateway.poll(denied.device_code)), [400, 'access_denied']);
    const late = await gateway.start();
    service.clock.advance(11 * MINUTE_MS);
    assert.deepEqual(await errorOf(gateway.poll(late.device_code)), [400, 'expired_token']);
  });

  it('names the e-mail address only of an account that has confirmed it', async () => {
    const carl = await service.newUser('carl');
    const { kysely } = service.app.database;
    const set = (columns: object) => kysely.updateTable('accounts').set(columns).where('id', '=', carl.id).execute();
    await set({ email: 'carl@example.com', login_email: 'carl@example.com' });
    assert.equal((await gateway.signIn(carl)).email, undefined);
    await set({ email_confirmed_at: 1 });
    assert.equal((await gateway.signIn(carl)).email, 'carl@example.com');
  });

  it('renews once per refresh token and keeps the former access token until it expires', async () => {
    const first = await gateway.signIn(ada);
    service.clock.advance(55 * MINUTE_MS);
    const { status, json } = await gateway.refresh(first.refresh_token);
    assert.equal(status, 200);
    const second = json as unknown as typeof first;
    assert.equal(await gateway.statusOf(first.access_token), 200);
    assert.equal(await gateway.statusOf(second.access_token), 200);
    assert.deepEqual(await errorOf(gateway.refresh(first.refresh_token)), [401, 'invalid_grant']);
    assert.deepEqual(await errorOf(gateway.refresh('rgrt_unknown')), [401, 'invalid_grant']);
    service.clock.advance(6 * MINUTE_MS);
    assert.equal(await gateway.statusOf(first.access_token), 401);
    assert.equal(await gateway.statusOf(second.access_token), 200);
  });

  it('a second terminal that was idle does not end the sign-in with the used refresh token', async () => {
    const first = await gateway.signIn(ada);
    service.clock.advance(55 * MINUTE_MS);
    const { json } = await gateway.refresh(first.refresh_token);
    service.clock.advance(300 * MINUTE_MS);
    assert.deepEqual(await errorOf(gateway.refresh(first.refresh_token)), [401, 'invalid_grant']);
    const { status } = await gateway.refresh(String(json?.refresh_token));
    assert.equal(status, 200);
  });

  it('T133: a used refresh token from another network ends the sign-in, except within the reuse window', async () => {
    const thief = new GatewayClient(service.app.http.fastify, '203.0.113.9');
    const first = await gateway.signIn(ada);
    const second = (await gateway.refresh(first.refresh_token)).json as unknown as typeof first;
    assert.deepEqual(await errorOf(thief.refresh(first.refresh_token)), [401, 'invalid_grant']);
    assert.equal(await gateway.statusOf(second.access_token), 200);
    service.clock.advance(2 * MINUTE_MS);
    assert.deepEqual(await errorOf(thief.refresh(first.refresh_token)), [401, 'invalid_grant']);
    assert.equal(await gateway.statusOf(second.access_token), 401);
    assert.deepEqual(await errorOf(gateway.refresh(second.refresh_token)), [401, 'invalid_grant']);
  });

  it('signs out with either token, and nothing opens afterwards', async () => {
    for (const kind of ['access_token', 'refresh_token'] as const) {
      const tokens = await gateway.signIn(ada);
      const renewed = (await gateway.refresh(tokens.refresh_token)).json as unknown as typeof tokens;
      assert.deepEqual((await gateway.post('/oauth/revoke', { token: renewed[kind] })).json, {});
      for (const { access_token: access, refresh_token: refresh } of [tokens, renewed]) {
        assert.equal(await gateway.statusOf(access), 401);
        assert.deepEqual(await errorOf(gateway.refresh(refresh)), [401, 'invalid_grant']);
      }
      assert.equal((await gateway.post('/oauth/revoke', { token: renewed[kind] })).status, 200);
    }
  });

  it('a dead token is refused in the form that stops the program from trying again', async () => {
    for (const token of [undefined, 'rgoa_unknown', 'sk-unknown']) {
      const { status, headers, json, error } = await gateway.send('GET', '/managed/settings', token ? { token } : {});
      assert.equal(status, 401);
      assert.equal(headers['x-should-retry'], 'false');
      assert.deepEqual([json?.type, error.type], ['error', 'authentication_error']);
    }
  });

  it('T130: a code belongs to the first account that opens it', async () => {
    const { user_code: userCode, device_code: deviceCode } = await gateway.start();
    const browser = new ScriptlessBrowser(service);
    browser.cookies.set('session', ada.cookies.get('session') ?? '');
    await browser.go('GET', `/authorize?code=${userCode}`);
    assert.match(browser.html, /Claude Code/);
    assert.ok(browser.html.includes(userCode));
    await bob.fails(200, 'POST', '/api/auth/device/approve', { user_code: userCode });
    const other = new ScriptlessBrowser(service);
    other.cookies.set('session', bob.cookies.get('session') ?? '');
    await other.go('GET', `/authorize?code=${userCode}`);
    assert.doesNotMatch(other.html, /action="\/authorize\/approve"/);
    assert.deepEqual(await errorOf(gateway.poll(deviceCode)), [400, 'authorization_pending']);
    await browser.submit('approve');
    assert.equal((await gateway.poll(deviceCode)).status, 200);
  });

  it('T131: tokens open no path but those of the gateway', async () => {
    const { access_token: token } = await gateway.signIn(ada);
    const user = { 'service-api-user': String(ada.id) };
    for (const [path, headers] of [
      ['//api/user/self', user],
      ['//api/user/devices', user],
      ['//api/tokens', user],
      ['//v1/models', {}],
      ['//v1/videos', {}],
      ['//v1beta/models', {}],
    ] as const)
      assert.equal((await gateway.send('GET', path, { token, headers })).status, 401, path);
    const ask = { token, body: { model: 'any', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] } };
    assert.equal((await gateway.send('POST', '//v1/messages', ask)).status, 401);
    // And the other way round: neither keys nor tokens of other sign-ins open the gateway.
    const { key } = await ada.ok<{ key: string }>('POST', '/api/tokens', { name: 'key' });
    const device = await service.signIn(ada);
    for (const other of [key, device.access_token, device.llm_token]) assert.equal(await gateway.statusOf(other), 401);
  });

  it('T131: the built-in client works nowhere but at the gateway', async () => {
    const form = { client_id: 'claude-code' };
    const start = await gateway.send('POST', '//oauth/device_authorization', {
      body: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.equal(start.status, 401);
    await service.anonymous().fails(200, 'POST', '/api/auth/device/code', form);
    const { refresh_token: refreshToken } = await gateway.signIn(ada);
    assert.equal((await service.refresh(refreshToken, CLI)).success, false);
  });

  it('T134: devices list it, and ending it there, a ban or an administrator ends the access', async () => {
    const dora = await service.newUser('dora');
    const root = await service.root();
    const told = async () => JSON.stringify((await dora.send('GET', '/api/notifications/')).body.data);
    const end: Readonly<Record<string, (id: number) => Promise<unknown>>> = {
      owner: (id) => dora.ok('DELETE', `/api/user/devices/${id}`),
      administrator: async (id) => {
        assert.doesNotMatch(await told(), /administrator ended/, 'what the owner ends needs no notice');
        await root.ok('DELETE', `/api/admin/claude-code/${id}`);
        assert.match(await told(), /An administrator ended this sign-in: Claude Code\./);
      },
      ban: () => root.ok('PUT', `/api/admin/users/${dora.id}`, { status: 2 }),
    };
    for (const [who, run] of Object.entries(end)) {
      const { access_token: token, refresh_token: refreshToken } = await gateway.signIn(dora);
      const [device] = await dora.ok<{ id: number; client: string }[]>('GET', '/api/user/devices');
      assert.equal(device?.client, 'Claude Code');
      const listed = await root.ok<{ id: number; username: string; program: string }[]>(
        'GET',
        '/api/admin/claude-code',
      );
      const row = listed.find(({ id }) => id === device?.id);
      assert.deepEqual([row?.username, row?.program], ['dora', 'claude-code/2.1.330']);
      await run(device?.id ?? 0);
      assert.equal(await gateway.statusOf(token), 401, who);
      assert.deepEqual(await errorOf(gateway.refresh(refreshToken)), [401, 'invalid_grant'], who);
    }
    await root.fails(200, 'DELETE', `/api/admin/claude-code/${(await service.signIn(ada)).user_id + 1_000}`);
  });

  it('T134: an administrator does not end the sign-in of root', async () => {
    const root = await service.root();
    const { access_token: token } = await gateway.signIn(root);
    const [device] = await root.ok<{ id: number }[]>('GET', '/api/user/devices');
    const staff = await service.newUser('staff');
    await root.ok('PUT', `/api/admin/users/${staff.id}`, { role: 'admin' });
    await staff.logIn('staff');
    await staff.fails(403, 'DELETE', `/api/admin/claude-code/${device?.id}`);
    assert.equal(await gateway.statusOf(token), 200);
  });

  it('telemetry is received in every format and coding', async () => {
    const { access_token: token } = await gateway.signIn(ada);
    const formats: readonly Record<string, string>[] = [
      { 'content-type': 'application/json' },
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      { 'content-type': 'application/x-protobuf' },
    ];
    for (const signal of ['metrics', 'logs', 'traces'])
      for (const headers of formats) {
        const answer = await gateway.send('POST', `/v1/${signal}`, { token, headers, body: '\u0001not json' });
        assert.equal(answer.status, 200, `${signal} ${JSON.stringify(headers)}`);
      }
    assert.equal((await gateway.send('POST', '/v1/metrics', { body: {} })).status, 401);
    const tooLarge = { token, headers: { 'content-type': 'application/x-protobuf' }, body: 'x'.repeat(17 << 20) };
    assert.equal((await gateway.send('POST', '/v1/traces', tooLarge)).status, 413);
  });

  it('unknown paths are answered in the form of the API', async () => {
    const { access_token: token } = await gateway.signIn(ada);
    for (const path of ['/user/bootstrap', '/api/oauth/usage', '/nothing']) {
      const { status, json } = await gateway.send('GET', path, { token });
      assert.deepEqual([status, json?.type], [404, 'error'], path);
    }
  });
});

it('everything is closed while the setting is off', async () => {
  const service = await startDeviceService('sqlite::memory:');
  const gateway = new GatewayClient(service.app.http.fastify);
  const root = await service.root();
  const set = (value: string | null) => root.ok('PUT', '/api/admin/settings/CLAUDE_CODE_SIGN_IN', { value });
  assert.equal((await gateway.send('GET', '/.well-known/oauth-authorization-server')).status, 404);
  assert.equal((await gateway.post('/oauth/device_authorization', {})).status, 404);
  await set('1');
  const { access_token: token } = await gateway.signIn(root);
  assert.equal(await gateway.statusOf(token), 200);
  await set(null);
  assert.equal(await gateway.statusOf(token), 404);
  await service.app.close();
});
