import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { HOUR_MS } from '../../contract/time-units.ts';
import { isAppError } from '../platform/app-error.ts';
import { manualClock } from '../platform/clock.ts';
import { createRateLimits } from '../platform/limits/rate-limits.ts';
import { openOutbound } from '../platform/outbound/client.ts';
import { type OutboundClient, OutboundError, type UntrustedRequest } from '../platform/outbound/outbound.ts';
import { ClientMetadataDocuments, isMetadataUrl } from './client-metadata.ts';
import { DeviceRateLimits } from './rate-limits.ts';

const ID = 'https://client.example/oauth/client.json';
const DOCUMENT = { client_id: ID, client_name: 'An App', redirect_uris: ['http://127.0.0.1/cb'] };
const IP = '203.0.113.5';

function start(
  document: unknown = DOCUMENT,
  { status = 200, headers = {} as Record<string, string>, enabled = true } = {},
) {
  const clock = manualClock();
  const requests: UntrustedRequest[] = [];
  const rateLimits = new DeviceRateLimits(createRateLimits({ clock }), () => ({
    perIp: 1,
    pendingPerIp: 1,
    perClient: 1,
  }));
  const host = { document, status };
  const outbound = {
    async requestUntrusted(request: UntrustedRequest) {
      requests.push(request);
      if (host.document instanceof OutboundError) throw host.document;
      const text = typeof host.document === 'string' ? host.document : JSON.stringify(host.document);
      return {
        status: host.status,
        headers: { 'content-type': 'application/json', ...headers },
        body: Readable.from([Buffer.from(text)]),
      };
    },
  };
  const documents = new ClientMetadataDocuments({ outbound, clock, rateLimits, isEnabled: () => enabled });
  return { clock, requests, rateLimits, documents, host, find: (id = ID) => documents.find(id, IP) };
}

