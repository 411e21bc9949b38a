import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { generate } from 'selfsigned';
import { openOutbound } from './client.ts';
import {
  BlockedIpError,
  type ConnectorOptions,
  guardedConnector,
  guardedLookup,
  HostNotFoundError,
  isCloudMetadataIp,
  isPublicIp,
  type Resolve,
  type ResolvedIp,
  resolveByDns,
  resolveBySystem,
} from './guard.ts';
import { HOSTILE_ADDRESSES, hostileUrls, PUBLIC_ADDRESSES } from './hostile-urls.fixture.ts';
import { OutboundError, type UntrustedRequest } from './outbound.ts';

describe('guard', () => {
  const GOOD: readonly ResolvedIp[] = [
    { address: '2001:4860::1', family: 6 },
    { address: '8.8.8.8', family: 4 },
  ];
  const BAD: ResolvedIp = { address: '10.0.0.1', family: 4 };

  /** The result of a socket's lookup: all addresses, or one. */
  const lookUp = (found: readonly ResolvedIp[] | Error, all: boolean) =>
    new Promise<unknown[]>((resolve) => {
      const lookup = guardedLookup({
        resolve: async () => {
          if (found instanceof Error) throw found;
          return found;
        },
        allows: (address) => address !== BAD.address,
      });
      lookup('host.test', { all }, (error, ...answer) => resolve(error === null ? answer : [error]));
    });

  describe('guarded lookup', () => {
    it('returns all addresses of a name, or the first, as the socket requests', async () => {
      assert.deepEqual(await lookUp(GOOD, true), [GOOD]);
      assert.deepEqual(await lookUp(GOOD, false), ['2001:4860::1', 6]);
    });

    it('T48: fails if any address is not permitted, at any position', async () => {
      for (const found of [[BAD], [BAD, ...GOOD], [...GOOD, BAD]])
        for (const all of [true, false]) assert.ok((await lookUp(found, all))[0] instanceof BlockedIpError);
    });

    it('fails for a name without an address, and for one that cannot be resolved', async () => {
      const cause = new Error('SERVFAIL');
      for (const found of [[], cause]) {
        const [error] = await lookUp(found, true);
        assert.ok(error instanceof HostNotFoundError);
        assert.equal(error.cause, found === cause ? cause : undefined);
        assert.match(error.message, found === cause ? /could not be resolved/ : /has no address/);
      }
    });
  });

  const [TYPE_A, TYPE_AAAA] = [1, 28];
  const NXDOMAIN = 3;

  /**
   * A name server on loopback (RFC 1035 section 4). It answers each query with the result of `records` for its type:
   * addresses as bytes, undefined for a name that does not exist, null for no response.
   */
  async function startNameServer(records: (type: number) => readonly number[][] | undefined | null) {
    const socket = createSocket('udp4');
    const asked: number[] = [];
    socket.on('message', (query, from) => {
      const endOfName = query.indexOf(0, 12) + 1;
      const type = query.readUInt16BE(endOfName);
      asked.push(type);
      const found = records(type);
      if (found === null) return;
      const header = Buffer.from(query.subarray(0, 12));
      header.writeUInt16BE(0x8180 | (found === undefined ? NXDOMAIN : 0), 2);
      header.writeUInt16BE(found?.length ?? 0, 6);
      header.writeUInt32BE(0, 8);
      const answers = (found ?? []).map((bytes) => {
        const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length]);
        return Buffer.concat([head, Buffer.from(bytes)]);
      });
      socket.send(Buffer.concat([header, query.subarray(12, endOfName + 4), ...answers]), from.port, from.address);
    });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return { asked, address: `127.0.0.1:${socket.address().port}`, stop: () => void socket.close() };
  }

  describe('addresses of an untrusted name', () => {
    const V4 = [192, 0, 2, 7];
    const V6 = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
    const FOUND_V4 = { address: '192.0.2.7', family: 4 };
    const FOUND_V6 = { address: '2001:db8::9', family: 6 };

    for (const [name, v4, v6, expected] of [
      ['both families', [V4], [V6], [FOUND_V6, FOUND_V4]],
      ['IPv4 alone', [V4], undefined, [FOUND_V4]],
      ['IPv6 alone', undefined, [V6], [FOUND_V6]],
      ['an empty answer beside one', [V4], [], [FOUND_V4]],
    ] as const)
      it(`are those in DNS: ${name}`, async (t) => {
        const server = await startNameServer((type) => (type === TYPE_A ? v4 : v6) as number[][] | undefined);
        t.after(server.stop);
        assert.deepEqual(await resolveByDns(2_000, [server.address])('host.test'), expected);
        assert.deepEqual(
          server.asked.toSorted((one, other) => one - other),
          [TYPE_A, TYPE_AAAA],
        );
      });

    it('are empty for an unknown name, whatever the hosts file contains', async (t) => {
      const server = await startNameServer(() => undefined);
      t.after(server.stop);
      const resolve = resolveByDns(2_000, [server.address]);
      await assert.rejects(resolve('host.test'), { code: 'ENOTFOUND', syscall: 'queryA' });
    });

    it('are abandoned after two attempts with an unresponsive name server', async (t) => {
      const server = await startNameServer(() => null);
      t.after(server.stop);
      await assert.rejects(resolveByDns(100, [server.address])('host.test'), { code: 'ETIMEOUT' });
      assert.deepEqual(
        server.asked.toSorted((one, other) => one - other),
        [TYPE_A, TYPE_A, TYPE_AAAA, TYPE_AAAA],
      );
    });
  });

  describe('addresses of a configured name', () => {
    it('are those of the operating system, including the hosts file', async () => {
      const [first] = await resolveBySystem('localhost');
      assert.ok(first?.address === '127.0.0.1' || first?.address === '::1', String(first?.address));
      assert.deepEqual(await resolveBySystem('127.0.0.1'), [{ address: '127.0.0.1', family: 4 }]);
      assert.deepEqual(await resolveBySystem('::1'), [{ address: '::1', family: 6 }]);
    });
  });

  describe('guarded connector', () => {
    /** Connects to `host.test`, which has these addresses. */
    const open = (
      protocol: 'http:' | 'https:',
      addresses: readonly ResolvedIp[],
      server: Server,
      more: Pick<ConnectorOptions, 'reading'> = {},
    ) => {
      const dial = guardedConnector({
        resolve: async () => addresses,
        allows: () => true,
        timeoutMs: 20_000,
        signal: new AbortController().signal,
        ...more,
      });
      const port = String((server.address() as AddressInfo).port);
      return new Promise<Socket>((resolve, reject) =>
        dial({ hostname: 'host.test', protocol, port, servername: 'host.test' }, (error, socket) => {
          if (error !== null) reject(error);
          else resolve(socket);
        }),
      );
    };
    /** Resolves with the error, or null when connected. */
    const connect = (...target: Parameters<typeof open>): Promise<Error | null> =>
      open(...target).then(
        (socket) => {
          socket.destroy();
          return null;
        },
        (error: Error) => error,
      );
    const listen = async (server: Server): Promise<Server> => {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    };

    it('falls back to the next address of a name if one does not respond', async (t) => {
      const server = await listen(createServer());
      t.after(() => server.close());
      const [v6, v4] = [{ address: '::1', family: 6 } as const, { address: '127.0.0.1', family: 4 } as const];
      assert.equal(await connect('http:', [v6, v4], server), null);
    });

    it('reads a socket one chunk ahead, or only on demand', async (t) => {
      const server = await listen(
        createServer((socket) => void socket.on('error', () => {}).write(Buffer.alloc(1024 ** 2))),
      );
      const address = [{ address: '127.0.0.1', family: 4 }] as const;
      const [asked, ahead] = await Promise.all([
        open('http:', address, server, { reading: { highWaterMark: 0 } }),
        open('http:', address, server),
      ]);
      t.after(() => {
        for (const socket of [asked, ahead]) socket.destroy();
        server.close();
      });
      for (const socket of [asked, ahead]) {
        await once(socket, 'readable');
        assert.ok(socket.read().length > 0);
      }
      await once(ahead, 'readable');
      assert.ok(ahead.readableLength > 0);
      assert.equal(asked.readableLength, 0);
    });

    it('does not offer HTTP/2', async (t) => {
      const offered: string[][] = [];
      const refuseAll = ({ protocols }: { protocols: string[] }) => {
        offered.push(protocols);
        return undefined;
      };
      const { private: key, cert } = await generate([{ name: 'commonName', value: 'host.test' }]);
      const server = await listen(createTlsServer({ key, cert, ALPNCallback: refuseAll }));
      t.after(() => server.close());
      server.on('tlsClientError', () => {});
      assert.ok(
        (await connect('https:', [{ address: '127.0.0.1', family: 4 }], server)) instanceof Error,
        'not trusted',
      );
      assert.deepEqual(offered, [['http/1.1']]);
    });
  });
});

