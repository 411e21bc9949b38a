import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestService, type TestService } from '../../../../test/test-service.ts';

describe('the files of the design', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService('sqlite::memory:');
  });
  after(() => service.stop());

  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(new URL(path, service.url), { headers });

  it('are served to everyone, and asked for again without a body', async () => {
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

  it('are what the pages of the server are made with, under a policy without scripts', async () => {
    for (const path of ['/authorize', '/docs']) {
      const response = await get(path);
      assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'; style-src 'self'/, path);
      assert.match(await response.text(), /<link rel="stylesheet" href="\/pages.css">/, path);
    }
  });
});
