import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { buildConsoleIfOutdated } from './browser/build-console.ts';
import { startTestService, type TestService } from './test-service.ts';

/** Parses `script-src 'self'; …` into sources by directive. */
const toDirectives = (policy: string): Map<string, readonly string[]> =>
  new Map(
    policy.split(';').map((directive) => {
      const [name = '', ...sources] = directive.trim().split(/\s+/);
      return [name, sources] as const;
    }),
  );

describe("the console's HTML response", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService('sqlite::memory:');
  });
  after(() => service.stop());

  const load = async (path: string, accept = 'text/html') => {
    const response = await fetch(new URL(path, service.url), { headers: { accept } });
    const policy = toDirectives(response.headers.get('content-security-policy') ?? '');
    return { status: response.status, headers: response.headers, policy, text: await response.text() };
  };

  it('allows only scripts of this service, no inline scripts, and no resources from elsewhere', async () => {
    for (const path of ['/', '/studio', '/admin/users/1']) {
      const { status, policy } = await load(path);
      assert.equal(status, 200, path);
      assert.deepEqual(policy.get('script-src'), ["'self'"], path);
      assert.deepEqual(policy.get('default-src'), ["'self'"], path);
      for (const directive of ['object-src', 'base-uri', 'frame-ancestors'])
        assert.deepEqual(policy.get(directive), ["'none'"], `${path} ${directive}`);
      assert.deepEqual(policy.get('form-action'), ["'self'"], path);
      for (const directive of ['img-src', 'media-src'])
        assert.deepEqual(policy.get(directive), ["'self'", 'blob:', 'data:'], `${path} ${directive}`);
    }
  });

  it('allows style elements only with the nonce of this response', async () => {
    const nonces = new Set<string>();
    for (let round = 0; round < 3; round += 1) {
      const { policy } = await load('/');
      const [self, nonce = '', ...others] = policy.get('style-src') ?? [];
      assert.deepEqual([self, others], ["'self'", []]);
      assert.match(nonce, /^'nonce-[A-Za-z0-9+/]{22}=='$/);
      nonces.add(nonce);
    }
    assert.equal(nonces.size, 3);
  });

  it('embeds the public status, whatever the site is named', async () => {
    buildConsoleIfOutdated();
    const name = `"A" & 'B' $& \u6f22`;
    const named = await startTestService('sqlite::memory:');
    try {
      await named.setSiteSetting('SITE_NAME', name);
      const answer = await fetch(new URL('/api/status', named.url));
      const { ready, ...status } = ((await answer.json()) as { data: Record<string, unknown> }).data;
      assert.deepEqual([ready, status.site_name, status.api_user_header], [true, name, 'service-api-user']);
      const text = await (await fetch(new URL('/studio', named.url), { headers: { accept: 'text/html' } })).text();
      const content = /<meta name="status" content="([^"]*)"/.exec(text)?.[1] ?? '';
      const unescaped = content.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
      assert.deepEqual(JSON.parse(unescaped), status);
      assert.ok(!text.includes('__STATUS__'));
    } finally {
      await named.stop();
    }
  });

  it('is never cached, framed, or sent to other sites as a referrer', async () => {
    const { headers } = await load('/');
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('x-frame-options'), 'DENY');
    assert.equal(headers.get('referrer-policy'), 'same-origin');
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin');
  });

  it('is sent with 404 at unknown addresses to browsers; programs get their envelope', async () => {
    const page = await load('/no/such/page', 'text/html,application/xhtml+xml');
    assert.deepEqual([page.status, page.policy.get('script-src')], [404, ["'self'"]]);
    for (const path of ['/api/no-such-endpoint', '/v1/no-such-endpoint'])
      for (const accept of ['*/*', 'text/html']) {
        const { status, text } = await load(path, accept);
        assert.equal(status, 404, path);
        assert.equal(typeof JSON.parse(text), 'object', path);
      }
  });
});
