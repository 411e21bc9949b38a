import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import {
  CLI,
  type DeviceAuthFixture,
  freePort,
  startDeviceService,
} from '../../../test/device-auth/device-auth-fixture.ts';
import { DEVICE_GRANT } from '../../contract/oauth.ts';

/** Posts a form to an OAuth endpoint; returns the status and headers of the response too. */
async function post(service: DeviceAuthFixture, path: string, form: Record<string, string> | string, headers = {}) {
  const payload = typeof form === 'string' ? form : new URLSearchParams(form).toString();
  const answer = await service.app.http.fastify.inject({
    method: 'POST',
    url: path,
    payload,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
}

describe('the OAuth endpoints', () => {
  let service: DeviceAuthFixture;
  let issuer: string;
  before(async () => {
    const port = String(await freePort());
    issuer = `http://127.0.0.1:${port}`;
    service = await startDeviceService('sqlite::memory:', { env: { PORT: port, BASE_URL: issuer } });
  });
  after(() => service.app.close());

  it('serves the same metadata at the OpenID Connect path, and claims no id_token', async () => {
    const get = async (path: string) => (await service.app.http.fastify.inject(path)).json() as Record<string, unknown>;
    const metadata = await get('/.well-known/openid-configuration');
    assert.deepEqual(metadata, await get('/.well-known/oauth-authorization-server'));
    assert.deepEqual(metadata.response_types_supported, ['code']);
    assert.ok(!JSON.stringify(metadata).includes('id_token'));
  });

  it('lists exactly what is enabled, for the server and for each resource', async () => {
    const get = async (path: string) => (await service.app.http.fastify.inject(path)).json() as Record<string, unknown>;
    const methods = ['client_secret_basic', 'client_secret_post', 'none'];
    assert.deepEqual(await get('/.well-known/oauth-authorization-server'), {
      issuer,
      authorization_endpoint: `${issuer}/oauth/authorize`,
      device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
      token_endpoint: `${issuer}/oauth/token`,
      revocation_endpoint: `${issuer}/oauth/revoke`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      scopes_supported: ['account', 'models', 'mcp'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: false,
      token_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: methods,
      service_documentation: `${issuer}/docs`,
      ui_locales_supported: ['en', 'zh-CN'],
    });
    const shared = {
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
      resource_name: 'Reelgate',
      resource_documentation: `${issuer}/docs`,
    };
    for (const [path, scopes_supported] of [
      ['', ['account', 'models']],
      ['/mcp', ['mcp']],
    ] as const) {
      const resource = { ...shared, resource: `${issuer}${path}`, scopes_supported };
      assert.deepEqual(await get(`/.well-known/oauth-protected-resource${path}`), resource);
    }
    const none = await service.app.http.fastify.inject('/.well-known/oauth-protected-resource/claude-code');
    assert.equal(none.statusCode, 404);
  });

  it('sign in, refresh and revoke with oauth4webapi', async () => {
    const ada = await service.newUser('ada');
    const insecure = { [oauth.allowInsecureRequests]: true };
    const found = await oauth.discoveryRequest(new URL(issuer), { ...insecure, algorithm: 'oauth2' });
    const server = await oauth.processDiscoveryResponse(new URL(issuer), found);
    const app = { client_id: CLI.client_id };
    for (const auth of [oauth.ClientSecretBasic(CLI.client_secret), oauth.ClientSecretPost(CLI.client_secret)]) {
      const begun = await oauth.deviceAuthorizationRequest(server, app, auth, { scope: 'llm' }, insecure);
      const code = await oauth.processDeviceAuthorizationResponse(server, app, begun);
      const ask = async () =>
        oauth.processDeviceCodeResponse(
          server,
          app,
          await oauth.deviceCodeGrantRequest(server, app, auth, code.device_code, insecure),
        );
      await assert.rejects(ask, { error: 'authorization_pending' });
      await assert.rejects(ask, { error: 'slow_down' });
      await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      // Even a poll that is too early receives the final result.
      const tokens = await ask();
      assert.equal(tokens.scope, 'api.device llm');
      assert.match(tokens.llm_token as string, /^sk-/);
      await assert.rejects(ask, { error: 'invalid_grant' });
      const refreshed = await oauth.processRefreshTokenResponse(
        server,
        app,
        await oauth.refreshTokenGrantRequest(server, app, auth, String(tokens.refresh_token), insecure),
      );
      assert.equal((await service.sendAsDevice(refreshed, ada.id, 'GET', '/api/user/self')).status, 200);
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(server, app, auth, refreshed.access_token, insecure),
      );
      assert.equal((await service.sendAsDevice(refreshed, ada.id, 'GET', '/api/user/self')).status, 401);
      assert.equal(await service.acceptsModelKey(tokens.llm_token as string), false);
    }
  });

  it('sign in with openid-client', async () => {
    const ada = await service.newUser('grace');
    const config = await client.discovery(new URL(issuer), CLI.client_id, CLI.client_secret, undefined, {
      algorithm: 'oauth2',
      execute: [client.allowInsecureRequests],
    });
    const code = await client.initiateDeviceAuthorization(config, {});
    await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
    const tokens = await client.pollDeviceAuthorizationGrant(config, { ...code, interval: 1 });
    assert.equal((await service.sendAsDevice(tokens, ada.id, 'GET', '/api/user/self')).status, 200);
  });

  it('T16: widen the interval with each early poll, up to a minute, and keep it', async () => {
    const begun = await post(service, '/oauth/device_authorization', { client_id: CLI.client_id });
    assert.equal(begun.headers['cache-control'], 'no-store');
    const ask = async () =>
      (await post(service, '/oauth/token', { grant_type: DEVICE_GRANT, device_code: begun.body.device_code, ...CLI }))
        .body.error;
    assert.equal(await ask(), 'authorization_pending');
    assert.equal(await ask(), 'slow_down');
    service.clock.advance(6_000);
    assert.equal(await ask(), 'slow_down', 'the interval is 10 s by now');
    service.clock.advance(15_000);
    assert.equal(await ask(), 'authorization_pending');
    for (let i = 0; i < 20; i++) await ask();
    service.clock.advance(60_000);
    assert.equal(await ask(), 'authorization_pending', 'a minute is enough');
  });

  it('return the errors of RFC 6749 and RFC 8628', async () => {
    const { device_code } = await service.code();
    const { refresh_token } = await service.signIn(await service.newUser('hopper'));
    const poll = { grant_type: DEVICE_GRANT, device_code, ...CLI };
    const basic = (id: string, secret: string) => ({
      authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
    });
    const cases: readonly [string, Record<string, string> | string, Record<string, string>, number, string][] = [
      ['/oauth/token', {}, {}, 400, 'invalid_request'],
      ['/oauth/token', { ...poll, grant_type: 'password' }, {}, 400, 'unsupported_grant_type'],
      ['/oauth/token', { grant_type: DEVICE_GRANT, ...CLI }, {}, 400, 'invalid_request'],
      ['/oauth/token', { ...poll, client_secret: 'no' }, {}, 401, 'invalid_client'],
      ['/oauth/token', { grant_type: DEVICE_GRANT, device_code }, {}, 401, 'invalid_client'],
      ['/oauth/token', { grant_type: DEVICE_GRANT, device_code }, basic(CLI.client_id, 'no'), 401, 'invalid_client'],
      ['/oauth/token', poll, basic(CLI.client_id, CLI.client_secret), 400, 'invalid_request'],
      ['/oauth/token', { ...poll, device_code: 'x'.repeat(32) }, {}, 400, 'invalid_grant'],
      ['/oauth/token', `${new URLSearchParams(poll)}&device_code=twice`, {}, 400, 'invalid_request'],
      ['/oauth/token', { grant_type: 'refresh_token', ...CLI }, {}, 400, 'invalid_request'],
      ['/oauth/token', { grant_type: 'refresh_token', refresh_token: 'rgrt_no', ...CLI }, {}, 400, 'invalid_grant'],
      [
        '/oauth/token',
        { grant_type: 'refresh_token', refresh_token, scope: 'llm admin', ...CLI },
        {},
        400,
        'invalid_scope',
      ],
      ['/oauth/device_authorization', {}, {}, 400, 'invalid_request'],
      ['/oauth/device_authorization', { client_id: 'nobody' }, {}, 401, 'invalid_client'],
      ['/oauth/revoke', { ...CLI }, {}, 400, 'invalid_request'],
    ];
    for (const [path, form, headers, status, error] of cases) {
      const answer = await post(service, path, form, headers);
      assert.deepEqual([answer.status, answer.body.error], [status, error], `${path} ${JSON.stringify(form)}`);
      assert.equal(typeof answer.body.error_description, 'string');
      assert.equal(status === 401, answer.headers['www-authenticate'] !== undefined);
    }
    const json = await post(service, '/oauth/token', JSON.stringify(poll), { 'content-type': 'application/json' });
    assert.deepEqual([json.status, json.body.error], [415, 'invalid_request']);
  });

  it('revoke by any of the three tokens, and only for the client they belong to', async () => {
    const ada = await service.newUser('lin');
    const root = await service.root();
    const other = await root.ok<{ client_id: string; client_secret: string }>('POST', '/api/admin/device-clients', {
      name: 'Other',
    });
    for (const kind of ['access_token', 'refresh_token', 'llm_token'] as const) {
      const tokens = await service.signIn(ada);
      const foreign = await post(service, '/oauth/revoke', {
        token: tokens[kind],
        client_id: other.client_id,
        client_secret: other.client_secret,
      });
      assert.equal(foreign.status, 200);
      assert.equal(await service.acceptsModelKey(tokens.llm_token), true);
      assert.equal((await post(service, '/oauth/revoke', { token: tokens[kind], ...CLI })).status, 200);
      assert.equal(await service.acceptsModelKey(tokens.llm_token), false);
      assert.equal((await service.sendAsDevice(tokens, ada.id, 'GET', '/api/user/self')).status, 401);
      assert.equal((await post(service, '/oauth/revoke', { token: tokens[kind], ...CLI })).status, 200);
    }
  });

  it('agree with the JSON endpoints on every state', async () => {
    const ada = await service.newUser('mei');
    const both = async (device_code: string) => [
      (await service.poll(device_code)).error,
      (await post(service, '/oauth/token', { grant_type: DEVICE_GRANT, device_code, ...CLI })).body.error,
    ];
    const make = () => service.code();
    const pending = await make();
    assert.deepEqual(await both(pending.device_code), ['authorization_pending', 'authorization_pending']);
    const denied = await make();
    await ada.ok('POST', '/api/auth/device/deny', { user_code: denied.user_code });
    assert.deepEqual(await both(denied.device_code), ['access_denied', 'access_denied']);
    const used = await make();
    await ada.ok('POST', '/api/auth/device/approve', { user_code: used.user_code });
    await service.poll(used.device_code);
    assert.deepEqual(await both(used.device_code), ['invalid_grant', 'invalid_grant']);
    assert.deepEqual(await both('y'.repeat(32)), ['invalid_grant', 'invalid_grant']);
    service.clock.advance(600_000);
    assert.deepEqual(await both(pending.device_code), ['expired_token', 'expired_token']);
  });
});
