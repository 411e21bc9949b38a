import assert from 'node:assert/strict';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Resolve } from './connector.ts';
import { openOutbound } from './door.ts';
import { HOSTILE_ADDRESSES, hostileUrls, PUBLIC_ADDRESSES } from './hostile-urls.ts';
import { OutboundError, type StrangerRequest } from './outbound.ts';
import { isCloudMetadata, isPublicAddress } from './public-address.ts';

/** In these tests 127.0.0.1 plays the public internet, and everything else on loopback is inside. */
const PUBLIC = '127.0.0.1';
const INSIDE = '127.0.0.2';
const isPublicHere = (address: string): boolean => address === PUBLIC;

const routes = new Map<string, (request: http.IncomingMessage, response: http.ServerResponse) => void>();
const outside = http.createServer((request, response) => {
  (routes.get(request.url ?? '') ?? ((_request, absent) => absent.end('public')))(request, response);
});
let canaryConnections = 0;
const canary = net.createServer((socket) => {
  canaryConnections++;
  socket.destroy();
});
let port = 0;

async function listen(server: net.Server, host: string, at = 0): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(at, host, resolve));
  return (server.address() as AddressInfo).port;
}

before(async () => {
  port = await listen(outside, PUBLIC);
  await listen(canary, INSIDE, port);
});

after(() => {
  outside.closeAllConnections();
  outside.close();
  canary.close();
});

const toPublic: Resolve = async () => [{ address: PUBLIC, family: 4 }];

function doorTo(resolveStranger: Resolve, more: { maxStrangers?: number } = {}) {
  return openOutbound({ resolveStranger, isPublicAddress: isPublicHere, strangerPorts: [port, 80, 443], ...more });
}

async function text(door: ReturnType<typeof openOutbound>, request: Partial<StrangerRequest> & { url: string }) {
  const response = await door.stranger({ method: 'GET', connectTimeoutMs: 1_000, ...request });
  return { ...response, text: Buffer.concat(await response.body.toArray()).toString() };
}

describe('isCloudMetadata', () => {
  it('knows the services of clouds by all their spellings, and nothing else', () => {
    for (const address of ['169.254.169.254', '169.254.170.2', '::ffff:a9fe:a9fe', '168.63.129.16', 'fd00:ec2::254'])
      assert.equal(isCloudMetadata(address), true, address);
    for (const address of ['127.0.0.1', '10.0.0.1', '::1', 'fe80::1', '8.8.8.8', 'fd00::1', 'metadata', ''])
      assert.equal(isCloudMetadata(address), false, address);
  });
});

describe('isPublicAddress', () => {
  it('accepts global unicast and refuses every other address and spelling', () => {
    for (const address of PUBLIC_ADDRESSES) assert.equal(isPublicAddress(address), true, address);
    for (const address of HOSTILE_ADDRESSES) assert.equal(isPublicAddress(address), false, address);
    for (const text of ['', 'example.com', '1.1', '0x08.8.8.8', '8.8.8.8 ', '2606:4700::1%eth0', '[2606:4700::1]']) {
      assert.equal(isPublicAddress(text), false, text);
    }
  });
});