describe('untrusted host', () => {
  /** In these tests 127.0.0.1 plays the public internet, and all other loopback addresses are internal. */
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

  function openClient(resolve: Resolve, more: { maxUntrusted?: number } = {}) {
    return openOutbound({
      resolveUntrusted: resolve,
      isPublicIp: isPublicHere,
      untrustedPorts: [port, 80, 443],
      ...more,
    });
  }

  async function text(client: ReturnType<typeof openOutbound>, request: Partial<UntrustedRequest> & { url: string }) {
    const response = await client.requestUntrusted({ method: 'GET', connectTimeoutMs: 1_000, ...request });
    return { ...response, text: Buffer.concat(await response.body.toArray()).toString() };
  }

  describe('isCloudMetadataIp', () => {
    it('T59: recognizes cloud metadata services in all spellings, and nothing else', () => {
      for (const address of ['169.254.169.254', '169.254.170.2', '::ffff:a9fe:a9fe', '168.63.129.16', 'fd00:ec2::254'])
        assert.equal(isCloudMetadataIp(address), true, address);
      for (const address of ['127.0.0.1', '10.0.0.1', '::1', 'fe80::1', '8.8.8.8', 'fd00::1', 'metadata', ''])
        assert.equal(isCloudMetadataIp(address), false, address);
    });
  });

  describe('isPublicIp', () => {
    it('accepts global unicast and refuses every other address and spelling', () => {
      for (const address of PUBLIC_ADDRESSES) assert.equal(isPublicIp(address), true, address);
      for (const address of HOSTILE_ADDRESSES) assert.equal(isPublicIp(address), false, address);
      for (const text of ['', 'example.com', '1.1', '0x08.8.8.8', '8.8.8.8 ', '2606:4700::1%eth0', '[2606:4700::1]']) {
        assert.equal(isPublicIp(text), false, text);
      }
    });
  });

  describe('untrusted host', () => {
    it('T47: never dials a hostile address', async (t) => {
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
      // The real rule, with a resolver that maps every name to an internal address.
      const client = openOutbound({
        resolveUntrusted: async () => [{ address: '127.0.0.1', family: 4 }],
        untrustedPorts: [canaryPort, 80, 443],
      });
      const urls = hostileUrls(canaryPort);
      assert.ok(urls.length >= 200, String(urls.length));
      for (const url of urls) {
        const error = await client.requestUntrusted({ method: 'GET', url, connectTimeoutMs: 500 }).then(
          () => assert.fail(`answered: ${url}`),
          (reason: unknown) => reason,
        );
        assert.ok(error instanceof OutboundError, `${url}: ${error}`);
        assert.equal(error.phase, 'blocked', `${JSON.stringify(url)}: ${error.message}`);
        assert.equal(error.mayHaveArrived, false);
      }
      assert.equal(connections, 0);
      await client.close();
      for (const server of servers) server.close();
    });

    it('T48: connects to the IP it checked, however often the name resolves to another', async () => {
      let turn = 0;
      const client = openClient(async () => [{ address: turn++ % 2 === 0 ? PUBLIC : INSIDE, family: 4 }]);
      routes.set('/rebind', (_request, response) => response.writeHead(200, { connection: 'close' }).end('public'));
      canaryConnections = 0;
      let reached = 0;
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          for (let round = 0; round < 25; round++) {
            const outcome = await text(client, { url: `http://rebinding.test:${port}/rebind` }).catch((error) => error);
            if (outcome instanceof OutboundError) assert.equal(outcome.phase, 'blocked');
            else reached += outcome.text === 'public' ? 1 : 0;
          }
        }),
      );
      assert.ok(reached > 0);
      assert.equal(canaryConnections, 0);
      await client.close();
    });

    it('T48: refuses a name with one bad IP among good ones', async () => {
      canaryConnections = 0;
      for (const addresses of [
        [PUBLIC, INSIDE],
        [INSIDE, PUBLIC],
        [PUBLIC, '::ffff:7f00:1'],
      ]) {
        const client = openClient(async () =>
          addresses.map((address) => ({ address, family: net.isIPv6(address) ? 6 : 4 })),
        );
        await assert.rejects(text(client, { url: `http://mixed.test:${port}/` }), { phase: 'blocked' });
        await client.close();
      }
      assert.equal(canaryConnections, 0);
    });

    it('follows three redirects and no fourth, within one slot', async () => {
      const client = openClient(toPublic, { maxUntrusted: 1 });
      for (let hop = 1; hop <= 4; hop++) {
        const location = hop === 1 ? '/end' : `http://hop${hop}.test:${port}/hop${hop - 1}`;
        routes.set(`/hop${hop}`, (_request, response) =>
          response.writeHead([301, 302, 303, 307, 308][hop] ?? 302, { location }).end('elsewhere'),
        );
      }
      assert.equal((await text(client, { url: `http://start.test:${port}/hop3` })).text, 'public');
      await assert.rejects(text(client, { url: `http://start.test:${port}/hop4` }), { phase: 'blocked' });
      await client.close();
    });

    it('T49: checks the target of a redirect', async () => {
      const client = openClient(async (name) => [{ address: name === 'inside.test' ? INSIDE : PUBLIC, family: 4 }]);
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
            text(client, { url: `http://out.test:${port}/away` }),
            { phase: 'blocked' },
            `${status} ${location}`,
          );
        }
      }
      assert.equal(canaryConnections, 0);
      await client.close();
    });

    it('releases its slot when a redirect has an unread body', async () => {
      const client = openClient(toPublic, { maxUntrusted: 1 });
      routes.set('/large-redirect', (_request, response) =>
        response.writeHead(302, { location: '/end' }).end(Buffer.alloc(8_000_000)),
      );
      assert.equal((await text(client, { url: `http://out.test:${port}/large-redirect` })).text, 'public');
      await client.close();
    });

    it('treats Refresh and meta refresh as content, and ignores a location without a redirect', async () => {
      const client = openClient(toPublic);
      routes.set('/created', (_request, response) => response.writeHead(201, { location: '/end' }).end('created'));
      const created = await text(client, { url: `http://out.test:${port}/created` });
      assert.deepEqual([created.status, created.text], [201, 'created']);
      routes.set('/refresh', (_request, response) =>
        response
          .writeHead(200, { refresh: `0; url=http://${INSIDE}:${port}/` })
          .end(`<meta http-equiv="refresh" content="0;url=http://${INSIDE}:${port}/">`),
      );
      canaryConnections = 0;
      assert.equal((await text(client, { url: `http://out.test:${port}/refresh` })).status, 200);
      assert.equal(canaryConnections, 0);
      await client.close();
    });

    it('carries no credential, whatever the caller passes', async () => {
      const client = openClient(toPublic);
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
      await text(client, { url: `http://out.test:${port}/headers`, headers });
      assert.deepEqual(seen, {
        host: `out.test:${port}`,
        connection: 'keep-alive',
        range: 'bytes=0-9',
        accept: 'video/*',
        'accept-encoding': 'identity',
        'user-agent': 'reelgate',
      });
      await client.close();
    });

    it('reaches a permitted private host, but only on that port', async () => {
      const client = openOutbound();
      const url = `http://${PUBLIC}:${port}/`;
      assert.equal((await text(client, { url, allowedPrivateHosts: [`${PUBLIC}:${port}`] })).text, 'public');
      await assert.rejects(text(client, { url, allowedPrivateHosts: [`${PUBLIC}:${port + 1}`] }), { phase: 'blocked' });
      await assert.rejects(text(client, { url }), { phase: 'blocked' });
      await client.close();
    });

    it('limits size and time', async () => {
      const client = openClient(toPublic);
      routes.set('/long', (_request, response) => response.end(Buffer.alloc(300_000)));
      await assert.rejects(text(client, { url: `http://out.test:${port}/long`, maxBytes: 200_000 }), { phase: 'body' });
      routes.set('/drip', (_request, response) => {
        response.flushHeaders();
        const timer = setInterval(() => response.write('x'), 20);
        response.on('close', () => clearInterval(timer));
      });
      await assert.rejects(text(client, { url: `http://out.test:${port}/drip`, totalTimeoutMs: 200 }), {
        phase: 'body',
      });
      await client.close();
    });

    it('limits concurrent exchanges and releases every slot', async () => {
      const client = openClient(toPublic, { maxUntrusted: 3 });
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
        Array.from({ length: 12 }, () => text(client, { url: `http://out.test:${port}/slow` })),
      );
      assert.equal(all.length, 12);
      assert.ok(most <= 3, String(most));

      // Dropped bodies, failures and refusals must not occupy slots.
      for (let round = 0; round < 5; round++) {
        (await client.requestUntrusted({ method: 'GET', url: `http://out.test:${port}/long` })).body.destroy();
        await assert.rejects(text(client, { url: `http://out.test:${port}/long`, maxBytes: 10 }));
        await assert.rejects(text(client, { url: `http://${INSIDE}:${port}/` }));
      }
      assert.equal((await text(client, { url: `http://out.test:${port}/` })).text, 'public');

      // Three unread bodies hold all slots: the fourth request fails within its timeout.
      routes.set('/held', (_request, response) => response.end(Buffer.alloc(4_000_000)));
      const held = await Promise.all(
        Array.from({ length: 3 }, () =>
          client.requestUntrusted({ method: 'GET', url: `http://out.test:${port}/held` }),
        ),
      );
      await assert.rejects(text(client, { url: `http://out.test:${port}/`, connectTimeoutMs: 50 }), {
        phase: 'connect',
      });
      for (const { body } of held) body.destroy();
      await client.close();
    });
  });
});
