import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { PASSWORD } from '../accounts/test-user-client.ts';
import { type DeviceAuthFixture, freePort, startDeviceService } from '../device-auth/device-auth-fixture.ts';
import { acquireChromium, chromiumPath } from './chromium.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const PHONE = { width: 390, height: 844 };
const VARIANTS: readonly BrowserContextOptions[] = [
  { locale: 'en', colorScheme: 'light' },
  { locale: 'en', colorScheme: 'dark' },
  { locale: 'zh-CN', colorScheme: 'light' },
  { locale: 'zh-CN', colorScheme: 'dark' },
];
const LIBRARY = readFileSync(createRequire(import.meta.url).resolve('oauth4webapi'));

/** An application of another origin that runs in the browser alone, after docs/oauth.md. */
const APPLICATION = (issuer: string) => `
import * as oauth from '/oauth4webapi.js';
const options = { [oauth.allowInsecureRequests]: true };
const issuer = new URL(${JSON.stringify(issuer)});
const client = { client_id: 'browser-app' };
const redirectUri = location.origin + '/cb';
const show = (text) => { document.querySelector('output').textContent = text; };
try {
  const server = await oauth.processDiscoveryResponse(
    issuer, await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' }));
  if (location.pathname === '/cb') {
    const { verifier, state } = JSON.parse(sessionStorage.saved);
    const parameters = oauth.validateAuthResponse(server, client, new URL(location.href), state);
    const tokens = await oauth.processAuthorizationCodeResponse(server, client,
      await oauth.authorizationCodeGrantRequest(
        server, client, oauth.None(), parameters, redirectUri, verifier, options));
    const fresh = await oauth.processRefreshTokenResponse(server, client,
      await oauth.refreshTokenGrantRequest(server, client, oauth.None(), tokens.refresh_token, options));
    const models = await fetch(issuer + 'v1/models', { headers: { authorization: 'Bearer ' + fresh.access_token } });
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(server, client, oauth.None(), fresh.access_token, options));
    show('scope ' + tokens.scope + ', models ' + models.status);
  } else {
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    sessionStorage.saved = JSON.stringify({ verifier, state });
    const url = new URL(server.authorization_endpoint);
    url.search = new URLSearchParams({
      ...client, redirect_uri: redirectUri, response_type: 'code', scope: 'models', state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' });
    location.assign(url);
  }
} catch (error) {
  show(String(error));
}
`;

