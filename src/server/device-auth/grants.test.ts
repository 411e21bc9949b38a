import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { type DeviceAuthFixture, freePort, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { ScriptlessBrowser } from '../../../test/device-auth/scriptless-browser.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
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

  static async start(databaseUrl: string): Promise<GrantFixture> {
    const port = String(await freePort());
    const issuer = `http://127.0.0.1:${port}`;
    const service = await startDeviceService(databaseUrl, { env: { PORT: port, BASE_URL: issuer } });
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
    fixture = await GrantFixture.start(await freshUrl());
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
      assert.deepEqual([both.scope, both.user_id], ['account models', ada.id]);
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
});
