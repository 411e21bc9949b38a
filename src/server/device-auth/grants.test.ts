import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { Secret, TOTP } from 'otpauth';
import { PASSWORD, type TestUser } from '../../../test/accounts/test-user-client.ts';
import { type DeviceAuthFixture, freePort, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { ScriptlessBrowser } from '../../../test/device-auth/scriptless-browser.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { postMcp, toolCall } from '../../../test/mcp/mcp-fixture.ts';
import { fetchMetrics, METRICS_TOKEN, parseMetrics, sumOf } from '../../../test/operations/fetch-metrics.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import { randomText } from '../platform/tokens.ts';

const CALLBACK = 'https://app.example/cb';
const PUBLIC = { client_id: 'public-app', redirect_uri: CALLBACK };

interface GrantTokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
  readonly expires_in: number;
  readonly user_id?: number;
}

/** The service with two clients that use the authorization code grant. */
class GrantFixture {
  readonly service: DeviceAuthFixture;
  readonly issuer: string;
  confidential = { client_id: 'web-app', client_secret: '' };

  constructor(service: DeviceAuthFixture, issuer: string) {
    this.service = service;
    this.issuer = issuer;
  }

  static async start(
    databaseUrl: string,
    env: Record<string, string> = {},
    outbound?: OutboundClient,
  ): Promise<GrantFixture> {
    const port = String(await freePort());
    const issuer = `http://127.0.0.1:${port}`;
    const service = await startDeviceService(databaseUrl, {
      env: { PORT: port, BASE_URL: issuer, ...env },
      ...(outbound && { outbound }),
    });
    const fixture = new GrantFixture(service, issuer);
    const root = await service.root();
    const create = (body: object) =>
      root.ok<{ client_secret: string }>('POST', '/api/admin/device-clients', {
        redirect_uris: [CALLBACK, 'http://127.0.0.1/cb'],
        ...body,
      });
    await create({ client_id: 'public-app', name: 'Public App', type: 'public' });
    const { client_secret } = await create({ client_id: 'web-app', name: 'Web App' });
    fixture.confidential = { client_id: 'web-app', client_secret };
    return fixture;
  }

  /** Parameters of an authorization request with its PKCE verifier. */
  request(more: Record<string, string> = {}) {
    const verifier = randomText(43);
    const query = new URLSearchParams({
      ...PUBLIC,
      response_type: 'code',
      scope: 'models',
      state: 'state-1',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...more,
    });
    return { verifier, query };
  }

  async open(query: URLSearchParams | string, address?: string): Promise<ScriptlessBrowser> {
    const tab = new ScriptlessBrowser(this.service, address);
    await tab.go('GET', `/oauth/authorize?${query}`);
    return tab;
  }

  /** Approves a request in a new browser and returns the parameters sent to the client. */
  async approve(username: string, query: URLSearchParams, limits: Record<string, string> = {}) {
    const tab = await this.open(query);
    await tab.logIn(username);
    await tab.submit('approve', limits);
    return Object.fromEntries(tab.leftTo?.searchParams ?? []) as Record<string, string>;
  }

