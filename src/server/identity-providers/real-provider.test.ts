import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, it } from 'node:test';
import { RealProvider } from '../../../test/identity-providers/real-provider.ts';
import { startTestService, type TestService } from '../../../test/test-service.ts';

/** A browser that keeps the cookies of each origin and follows redirects between them. */
class CrossSiteBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();
  url = '';
  html = '';
  status = 0;

  async go(
    url: string,
    form?: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const { origin } = new URL(url);
    const cookies = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, cookies);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie, ...headers },
      ...(form !== undefined && { body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    this.status = response.status;
    this.html = await response.text();
    this.url = url;
    const location = response.headers.get('location');
    if (location !== null && response.status < 400) await this.go(new URL(location, url).href);
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

let provider: RealProvider;
let service: TestService;
before(async () => {
  provider = await RealProvider.start();
  const port = String(await findFreePort());
  const providers = [provider.settings('sso', { auto_create: true })];
  const env = { PORT: port, BASE_URL: `http://127.0.0.1:${port}`, OIDC_PROVIDERS: JSON.stringify(providers) };
  service = await startTestService('sqlite::memory:', env);
  await provider.serve(`${service.url}/auth/sso`);
});
after(async () => {
  await service.stop();
  await provider.stop();
});

it('signs in at a certified provider, and out by its back-channel logout', async () => {
  const browser = new CrossSiteBrowser();
  await browser.go(`${service.url}/auth/sso/start?return_to=/api-does-not-matter`);
  assert.match(browser.html, /Example SSO/);
  await browser.go(browser.url, {});
  assert.equal(browser.url, `${service.url}/api-does-not-matter`);
  await browser.go(`${service.url}/api/user/session`);
  const { data } = JSON.parse(browser.html) as { data: { id: number; username: string } };
  assert.equal(data.username, 'grace');
  const user = { 'service-api-user': String(data.id) };
  await browser.go(`${service.url}/api/user/self`, undefined, user);
  assert.equal(JSON.parse(browser.html).data.email, 'grace@example.com');
  await browser.go(`${provider.issuer}/session/end`);
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(browser.html)?.[1] ?? '';
  await browser.go(`${provider.issuer}/session/end/confirm`, { xsrf, logout: 'yes' });
  await browser.go(`${service.url}/api/user/self`, undefined, user);
  assert.equal(browser.status, 401);
  await browser.go(`${service.url}/api/user/session-end`);
  assert.equal(JSON.parse(browser.html).data.reason, 'signed_out_by_provider');
});

it('tells root which part of the settings is wrong', async () => {
  const test = async (change: object) => {
    const body = { provider: { ...provider.settings('sso'), ...change } };
    const { checks } = await service.root.ok<{ checks: { name: string; ok: boolean; detail: string }[] }>(
      'POST',
      '/api/admin/identity-providers/test',
      body,
    );
    return checks;
  };
  assert.deepEqual(
    (await test({})).map(({ name, ok }) => [name, ok]),
    [
      ['discovery', true],
      ['keys', true],
      ['client', true],
    ],
  );
  assert.deepEqual((await test({ client_secret: 'another' })).at(-1)?.ok, false);
  const [unreachable] = await test({ issuer: 'http://127.0.0.1:1' });
  assert.deepEqual([unreachable?.name, unreachable?.ok], ['discovery', false]);
  const [wrong] = await test({ issuer: `${provider.issuer}/realm` });
  assert.equal(wrong?.ok, false);
});