describe('the consent page on a phone', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let service: DeviceAuthFixture;
  let application: Server;
  let origin: string;
  let chromium: Awaited<ReturnType<typeof acquireChromium>>;
  const violations: string[] = [];
  const passedOn: string[] = [];

  before(async () => {
    const port = String(await freePort());
    const issuer = `http://127.0.0.1:${port}`;
    application = createServer(({ url = '' }, response) => {
      // As https://claude.ai/api/mcp/auth_callback passes the code on to the program.
      if (url.startsWith('/to-program')) {
        passedOn.push(origin + url);
        return response.writeHead(307, { location: 'my-program://done' }).end();
      }
      const script = url === '/oauth4webapi.js' ? LIBRARY : url === '/app.js' ? APPLICATION(issuer) : undefined;
      response.setHeader('content-type', script === undefined ? 'text/html' : 'text/javascript');
      return response.end(
        script ?? '<!doctype html><title>App</title><output></output><script type="module" src="/app.js"></script>',
      );
    }).listen(0, '127.0.0.1');
    await once(application, 'listening');
    origin = `http://127.0.0.1:${(application.address() as AddressInfo).port}`;
    const env = { PORT: port, BASE_URL: issuer, CORS_ORIGINS: origin };
    service = await startDeviceService('sqlite::memory:', { env });
    const root = await service.root();
    await root.ok('POST', '/api/admin/device-clients', {
      client_id: 'browser-app',
      name: 'An application with a long name that does not fit into one line of a phone',
      type: 'public',
      redirect_uris: ['http://127.0.0.1/cb', 'http://127.0.0.1/to-program', 'my-program://callback'],
    });
    await service.newUser('ada');
    chromium = await acquireChromium();
  });
  after(async () => {
    chromium.release();
    application.close();
    application.closeAllConnections();
    await service.app.close();
    assert.deepEqual(violations, []);
  });

  const open = async (options: BrowserContextOptions): Promise<Page> => {
    const page = await (await chromium.browser.newContext({ viewport: PHONE, ...options })).newPage();
    page.on('console', (message) => {
      if (/Content Security Policy|CORS/.test(message.text())) violations.push(message.text());
    });
    page.on('pageerror', (error) => violations.push(String(error)));
    return page;
  };
  const logIn = async (page: Page, password = PASSWORD): Promise<void> => {
    await page.fill('#username', 'ada');
    await page.fill('#password', password);
    await page.click('form[action="/authorize/login"] button');
  };
  const approve = (page: Page) => page.click('#approve button');

  for (const variant of VARIANTS)
    it(`is accessible and lets an application of another origin in, in ${variant.locale}, ${variant.colorScheme}`, async () => {
      const page = await open(variant);
      await page.goto(origin);
      await page.locator('#username').waitFor();
      assert.equal(await page.locator('html').getAttribute('lang'), variant.locale);
      await assertAccessible(page, 'login');
      await logIn(page, 'not-the-password');
      await assertAccessible(page, 'wrong password');
      await logIn(page);
      await page.locator('#amount').waitFor();
      await assertAccessible(page, 'consent');
      await page.fill('#amount', 'much');
      await approve(page);
      assert.equal(await page.locator('#amount').getAttribute('aria-invalid'), 'true');
      await assertAccessible(page, 'wrong amount');
      await page.fill('#amount', '2.5');
      await page.selectOption('#period', 'day');
      await page.fill('#days', '7');
      const [deny, allow] = await Promise.all(
        ['deny', 'approve'].map((action) =>
          page.locator(`form[action="/oauth/authorize/${action}"] button`).boundingBox(),
        ),
      );
      assert.deepEqual([deny?.width, deny?.height], [allow?.width, allow?.height]);
      await approve(page);
      await page.locator('output', { hasText: /./ }).waitFor();
      assert.equal(await page.locator('output').textContent(), 'scope models, models 200');
      await page.context().close();
    });

  for (const locale of ['en', 'zh-CN'])
    it(`works without JavaScript, in ${locale}`, async () => {
      const page = await open({ locale, javaScriptEnabled: false, colorScheme: 'dark' });
      const request = new URLSearchParams({
        client_id: 'browser-app',
        redirect_uri: `${origin}/cb`,
        response_type: 'code',
        scope: 'models account',
        state: 'of-the-app',
        code_challenge: 'x'.repeat(43),
        code_challenge_method: 'S256',
      });
      const address = `${service.url}/oauth/authorize?${request}`;
      await page.goto(address);
      await logIn(page, 'not-the-password');
      assert.equal(await page.locator('#error').count(), 1);
      await logIn(page);
      await page.fill('#days', '0');
      await approve(page);
      assert.equal(await page.locator('#days').getAttribute('aria-invalid'), 'true');
      await page.fill('#days', '');
      await page.fill('#amount', '2.5');
      await page.selectOption('#period', 'week');
      await approve(page);
      const root = await service.root();
      const [granted] = await root.ok<{ after: object }[]>('GET', '/api/admin/audit?action=grant.approve&page_size=1');
      assert.deepEqual(granted?.after, {
        ...granted?.after,
        ends_at: null,
        spend_limit: { amount: 2.5 * 500_000, period: 'week' },
      });
      await page.waitForURL(/\/cb\?/);
      const { searchParams, origin: ledTo } = new URL(page.url());
      assert.deepEqual(
        [ledTo, searchParams.get('state'), searchParams.get('iss')],
        [origin, 'of-the-app', service.url],
      );
      assert.match(String(searchParams.get('code')), /^.{20,}$/);
      await page.goto(address);
      assert.equal(await page.locator('html').getAttribute('lang'), locale);
      await page.click('form[action="/oauth/authorize/deny"] button');
      await page.waitForURL(/\/cb\?error=access_denied&/);
      await page.context().close();
    });

  it('leaves a window of its own to the page that opened it', async () => {
    const page = await open({ locale: 'en' });
    await page.route(`${origin}/opener`, (route) => route.fulfill({ contentType: 'text/html', body: 'opener' }));
    await page.goto(`${origin}/opener`);
    const request = new URLSearchParams({
      client_id: 'browser-app',
      redirect_uri: `${origin}/cb`,
      response_type: 'code',
      scope: 'models',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    const opened = page.waitForEvent('popup');
    await page.evaluate(`void open('${service.url}/oauth/authorize?${request}', 'sign-in', 'popup')`);
    const popup = await opened;
    await logIn(popup);
    await approve(popup);
    await popup.waitForURL(/\/cb\?code=/);
    assert.equal(await popup.evaluate('opener?.document.body.textContent'), 'opener');
    await page.context().close();
  });

  for (const [how, callback] of [
    ['its own scheme', () => 'my-program://callback'],
    ['a site that redirects to its own scheme', () => `${origin}/to-program`],
  ] as const)
    it(`returns to a program through ${how}`, async () => {
      const page = await open({ locale: 'en' });
      const request = new URLSearchParams({
        client_id: 'browser-app',
        redirect_uri: callback(),
        response_type: 'code',
        scope: 'models',
        code_challenge: 'x'.repeat(43),
        code_challenge_method: 'S256',
      });
      await page.goto(`${service.url}/oauth/authorize?${request}`);
      await logIn(page);
      await approve(page);
      await page.getByRole('heading', { name: 'Returning to the application' }).waitFor();
      await assertAccessible(page, 'return');
      const link = await page.getByRole('link', { name: 'Open the application' }).getAttribute('href');
      assert.match(String(link), /[?&]code=.{20,}/);
      if (callback().startsWith('http')) while (!passedOn.includes(String(link))) await page.waitForTimeout(50);
      await page.context().close();
    });
});