  async token(form: Record<string, string>) {
    const answer = await this.service.app.http.fastify.inject({
      method: 'POST',
      url: '/oauth/token',
      payload: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    return { status: answer.statusCode, body: answer.json() as GrantTokens & { error?: string } };
  }

  exchange(code: string | undefined, verifier: string, more: Record<string, string> = {}) {
    const form = { grant_type: 'authorization_code', code: code ?? '', code_verifier: verifier, ...PUBLIC };
    return this.token({ ...form, ...more });
  }

  refresh(refresh_token: string, more: Record<string, string> = {}) {
    return this.token({ grant_type: 'refresh_token', refresh_token, client_id: 'public-app', ...more });
  }

  /** A complete grant for the public client. */
  async grant(username: string, more: Record<string, string> = {}, limits: Record<string, string> = {}) {
    const { verifier, query } = this.request(more);
    const { code } = await this.approve(username, query, limits);
    const { status, body } = await this.exchange(code, verifier);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  acceptsModelCall({ access_token }: Pick<GrantTokens, 'access_token'>): Promise<boolean> {
    return this.service.acceptsModelKey(access_token);
  }

  async managementStatus({ access_token }: Pick<GrantTokens, 'access_token'>, person: TestUser): Promise<number> {
    return (await this.service.sendAsDevice({ access_token }, person.id, 'GET', '/api/user/self')).status;
  }
}

forEachDatabase((_dialect, _open, freshUrl) => {
  let fixture: GrantFixture;
  let ada: TestUser;
  before(async () => {
    fixture = await GrantFixture.start(await freshUrl(), { METRICS_TOKEN });
    ada = await fixture.service.newUser('ada');
  });
  after(() => fixture.service.app.close());

  describe('the authorization code grant', () => {
    it('opens what the scopes say, for a public and a confidential client', async () => {
      const models = await fixture.grant('ada');
      assert.equal(models.scope, 'models');
      assert.equal(models.user_id, undefined);
      assert.equal(models.expires_in, 3_600);
      assert.equal(await fixture.acceptsModelCall(models), true);
      assert.equal(await fixture.managementStatus(models, ada), 403);
      const { verifier, query } = fixture.request({ client_id: 'web-app', scope: 'account models' });
      const { code } = await fixture.approve('ada', query);
      const { body: both } = await fixture.exchange(code, verifier, fixture.confidential);
      assert.deepEqual([both.scope, both.user_id, 'llm_token' in both], ['account models', ada.id, false]);
      assert.equal(await fixture.acceptsModelCall(both), true);
      assert.equal(await fixture.managementStatus(both, ada), 200);
      const video = { model: 'x', prompt: 'x' };
      const { status } = await fixture.service.sendAsDevice(both, ada.id, 'POST', '/api/videos', video);
      assert.equal(status, 403, 'spends on the model paths only');
    });

    it('issues tokens for /mcp that open nothing else', async () => {
      const tokens = await fixture.grant('ada', { scope: 'mcp', resource: `${fixture.issuer}/mcp` });
      assert.equal(tokens.scope, 'mcp');
      assert.equal(await fixture.acceptsModelCall(tokens), false);
      assert.equal(await fixture.managementStatus(tokens, ada), 401);
    });

    it('returns state and issuer, also with an error', async () => {
      const { query } = fixture.request();
      assert.equal((await fixture.open(query)).leftTo, undefined);
      const { code, ...rest } = await fixture.approve('ada', query);
      assert.match(code ?? '', /^[A-Za-z0-9]{43}$/);
      assert.deepEqual(rest, { state: 'state-1', iss: fixture.issuer });
      const tab = await fixture.open(query);
      await tab.logIn('ada');
      await tab.submit('deny');
      assert.equal(tab.leftTo?.origin, 'https://app.example');
      const { error, state, iss } = Object.fromEntries(tab.leftTo.searchParams);
      assert.deepEqual({ error, state, iss }, { error: 'access_denied', state: 'state-1', iss: fixture.issuer });
    });

    it('ends within the limits that the owner set, and is listed and revoked with the devices', async () => {
      const limits = { expires_in_days: '2', spend_limit_amount: '2.50', spend_limit_period: 'week' };
      const tokens = await fixture.grant('ada', {}, limits);
      const [listed] = await ada.ok<Record<string, unknown>[]>('GET', '/api/user/devices');
      const { clock } = fixture.service;
      assert.deepEqual(
        [listed?.client, listed?.scopes, listed?.expires_at, listed?.expires_time],
        ['Public App', ['models'], ...Array(2).fill(Math.floor(clock.now() / 1000) + 2 * 86_400)],
      );
      const { renews_at, ...limit } = (listed?.spend_limit ?? {}) as Record<string, unknown>;
      assert.deepEqual(limit, { amount: 1_250_000, period: 'week', spent: 0 });
      assert.equal(new Date(Number(renews_at) * 1000).getUTCDay(), 1);
      clock.advance(47 * 3_600_000);
      const { body: last } = await fixture.refresh(tokens.refresh_token);
      assert.equal(last.expires_in, 3_600);
      clock.advance(3_600_000);
      assert.equal(await fixture.acceptsModelCall(last), false);
      assert.equal((await fixture.refresh(last.refresh_token)).body.error, 'invalid_grant');
      const other = await fixture.grant('ada');
      const [newest] = await ada.ok<{ id: number }[]>('GET', '/api/user/devices');
      await ada.ok('DELETE', `/api/user/devices/${newest?.id}`);
      assert.equal(await fixture.acceptsModelCall(other), false);
      assert.equal((await fixture.refresh(other.refresh_token)).body.error, 'invalid_grant');
    });

    it('shows what is asked for, in both languages, and wrong limits at their field', async () => {
      const { query } = fixture.request({ scope: 'account models' });
      const tab = await fixture.open(query);
      assert.match(tab.html, /Sign in to connect an application/);
      assert.doesNotMatch(tab.html, /<script/);
      await tab.logIn('ada', 'wrong-password-1');
      assert.match(tab.html, /role="alert"/);
      await tab.logIn('ada');
      for (const text of ['Public App', 'app.example', 'ada', 'mailbox', 'Call models'])
        assert.ok(tab.html.includes(text), text);
      assert.match(String(tab.headers['content-security-policy']), /form-action 'self';/);
      assert.match(String(tab.headers['content-security-policy']), /frame-ancestors 'none'/);
      const chinese = new ScriptlessBrowser(fixture.service);
      for (const [name, value] of tab.cookies) chinese.cookies.set(name, value);
      await chinese.go('GET', `/oauth/authorize?${query}&lang=zh-CN`);
      assert.match(chinese.html, /允许此应用访问吗/);
      assert.match(chinese.html, /最多可花费（[^（）]+）/);
      const wrongLimits: readonly Record<string, string>[] = [
        { spend_limit_amount: '0' },
        { spend_limit_amount: '-1' },
        { spend_limit_amount: '1e3' },
        { spend_limit_amount: '9'.repeat(20) },
        { spend_limit_amount: '1', spend_limit_period: 'year' },
        { expires_in_days: '0' },
        { expires_in_days: '366' },
        { expires_in_days: 'ten' },
      ];
      for (const wrong of wrongLimits) {
        await tab.submit('approve', wrong);
        assert.equal(tab.status, 400, JSON.stringify(wrong));
        assert.match(tab.html, /aria-invalid="true"/);
        assert.equal(tab.leftTo, undefined);
      }
    });

    it('asks for the second step again where a login is old', async () => {
      const cleo = await fixture.service.newUser('cleo');
      const { secret } = await cleo.ok<{ secret: string }>('POST', '/api/user/2fa/setup', { password: PASSWORD });
      const totp = new TOTP({ secret: Secret.fromBase32(secret) });
      const code = () => totp.generate({ timestamp: fixture.service.clock.now() });
      await cleo.ok('POST', '/api/user/2fa/enable', { code: code() });
      const tab = await fixture.open(fixture.request().query);
      await tab.logIn('cleo');
      assert.match(tab.html, /Second step/);
      fixture.service.clock.advance(60_000);
      await tab.submit('second-step', { otp: code() });
      assert.match(tab.html, /Let this application in/);
      fixture.service.clock.advance(13 * 3_600_000);
      await tab.go('GET', `/oauth/authorize?${fixture.request().query}`);
      await tab.submit('approve');
      assert.equal(tab.leftTo, undefined, 'no code without the second step');
      await tab.submit('approve', { otp: '000000' });
      assert.equal(tab.leftTo, undefined);
      await tab.submit('approve', { otp: code() });
      assert.match(String(tab.leftTo), /[?&]code=/);
    });

    it('works with openid-client and oauth4webapi, through refresh and revocation', async () => {
      const insecure = { [oauth.allowInsecureRequests]: true };
      const issuer = new URL(fixture.issuer);
      const config = await openid.discovery(issuer, 'public-app', undefined, openid.None(), {
        algorithm: 'oauth2',
        execute: [openid.allowInsecureRequests],
      });
      const verifier = openid.randomPKCECodeVerifier();
      const state = openid.randomState();
      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: 'http://127.0.0.1:49321/cb',
        scope: 'models',
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        resource: fixture.issuer,
        state,
      });
      const tab = await fixture.open(url.searchParams);
      await tab.logIn('ada');
      await tab.submit('approve');
      assert.ok(tab.leftTo);
      const check = { pkceCodeVerifier: verifier, expectedState: state };
      const tokens = await openid.authorizationCodeGrant(config, tab.leftTo, check);
      assert.equal(await fixture.acceptsModelCall(tokens), true);
      const fresh = await openid.refreshTokenGrant(config, String(tokens.refresh_token), { scope: 'models' });
      assert.deepEqual([await fixture.acceptsModelCall(tokens), await fixture.acceptsModelCall(fresh)], [false, true]);
      await openid.tokenRevocation(config, fresh.access_token);
      assert.equal(await fixture.acceptsModelCall(fresh), false);

      const found = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' });
      const server = await oauth.processDiscoveryResponse(issuer, found);
      const resource = new URL(`${fixture.issuer}/mcp`);
      const described = await oauth.resourceDiscoveryRequest(resource, insecure);
      const metadata = await oauth.processResourceDiscoveryResponse(resource, described);
      assert.deepEqual(metadata.authorization_servers, [fixture.issuer]);
      const app = { client_id: 'web-app' };
      const { query, verifier: secondVerifier } = fixture.request({
        client_id: 'web-app',
        scope: metadata.scopes_supported?.join(' ') ?? '',
        resource: String(resource),
      });
      const second = await fixture.open(query);
      await second.logIn('ada');
      await second.submit('approve');
      const parameters = oauth.validateAuthResponse(server, app, second.leftTo ?? issuer, 'state-1');
      const auth = oauth.ClientSecretBasic(fixture.confidential.client_secret);
      const options = { ...insecure, additionalParameters: { resource: String(resource) } };
      const answer = await oauth.authorizationCodeGrantRequest(
        ...([server, app, auth, parameters, CALLBACK, secondVerifier, options] as const),
      );
      const issued = await oauth.processAuthorizationCodeResponse(server, app, answer);
      assert.equal(issued.scope, 'mcp');
    });
  });

  describe('attacks on the authorization code grant', () => {
    it('T120: never redirects to an address that is not registered', async () => {
      for (const redirect_uri of [
        '',
        'https://evil.example/cb',
        'https://app.example/cb/',
        'https://app.example/cb?next=https://evil.example',
        'https://app.example/cb#x',
        'https://app.example:8443/cb',
        'https://app.example@evil.example/cb',
        'https://app.example.evil.example/cb',
        'https://app.example%2fcb',
        'http://app.example/cb',
        'http://127.0.0.1:80@evil.example/cb',
        'http://127.0.0.1.evil.example/cb',
        'http://localhost/cb',
        'javascript:alert(1)',
        'data:text/html,x',
        '//evil.example/cb',
        '/cb',
      ]) {
        const tab = await fixture.open(fixture.request({ redirect_uri }).query);
        assert.deepEqual([tab.status, tab.leftTo], [400, undefined], redirect_uri);
      }
      const { query } = fixture.request();
      for (const [name, value] of [
        ['redirect_uri', 'https://evil.example/cb'],
        ['redirect_uri', CALLBACK],
        ['client_id', 'web-app'],
        ['client_id', 'public-app'],
      ] as const) {
        const tab = await fixture.open(`${query}&${new URLSearchParams({ [name]: value })}`);
        assert.deepEqual([tab.status >= 400, tab.leftTo], [true, undefined], `${name} repeated`);
      }
      const unknown = await fixture.open(fixture.request({ client_id: 'nobody' }).query);
      assert.deepEqual([unknown.status >= 400, unknown.leftTo], [true, undefined]);
      const long = await fixture.open(fixture.request({ state: 'x'.repeat(4_000) }).query);
      assert.deepEqual([long.status, long.leftTo], [400, undefined]);
    });

    it('T121: refuses requests without PKCE, with plain, and of other kinds, at the client', async () => {
      const refused = async (more: Record<string, string>, omit: readonly string[] = []) => {
        const { query } = fixture.request(more);
        for (const name of omit) query.delete(name);
        const { leftTo } = await fixture.open(query);
        assert.equal(leftTo?.searchParams.get('state'), 'state-1');
        assert.equal(leftTo.searchParams.get('iss'), fixture.issuer);
        assert.equal(leftTo.searchParams.get('code'), null);
        return leftTo.searchParams.get('error');
      };
      assert.equal(await refused({}, ['code_challenge', 'code_challenge_method']), 'invalid_request');
      assert.equal(await refused({}, ['code_challenge_method']), 'invalid_request');
      assert.equal(await refused({ code_challenge_method: 'plain' }), 'invalid_request');
      assert.equal(await refused({ code_challenge: 'short' }), 'invalid_request');
      assert.equal(await refused({}, ['response_type']), 'invalid_request');
      assert.equal(await refused({ response_type: 'token' }), 'unsupported_response_type');
      assert.equal(await refused({ response_mode: 'fragment' }), 'invalid_request');
      assert.equal(await refused({ request_uri: 'https://evil.example/' }), 'invalid_request');
      assert.equal(await refused({ prompt: 'none' }), 'interaction_required');
      assert.equal(await refused({ scope: 'models admin' }), 'invalid_scope');
      assert.equal(await refused({ scope: 'mcp' }), 'invalid_target');
      assert.equal(await refused({ scope: 'mcp', resource: fixture.issuer }), 'invalid_scope');
      assert.equal(await refused({ scope: 'models', resource: `${fixture.issuer}/mcp` }), 'invalid_scope');
      assert.equal(await refused({ resource: 'https://evil.example' }), 'invalid_target');
      assert.equal(await refused({ resource: `${fixture.issuer}/claude-code` }), 'invalid_target');
      const { query } = fixture.request();
      const repeated = await fixture.open(`${query}&state=other`);
      assert.equal(repeated.leftTo?.searchParams.get('error'), 'invalid_request');
    });

    it('T122: exchanges a code for its own client, redirect, verifier and resource only, and not after a minute', async () => {
      const { verifier, query } = fixture.request();
      const { code } = await fixture.approve('ada', query);
      const failures: readonly [Record<string, string>, string][] = [
        [{ code_verifier: randomText(43) }, 'invalid_grant'],
        [{ code_verifier: '' }, 'invalid_grant'],
        [{ redirect_uri: 'http://127.0.0.1/cb' }, 'invalid_grant'],
        [{ ...fixture.confidential }, 'invalid_grant'],
        [{ client_secret: 'guess' }, 'invalid_client'],
        [{ client_id: 'web-app' }, 'invalid_client'],
        [{ client_id: 'nobody' }, 'invalid_client'],
        [{ resource: `${fixture.issuer}/mcp` }, 'invalid_target'],
        [{ resource: 'https://evil.example' }, 'invalid_target'],
        [{ code: `${code}x` }, 'invalid_grant'],
      ];
      for (const [change, error] of failures)
        assert.equal((await fixture.exchange(code, verifier, change)).body.error, error, JSON.stringify(change));
      const form = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: code ?? '' };
      assert.equal((await fixture.token({ ...form, client_id: 'public-app' })).body.error, 'invalid_grant');
      assert.equal((await fixture.exchange(code, verifier)).status, 200, 'no failure used the code up');
      const late = await fixture.approve('ada', query);
      fixture.service.clock.advance(60_000);
      assert.equal((await fixture.exchange(late.code, verifier)).body.error, 'invalid_grant');
    });

    it('T123: answers one of twenty exchanges of a code, and a replay ends what it gave', async () => {
      const { verifier, query } = fixture.request();
      const { code } = await fixture.approve('ada', query);
      const answers = await Promise.all(Array.from({ length: 20 }, () => fixture.exchange(code, verifier)));
      const issued = answers.filter(({ status }) => status === 200);
      assert.equal(issued.length, 1);
      for (const { status, body } of answers)
        if (status !== 200) assert.deepEqual([status, body.error], [400, 'invalid_grant']);
      const tokens = issued[0]?.body ?? assert.fail();
      assert.equal(await fixture.acceptsModelCall(tokens), false);
      assert.equal((await fixture.refresh(tokens.refresh_token)).body.error, 'invalid_grant');
      const notices = await ada.ok<{ title: string }[]>('GET', '/api/notifications');
      assert.ok(notices.some(({ title }) => title.includes('for safety')));
      const later = await fixture.approve('ada', query);
      const { body: given } = await fixture.exchange(later.code, verifier);
      assert.equal(await fixture.acceptsModelCall(given), true);
      assert.equal((await fixture.exchange(later.code, verifier)).body.error, 'invalid_grant');
      assert.equal(await fixture.acceptsModelCall(given), false);
    });

    it('takes parameters without a value as left out (RFC 6749 sections 3.1 and 3.2)', async () => {
      const { verifier, query } = fixture.request({
        state: '',
        resource: '',
        prompt: '',
        response_mode: '',
        scope: '',
      });
      const answer = await fixture.approve('ada', query);
      assert.deepEqual(Object.keys(answer), ['code', 'iss']);
      const { status, body } = await fixture.exchange(answer.code, verifier, {
        client_secret: '',
        resource: '',
        redirect_uri: '',
      });
      assert.deepEqual([status, body.scope], [200, 'models'], JSON.stringify(body));
      const refreshed = await fixture.refresh(body.refresh_token, { scope: '', resource: '', client_secret: '' });
      assert.deepEqual([refreshed.status, refreshed.body.scope], [200, 'models'], JSON.stringify(refreshed.body));
    });

    it('needs no redirect URI with a code, as in OAuth 2.1, and no other one', async () => {
      const { verifier, query } = fixture.request();
      const { code = '' } = await fixture.approve('ada', query);
      const form = { grant_type: 'authorization_code', code, client_id: 'public-app' };
      const other = await fixture.token({ ...form, code_verifier: verifier, redirect_uri: 'http://127.0.0.1/cb' });
      assert.equal(other.body.error, 'invalid_grant');
      const wrong = await fixture.token({ ...form, code_verifier: 'x'.repeat(43) });
      assert.equal(wrong.body.error, 'invalid_grant');
      const { status, body } = await fixture.token({ ...form, code_verifier: verifier });
      assert.equal(status, 200, JSON.stringify(body));
    });

    it('is counted by kind of request and outcome', async () => {
      const scrape = async () => parseMetrics(await fetchMetrics(fixture.service.url));
      const before = await scrape();
      const { refresh_token } = await fixture.grant('ada');
      await fixture.refresh(refresh_token);
      await fixture.refresh('rgrt_wrong');
      await fixture.exchange('wrong', 'x'.repeat(43));
      await fixture.grant('ada', { scope: 'mcp', resource: `${fixture.issuer}/mcp` });
      const reused = { grant: 'refresh_token', outcome: 'reused' };
      assert.notEqual(sumOf(before, 'token_requests_total', reused), undefined, 'an increase from 0 can be seen');
      const stolen = await fixture.grant('ada');
      await fixture.refresh(stolen.refresh_token);
      await fixture.refresh(stolen.refresh_token);
      fixture.service.clock.advance(60_001);
      // Only the first one ends something.
      for (let use = 0; use < 2; use += 1) await fixture.refresh(stolen.refresh_token);
      const now = await scrape();
      for (const [name, labels, increase] of [
        ['token_requests_total', { grant: 'authorization_code', outcome: 'ok' }, 3],
        ['token_requests_total', { grant: 'authorization_code', outcome: 'authorization_code_invalid' }, 1],
        ['token_requests_total', { grant: 'refresh_token', outcome: 'ok' }, 2],
        ['token_requests_total', { grant: 'refresh_token', outcome: 'refresh_token_spent' }, 3],
        ['token_requests_total', reused, 1],
        ['token_requests_total', { grant: 'authorization_code', outcome: 'reused' }, 0],
        ['token_requests_total', { grant: 'refresh_token', outcome: 'refresh_token_invalid' }, 1],
        ['sign_ins', { kind: 'api' }, 1],
        ['sign_ins', { kind: 'mcp' }, 1],
      ] as const)
        assert.equal(
          (sumOf(now, name, labels) ?? 0) - (sumOf(before, name, labels) ?? 0),
          increase,
          `${name} ${JSON.stringify(labels)}`,
        );
    });

    it('T124: rotates refresh tokens within the grant, and a late reuse ends it', async () => {
      const first = await fixture.grant('ada', { scope: 'models' });
      const wider = await fixture.refresh(first.refresh_token, { scope: 'account models' });
      assert.equal(wider.body.error, 'invalid_scope');
      const elsewhere = await fixture.refresh(first.refresh_token, { resource: `${fixture.issuer}/mcp` });
      assert.equal(elsewhere.body.error, 'invalid_target');
      const foreign = await fixture.refresh(first.refresh_token, fixture.confidential);
      assert.equal(foreign.body.error, 'invalid_grant');
      const { body: second } = await fixture.refresh(first.refresh_token);
      assert.equal(second.scope, 'models');
      fixture.service.clock.advance(61_000);
      assert.equal((await fixture.refresh(first.refresh_token)).body.error, 'invalid_grant');
      assert.equal(await fixture.acceptsModelCall(second), false);
      assert.equal((await fixture.refresh(second.refresh_token)).body.error, 'invalid_grant');
    });

    it('T125: decides only on a form that this browser was shown for this request', async () => {
      const { query } = fixture.request();
      const tab = await fixture.open(query);
      await tab.logIn('ada');
      const other = fixture.request({ scope: 'account', client_id: 'web-app' }).query.toString();
      const wrongFields: readonly Record<string, string>[] = [{ form: 'x' }, { request: other }];
      for (const wrong of wrongFields) {
        for (const action of ['approve', 'deny']) {
          await tab.go('POST', `/oauth/authorize/${action}`, { ...tab.fields(action), lang: 'en', ...wrong });
          assert.equal(tab.leftTo, undefined, `${action} ${JSON.stringify(wrong)}`);
          await tab.go('GET', `/oauth/authorize?${query}`);
        }
      }
      const stranger = new ScriptlessBrowser(fixture.service);
      stranger.cookies.set('session', tab.cookies.get('session') ?? '');
      await stranger.go('POST', '/oauth/authorize/approve', tab.fields('approve'));
      assert.equal(stranger.leftTo, undefined, 'without the cookie of the form');
      await tab.submit('approve', {}, { 'sec-fetch-site': 'cross-site' });
      assert.equal(tab.leftTo, undefined);
    });

    it('lets in sixty applications of an account in ten minutes', async () => {
      await fixture.service.newUser('carl');
      const { query } = fixture.request();
      const tab = await fixture.open(query);
      await tab.logIn('carl');
      for (let count = 0; count < 60; count++) {
        await tab.submit('approve');
        assert.ok(tab.leftTo?.searchParams.has('code'), `${count}: ${tab.status}`);
        tab.leftTo = undefined;
        await tab.go('GET', `/oauth/authorize?${query}`);
      }
      await tab.submit('approve');
      assert.deepEqual([tab.status, tab.leftTo], [429, undefined]);
    });

    it('T126: keeps a public client away from the endpoints of devices', async () => {
      const { verifier, query } = fixture.request();
      const { code } = await fixture.approve('ada', query);
      const visitor = fixture.service.anonymous();
      await visitor.fails(200, 'POST', '/api/auth/device/code', { client_id: 'public-app' });
      const poll = { device_code: code, client_id: 'public-app', client_secret: 'x' };
      const { body } = await visitor.send('POST', '/api/auth/device/token', poll);
      assert.equal(body.error, 'invalid_client');
      const { status, body: tokens } = await fixture.exchange(code, verifier);
      assert.equal(status, 200);
      for (const client_secret of ['x', '']) {
        const credentials = { client_id: 'public-app', client_secret };
        const refresh = { refresh_token: tokens.refresh_token, ...credentials };
        const { body: refused } = await visitor.send('POST', '/api/auth/device/refresh', refresh);
        assert.notEqual(refused.success, true, JSON.stringify(refused));
      }
      assert.equal((await fixture.refresh(tokens.refresh_token)).status, 200, 'no refusal used the token up');
    });

    it('ends with a ban, also between approval and exchange', async () => {
      const bert = await fixture.service.newUser('bert');
      const tokens = await fixture.grant('bert');
      const { verifier, query } = fixture.request();
      const { code } = await fixture.approve('bert', query);
      const root = await fixture.service.root();
      await root.ok('PUT', `/api/admin/users/${bert.id}`, { status: 2 });
      assert.equal(await fixture.acceptsModelCall(tokens), false);
      assert.equal((await fixture.exchange(code, verifier)).body.error, 'invalid_grant');
      await root.ok('PUT', `/api/admin/users/${bert.id}`, { status: 1 });
      assert.equal((await fixture.exchange(code, verifier)).body.error, 'invalid_grant');
      assert.equal(await fixture.acceptsModelCall(tokens), false);
    });
  });
});