describe('T127: clients that describe themselves', () => {
  it('are public, and named with the host of their document', async () => {
    const { find, requests } = start({ ...DOCUMENT, scope: 'mcp openid', token_endpoint_auth_method: 'none' });
    assert.deepEqual(await find(), {
      id: ID,
      name: 'An App',
      type: 'public',
      redirectUris: ['http://127.0.0.1/cb'],
      scopes: ['mcp'],
      publisher: 'client.example',
    });
    const { url, maxRedirects, maxBytes = Infinity, totalTimeoutMs = Infinity } = requests[0] ?? assert.fail();
    assert.deepEqual([url, maxRedirects, maxBytes <= 10_000, totalTimeoutMs <= 5_000], [ID, 0, true, true]);
  });

  it('are unknown while the setting is off, and where the id is no plain https URL with a path', async () => {
    const off = start(DOCUMENT, { enabled: false });
    assert.equal(await off.find(), undefined);
    assert.equal(off.requests.length, 0);
    for (const id of [
      '',
      'client',
      'https://client.example',
      'https://client.example/',
      'http://client.example/c',
      'https://user@client.example/c',
      'https://client.example/c#x',
      'https://client.example/c#',
      'https://client.example/a/../c',
      'https://CLIENT.example/c',
      'https://client.example:443/c',
      'https://client.example/ c',
      `https://client.example/${'c'.repeat(300)}`,
    ])
      assert.equal(isMetadataUrl(id), false, id);
  });

  it('are refused unless the document is theirs and describes a public client', async () => {
    for (const [change, more] of [
      [{ client_id: 'https://client.example/oauth/other.json' }],
      [{ client_id: undefined }],
      [{ client_secret: 'x' }],
      [{ token_endpoint_auth_method: 'client_secret_post' }],
      [{ redirect_uris: [] }],
      [{ redirect_uris: undefined }],
      [{ redirect_uris: ['http://client.example/cb'] }],
      [{ redirect_uris: ['javascript:alert(1)'] }],
      [{ redirect_uris: [7] }],
      [{ redirect_uris: Array(21).fill('https://client.example/cb') }],
      [{}, { status: 404 }],
      [{}, { status: 302 }],
      [{}, { headers: { 'content-type': 'text/html' } }],
    ] as const)
      assert.equal(await start({ ...DOCUMENT, ...change }, more).find(), undefined, JSON.stringify([change, more]));
    for (const text of ['', 'null', '[]', '{', '"x"']) assert.equal(await start(text).find(), undefined, text);
    assert.equal(await start(new OutboundError('blocked', 'private')).find(), undefined);
  });

  it('have names without line breaks or direction overrides', async () => {
    const { find } = start({ ...DOCUMENT, client_name: `A\nB\u202e${'x'.repeat(200)}` });
    assert.match((await find())?.name ?? '', /^A B x{1,96}$/);
    assert.equal((await start({ ...DOCUMENT, client_name: 5 }).find())?.name, 'client.example');
  });

  it('are fetched again by the headers of their document, a minute to a day later', async () => {
    for (const [headers, minutes] of [
      [{}, 60],
      [{ 'cache-control': 'max-age=600' }, 10],
      [{ 'cache-control': 'max-age=1' }, 1],
      [{ 'cache-control': 'no-store' }, 1],
      [{ 'cache-control': 'public, max-age=99999999' }, 24 * 60],
    ] as const) {
      const { clock, find, requests } = start(DOCUMENT, { headers });
      await find();
      clock.advance(minutes * 60_000 - 1);
      await find();
      assert.equal(requests.length, 1);
      clock.advance(1);
      await find();
      assert.equal(requests.length, 2, JSON.stringify(headers));
    }
    const failing = start({});
    await Promise.all([failing.find()]);
    await failing.find();
    assert.equal(failing.requests.length, 1, 'a failure is remembered too');
  });

  it('stay known while the host of their document cannot be reached, and are never called unknown by that', async () => {
    const outages = [
      { document: new OutboundError('connect', 'no route') },
      { document: new OutboundError('body', 'broken off') },
      { document: '<html>', status: 503 },
      { document: DOCUMENT, status: 429 },
    ];
    for (const outage of outages) {
      const { clock, host, find, requests } = start();
      await find();
      Object.assign(host, outage);
      clock.advance(HOUR_MS);
      assert.equal((await find())?.name, 'An App');
      await find();
      assert.equal(requests.length, 2, 'asked once a minute');
      Object.assign(host, { document: {}, status: 404 });
      clock.advance(60_000);
      assert.equal(await find(), undefined, 'removed by its publisher');

      const first = start(outage.document, { status: outage.status ?? 200 });
      for (let attempt = 0; attempt < 2; attempt++)
        await assert.rejects(first.find(), (error) => isAppError(error, 'unavailable'));
      assert.equal(first.requests.length, 1);
    }
    const long = start();
    await long.find();
    Object.assign(long.host, outages[0]);
    long.clock.advance(8 * 24 * HOUR_MS);
    await assert.rejects(long.find(), (error) => isAppError(error, 'unavailable'));
  });

  it('cannot make the service fetch without end', async () => {
    const { documents, requests } = start();
    const fetchMany = async () => {
      for (let i = 0; i < 100; i++) await documents.find(`https://client.example/${i}`, IP);
    };
    await assert.rejects(fetchMany, (error) => isAppError(error, 'rate_limit_exceeded'));
    assert.equal(requests.length, 30);
  });

  it('are not fetched from hosts of our own network', async () => {
    const real: OutboundClient = openOutbound({});
    const clock = manualClock();
    const rateLimits = new DeviceRateLimits(createRateLimits({ clock }), () => ({
      perIp: 1,
      pendingPerIp: 1,
      perClient: 1,
    }));
    const documents = new ClientMetadataDocuments({ outbound: real, clock, rateLimits, isEnabled: () => true });
    try {
      for (const host of ['127.0.0.1', '[::1]', '10.0.0.1', '169.254.169.254', '192.168.1.1', '[fd00::1]'])
        assert.equal(await documents.find(`https://${host}/client.json`, IP), undefined, host);
      // Some machines have no resolver for it.
      const local = await documents.find('https://localhost/client.json', IP).catch((error: unknown) => error);
      assert.ok(local === undefined || isAppError(local, 'unavailable'));
    } finally {
      await real.close();
    }
  });
});
