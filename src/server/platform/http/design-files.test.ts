import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestService, type TestService } from '../../../../test/test-service.ts';
import { addStylesheetAndLogoRoutes, type SiteDesign } from './service-routes.ts';
import { startHttp } from './start-http-server.fixture.ts';

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
      assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'; style-src 'self'/, path);
      assert.match(await response.text(), /<link rel="stylesheet" href="\/pages.css">/, path);
    }
  });
});

describe('site design', () => {
  it('is read on each request, so that a new colour and logo apply immediately', async () => {
    const look: { -readonly [K in keyof SiteDesign]: SiteDesign[K] } = { siteAccent: 'teal', siteLogo: undefined };
    const http = await startHttp();
    addStylesheetAndLogoRoutes(http.routes, { current: () => look });
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