it('spends within the limit of the grant, under its own name in the request log', async () => {
  const fixture = await GrantFixture.start('sqlite::memory:', { SANDBOX: '1', NEW_USER_QUOTA: '50000000' });
  try {
    const ada = await fixture.service.newUser('ada');
    const video = async (access_token: string, url = '/v1/videos') => {
      const headers = { authorization: `Bearer ${access_token}` };
      const body = { model: 'sora-2', prompt: 'a pier', seconds: '4' };
      return fixture.service.anonymous().send('POST', url, body, headers);
    };
    const tiny = await fixture.grant('ada', {}, { spend_limit_amount: '0.01', spend_limit_period: 'month' });
    const refused = await video(tiny.access_token);
    assert.equal(refused.status, 403, JSON.stringify(refused.body));
    const { code, message } = refused.body.error as { code: string; message: string };
    assert.equal(code, 'quota_not_enough');
    assert.match(message, /0\.01 credits per month.*renews at \d{4}-\d{2}-01T00:00:00\.000Z/);
    const cap = { spend_limit_amount: '0.01', spend_limit_period: 'day' };
    const assistant = await fixture.grant('ada', { scope: 'mcp', resource: `${fixture.issuer}/mcp` }, cap);
    const create = toolCall('create_video', { model: 'sora-2', prompt: 'a pier', seconds: 4 });
    const { body: overMcp } = await postMcp(fixture.issuer, assistant.access_token, create);
    assert.equal(overMcp.result?._meta?.error?.code, 'quota_not_enough', JSON.stringify(overMcp));
    assert.match(overMcp.result?.content?.[0]?.text ?? '', /0\.01 credits per day.*renews at/);
    const enough = await fixture.grant('ada', {}, { spend_limit_amount: '20', spend_limit_period: 'month' });
    const made = await video(enough.access_token);
    assert.equal(made.status, 200, JSON.stringify(made.body));
    const { id } = made.body as { readonly id?: string };
    const [listed] = await ada.ok<{ spend_limit: { spent: number } }[]>('GET', '/api/user/devices');
    const { quota } = await ada.ok<{ quota: number }>('GET', '/api/user/self');
    assert.equal(listed?.spend_limit.spent, 50_000_000 - quota);
    const { body: fresh } = await fixture.refresh(enough.refresh_token);
    const { status } = await fixture.service
      .anonymous()
      .send('GET', `/v1/videos/${id}`, undefined, { authorization: `Bearer ${fresh.access_token}` });
    assert.equal(status, 200, 'a task belongs to the grant');
    const foreign = await fixture.service
      .anonymous()
      .send('GET', `/v1/videos/${id}`, undefined, { authorization: `Bearer ${tiny.access_token}` });
    assert.notEqual(foreign.status, 200);
  } finally {
    await fixture.service.app.close(0);
  }
});