describe('stranger', () => {
  it('never dials a hostile address', async (t) => {
    let connections = 0;
    const servers = [PUBLIC, INSIDE, '::1'].map(() =>
      net.createServer((socket) => {
        connections++;
        socket.destroy();
      }),
    );
    const [first, ...others] = servers;
    assert.ok(first !== undefined);
    const canaryPort = await listen(first, PUBLIC);
    for (const [index, server] of others.entries()) {
      await listen(server, index === 0 ? INSIDE : '::1', canaryPort).catch((error) => t.diagnostic(String(error)));
    }
    // The real rule, and a resolver that sends every name inside.
    const door = openOutbound({
      resolveStranger: async () => [{ address: '127.0.0.1', family: 4 }],
      strangerPorts: [canaryPort, 80, 443],
    });
    const urls = hostileUrls(canaryPort);
    assert.ok(urls.length >= 200, String(urls.length));
    for (const url of urls) {
      const error = await door.stranger({ method: 'GET', url, connectTimeoutMs: 500 }).then(
        () => assert.fail(`answered: ${url}`),
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof OutboundError, `${url}: ${error}`);
      assert.equal(error.phase, 'blocked', `${JSON.stringify(url)}: ${error.message}`);
      assert.equal(error.mayHaveArrived, false);
    }
    assert.equal(connections, 0);
    await door.close();
    for (const server of servers) server.close();
  });

  it('dials what it checked, however often the name changes its mind', async () => {
    let turn = 0;
    const door = doorTo(async () => [{ address: turn++ % 2 === 0 ? PUBLIC : INSIDE, family: 4 }]);
    routes.set('/rebind', (_request, response) => response.writeHead(200, { connection: 'close' }).end('public'));
    canaryConnections = 0;
    let reached = 0;
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        for (let round = 0; round < 25; round++) {
          const outcome = await text(door, { url: `http://rebinding.test:${port}/rebind` }).catch((error) => error);
          if (outcome instanceof OutboundError) assert.equal(outcome.phase, 'blocked');
          else reached += outcome.text === 'public' ? 1 : 0;
        }
      }),
    );
    assert.ok(reached > 0);
    assert.equal(canaryConnections, 0);
    await door.close();
  });

  it('refuses a name with one bad address among good ones', async () => {
    canaryConnections = 0;
    for (const addresses of [
      [PUBLIC, INSIDE],
      [INSIDE, PUBLIC],
      [PUBLIC, '::ffff:7f00:1'],
    ]) {
      const door = doorTo(async () => addresses.map((address) => ({ address, family: net.isIPv6(address) ? 6 : 4 })));
      await assert.rejects(text(door, { url: `http://mixed.test:${port}/` }), { phase: 'blocked' });
      await door.close();
    }
    assert.equal(canaryConnections, 0);
  });

  it('follows three redirects and no fourth', async () => {
    const door = doorTo(toPublic);
    for (let hop = 1; hop <= 4; hop++) {
      const location = hop === 1 ? '/end' : `http://hop${hop}.test:${port}/hop${hop - 1}`;
      routes.set(`/hop${hop}`, (_request, response) =>
        response.writeHead([301, 302, 303, 307, 308][hop] ?? 302, { location }).end(),
      );
    }
    assert.equal((await text(door, { url: `http://start.test:${port}/hop3` })).text, 'public');
    await assert.rejects(text(door, { url: `http://start.test:${port}/hop4` }), { phase: 'blocked' });
    await door.close();
  });

  it('checks where a redirect leads', async () => {
    const door = doorTo(async (name) => [{ address: name === 'inside.test' ? INSIDE : PUBLIC, family: 4 }]);
    canaryConnections = 0;
    for (const status of [301, 302, 303, 307, 308]) {
      for (const location of [
        `http://inside.test:${port}/`,
        `http://${INSIDE}:${port}/`,
        `//${INSIDE}:${port}/`,
        `http://[::1]:${port}/`,
        `http://[::ffff:127.0.0.2]:${port}/`,
        `http://user:pw@out.test:${port}/`,
        'file:///etc/passwd',
        'http://out.test:22/',
        'http://',
        'gopher://127.0.0.2/',
      ]) {
        routes.set('/away', (_request, response) => response.writeHead(status, { location }).end());
        await assert.rejects(
          text(door, { url: `http://out.test:${port}/away` }),
          { phase: 'blocked' },
          `${status} ${location}`,
        );
      }
    }
    assert.equal(canaryConnections, 0);
    await door.close();
  });

  it('takes Refresh and meta refresh for content', async () => {
    const door = doorTo(toPublic);
    routes.set('/refresh', (_request, response) =>
      response
        .writeHead(200, { refresh: `0; url=http://${INSIDE}:${port}/` })
        .end(`<meta http-equiv="refresh" content="0;url=http://${INSIDE}:${port}/">`),
    );
    canaryConnections = 0;
    assert.equal((await text(door, { url: `http://out.test:${port}/refresh` })).status, 200);
    assert.equal(canaryConnections, 0);
    await door.close();
  });

  it('carries no credential, whatever the caller hands over', async () => {
    const door = doorTo(toPublic);
    let seen: http.IncomingHttpHeaders = {};
    routes.set('/headers', (request, response) => {
      seen = request.headers;
      response.end();
    });
    const headers = {
      authorization: 'Bearer k',
      Cookie: 'a=b',
      'x-api-key': 'k',
      'X-Goog-Api-Key': 'k',
      'proxy-authorization': 'k',
      host: 'inside.test',
      'accept-encoding': 'gzip',
      Range: 'bytes=0-9',
      accept: 'video/*',
    };
    await text(door, { url: `http://out.test:${port}/headers`, headers });
    assert.deepEqual(seen, {
      host: `out.test:${port}`,
      connection: 'keep-alive',
      range: 'bytes=0-9',
      accept: 'video/*',
      'accept-encoding': 'identity',
      'user-agent': 'reelgate',
    });
    await door.close();
  });

  it('reaches a private host that is vouched for, and only that port of it', async () => {
    const door = openOutbound();
    const url = `http://${PUBLIC}:${port}/`;
    assert.equal((await text(door, { url, alsoHosts: [`${PUBLIC}:${port}`] })).text, 'public');
    await assert.rejects(text(door, { url, alsoHosts: [`${PUBLIC}:${port + 1}`] }), { phase: 'blocked' });
    await assert.rejects(text(door, { url }), { phase: 'blocked' });
    await door.close();
  });

  it('bounds size and time', async () => {
    const door = doorTo(toPublic);
    routes.set('/long', (_request, response) => response.end(Buffer.alloc(300_000)));
    await assert.rejects(text(door, { url: `http://out.test:${port}/long`, maxBytes: 200_000 }), { phase: 'body' });
    routes.set('/drip', (_request, response) => {
      response.flushHeaders();
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    });
    await assert.rejects(text(door, { url: `http://out.test:${port}/drip`, totalTimeoutMs: 200 }), { phase: 'body' });
    await door.close();
  });

  it('lets a bounded number of exchanges in at once and gives every place back', async () => {
    const door = doorTo(toPublic, { maxStrangers: 3 });
    let under = 0;
    let most = 0;
    routes.set('/slow', (_request, response) => {
      most = Math.max(most, ++under);
      setTimeout(() => {
        under--;
        response.end('ok');
      }, 20);
    });
    const all = await Promise.all(
      Array.from({ length: 12 }, () => text(door, { url: `http://out.test:${port}/slow` })),
    );
    assert.equal(all.length, 12);
    assert.ok(most <= 3, String(most));

    // Bodies that are dropped, failures and refusals must not keep places.
    for (let round = 0; round < 5; round++) {
      (await door.stranger({ method: 'GET', url: `http://out.test:${port}/long` })).body.destroy();
      await assert.rejects(text(door, { url: `http://out.test:${port}/long`, maxBytes: 10 }));
      await assert.rejects(text(door, { url: `http://${INSIDE}:${port}/` }));
    }
    assert.equal((await text(door, { url: `http://out.test:${port}/` })).text, 'public');

    // Three bodies nobody reads hold all places: the fourth is told so in time.
    routes.set('/held', (_request, response) => response.end(Buffer.alloc(4_000_000)));
    const held = await Promise.all(
      Array.from({ length: 3 }, () => door.stranger({ method: 'GET', url: `http://out.test:${port}/held` })),
    );
    await assert.rejects(text(door, { url: `http://out.test:${port}/`, connectTimeoutMs: 50 }), { phase: 'connect' });
    for (const { body } of held) body.destroy();
    await door.close();
  });
});
