import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { generate } from 'selfsigned';
import {
  BlockedIpError,
  type ConnectorOptions,
  guardedConnector,
  guardedLookup,
  HostNotFoundError,
  type ResolvedIp,
  resolveByDns,
  resolveBySystem,
} from './guard.ts';

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
    assert.ok((await connect('https:', [{ address: '127.0.0.1', family: 4 }], server)) instanceof Error, 'not trusted');
    assert.deepEqual(offered, [['http/1.1']]);
  });
});