it('T127: lets in a client that describes itself, and redirects to it only after a decision', async () => {
  const client_id = 'https://client.example/client.json';
  const document = { client_id, client_name: 'Self', redirect_uris: ['https://client.example/cb'] };
  const outbound = {
    requestUntrusted: async () => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: Readable.from([Buffer.from(JSON.stringify(document))]),
    }),
    close: async () => {},
  } as unknown as OutboundClient;
  const fixture = await GrantFixture.start('sqlite::memory:', {}, outbound);
  const root = await fixture.service.root();
  const accept = (value: string) => root.ok('PUT', '/api/admin/settings/OAUTH_CLIENT_METADATA', { value });
  const announced = async () => {
    const metadata = await fixture.service.app.http.fastify.inject('/.well-known/oauth-authorization-server');
    return metadata.json().client_id_metadata_document_supported;
  };
  try {
    const unknown = await fixture.open(fixture.request({ client_id, redirect_uri: 'https://client.example/cb' }).query);
    assert.deepEqual([unknown.status >= 400, await announced()], [true, false]);
    await accept('1');
    assert.equal(await announced(), true);
    const ada = await fixture.service.newUser('ada');
    const own = { client_id, redirect_uri: 'https://client.example/cb' };
    const refused = await fixture.open(fixture.request({ ...own, scope: 'admin' }).query);
    assert.deepEqual([refused.status, refused.leftTo], [400, undefined]);
    const { verifier, query } = fixture.request(own);
    const tab = await fixture.open(query);
    await tab.logIn('ada');
    for (const text of ['Self', 'client.example', 'not verified']) assert.ok(tab.html.includes(text), text);
    await tab.submit('approve');
    const { body } = await fixture.exchange(tab.leftTo?.searchParams.get('code') ?? '', verifier, own);
    assert.equal(await fixture.acceptsModelCall(body), true);
    const [listed] = await ada.ok<{ client: string; name: string }[]>('GET', '/api/user/devices');
    assert.deepEqual([listed?.client, listed?.name], [client_id, 'Self']);
    await accept('0');
    assert.equal((await fixture.refresh(body.refresh_token, { client_id })).body.error, 'invalid_client');
  } finally {
    await fixture.service.app.close(0);
  }
});
