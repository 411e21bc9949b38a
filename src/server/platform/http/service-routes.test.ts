import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { startTestService, type TestService } from '../../../../test/test-service.ts';
import type { NotReadyReason } from '../../../contract/service.ts';
import type { Metrics } from '../metrics.ts';
import {
  addDesignRoutes,
  addServiceRoutes,
  type HealthRouteDependencies,
  type SiteDesign,
  startMetricsServer,
} from './service-routes.ts';
import { exchange, parseAnswer, startHttp } from './start-http-server.fixture.ts';

describe('service routes', () => {
  const CONFIG = {
    sandbox: false,
    quotaPerUnit: 5,
    apiUserHeader: 'x-user',
    baseUrl: 'http://gate.example',
  };
  const SITE = {
    siteName: 'Reelgate',
    statusPage: false,
    registration: 'open',
    oidcProviders: [],
    passwordSignIn: true,
  };
  const metrics = { render: async () => ({ contentType: 'text/plain', body: 'up 1\n' }) } as unknown as Metrics;

  async function serve(config: object, reason?: NotReadyReason, site: object = {}) {
    const http = await startHttp();
    const dependencies = {
      config: { ...CONFIG, ...config },
      settings: { current: () => ({ ...SITE, ...site }) },
      version: '1.2.3',
      metrics,
      notReadyReason: async () => reason,
    };
    addServiceRoutes(http.routes, dependencies as unknown as HealthRouteDependencies);
    await http.start();
    return http;
  }

  describe('service information', () => {
    it('describes the configuration to clients', async () => {
      const status = async (site: object) => {
        const http = await serve({}, undefined, site);
        const { body } = await http.send('GET', '/api/status');
        await http.close(0);
        return (JSON.parse(body) as { data: Record<string, unknown> }).data;
      };
      const data = await status({});
      assert.deepEqual([data['version'], data['phone_codes'], data['messaging_binding']], ['1.2.3', 'log', false]);
      assert.equal(data['ready'], true);
      const set = await status({ phoneHttpUrl: 'http://sms.example', messagingVerifyUrl: 'http://chat.example' });
      assert.deepEqual([set['phone_codes'], set['messaging_binding']], ['sms', true]);
    });

    it('reports readiness to load balancers, with the reason if not ready', async () => {
      const ready = await serve({});
      assert.deepEqual(await ready.send('GET', '/livez').then(({ status, body }) => [status, body]), [200, 'ok\n']);
      const { status, body } = await ready.send('GET', '/readyz');
      assert.deepEqual([status, JSON.parse(body)], [200, { ready: true }]);
      await ready.close(0);
      const draining = await serve({}, 'draining');
      const refused = await draining.send('GET', '/readyz');
      assert.deepEqual([refused.status, JSON.parse(refused.body)], [503, { ready: false, reason: 'draining' }]);
      assert.equal((await draining.send('GET', '/livez')).status, 200);
      assert.equal(JSON.parse((await draining.send('GET', '/api/status')).body).data.ready, false);
      await draining.close(0);
    });

    it('serves metrics only with the token, and not at all if none is configured', async () => {
      const http = await serve({ metricsToken: 'secret' });
      const shown = await http.send('GET', '/metrics', '', { authorization: 'Bearer secret' });
      assert.deepEqual([shown.status, shown.body], [200, 'up 1\n']);
      assert.match(shown.headers['content-type'] ?? '', /^text\/plain/);
      assert.equal((await http.send('GET', '/metrics', '', { authorization: 'Bearer secre' })).status, 401);
      assert.equal((await http.send('GET', '/metrics')).status, 401);
      await http.close(0);
      const closed = await serve({});
      assert.equal((await closed.send('GET', '/metrics', '', { authorization: 'Bearer undefined' })).status, 404);
      await closed.close(0);
    });

    it('has a separate port for metrics', async () => {
      let broken = false;
      const render = async () => {
        if (broken) throw new Error('broken');
        return { contentType: 'text/plain', body: 'up 1\n' };
      };
      const server = await startMetricsServer({ host: '127.0.0.1', metricsToken: undefined }, 0, {
        render,
      } as unknown as Metrics);
      const { port } = server.address() as AddressInfo;
      const get = async (path: string) =>
        parseAnswer(await exchange(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
      const shown = await get('/metrics');
      assert.deepEqual([shown.status, shown.headers['content-type']], [200, 'text/plain']);
      assert.match(shown.body, /up 1/);
      assert.equal((await get('/other')).status, 404);
      broken = true;
      assert.equal((await get('/metrics')).status, 500);
      server.close();
    });

    it('requires the token on the metrics port too, if one is configured (T45)', async () => {
      const render = async () => ({ contentType: 'text/plain', body: 'up 1\n' });
      const config = { host: '127.0.0.1', metricsToken: 'secret' };
      const server = await startMetricsServer(config, 0, { render } as unknown as Metrics);
      const { port } = server.address() as AddressInfo;
      const status = async (header: string) => {
        const request = `GET /metrics HTTP/1.1\r\nHost: x\r\n${header}Connection: close\r\n\r\n`;
        return parseAnswer(await exchange(port, request)).status;
      };
      assert.equal(await status(''), 401);
      assert.equal(await status('Authorization: Bearer secre\r\n'), 401);
      assert.equal(await status('Authorization: Bearer secret\r\n'), 200);
      server.close();
    });
  });
});

describe('design files', () => {
  describe('design files', () => {
    let service: TestService;
    before(async () => {
      service = await startTestService('sqlite::memory:');
    });
    after(() => service.stop());

    const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(new URL(path, service.url), { headers });

    it('are public and revalidated without a body', async () => {
      for (const [path, type, content] of [
        ['/tokens.css', 'text/css; charset=utf-8', /--rg-color-text:#/],
        ['/pages.css', 'text/css; charset=utf-8', /--rg-color-text:#[\s\S]*main>section/],
        ['/logo', 'image/svg+xml', /^<svg /],
      ] as const) {
        const response = await get(path);
        assert.deepEqual([response.status, response.headers.get('content-type')], [200, type], path);
        assert.match(await response.text(), content);
        const etag = response.headers.get('etag') ?? '';
        const again = await get(path, { 'if-none-match': etag });
        assert.deepEqual([again.status, await again.text()], [304, ''], path);
      }
    });

    it("are used by the server's own pages, under a policy without scripts", async () => {
      for (const path of ['/authorize', '/docs']) {
        const response = await get(path);
        assert.match(
          response.headers.get('content-security-policy') ?? '',
          /default-src 'none'; style-src 'self'/,
          path,
        );
        assert.match(await response.text(), /<link rel="stylesheet" href="\/pages.css">/, path);
      }
    });
  });

  describe('site design', () => {
    it('is read on each request, so that a new colour and logo apply immediately', async () => {
      const look: { -readonly [K in keyof SiteDesign]: SiteDesign[K] } = { siteAccent: 'teal', siteLogo: undefined };
      const http = await startHttp();
      addDesignRoutes(http.routes, { current: () => look });
      await http.start();
      const paths = ['/tokens.css', '/pages.css', '/logo'];
      const before = await Promise.all(paths.map((path) => http.send('GET', path)));
      look.siteAccent = 'rose';
      const known = before.map(({ headers }) => headers['etag'] ?? '');
      const after = await Promise.all(
        paths.map((path, index) => http.send('GET', path, '', { 'if-none-match': known[index] ?? '' })),
      );
      for (const [index, { status, headers, body }] of after.entries()) {
        assert.deepEqual([status, headers['cache-control']], [200, 'no-cache'], paths[index] ?? '');
        assert.notEqual(headers['etag'], known[index]);
        assert.notEqual(body, before[index]?.body);
      }
      const image = Buffer.from('an image');
      look.siteLogo = `data:image/png;base64,${image.toString('base64')}`;
      const own = await http.send('GET', '/logo');
      assert.deepEqual([own.headers['content-type'], own.body], ['image/png', 'an image']);
      look.siteLogo = `data:image/svg+xml;base64,${Buffer.from('<svg onload=x>').toString('base64')}`;
      const refused = await http.send('GET', '/logo');
      assert.equal(refused.headers['content-type'], 'image/svg+xml');
      assert.doesNotMatch(refused.body, /onload/, 'no image that may hold a script');
      await http.close(0);
    });
  });
});
