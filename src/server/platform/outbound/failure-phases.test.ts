import assert from 'node:assert/strict';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { openOutbound } from './client.ts';
import { type ConfiguredRequest, type OutboundClient, OutboundError, type OutboundPhase } from './outbound.ts';

let outbound: OutboundClient;
const servers: net.Server[] = [];

before(() => {
  outbound = openOutbound({
    resolveConfigured: async (hostname) => {
      if (hostname === 'nowhere.test') throw new Error('NXDOMAIN');
      return hostname === 'empty.test' ? [] : [{ address: '127.0.0.1', family: 4 }];
    },
  });
});

after(async () => {
  await outbound.close();
  for (const server of servers) server.close();
});

async function listen(server: net.Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server of raw sockets; `onRequest` runs with each piece of data that arrives. */
async function rawServer(onRequest: (socket: net.Socket, turn: number) => void): Promise<string> {
  const server = net.createServer((socket) => {
    let turn = 0;
    socket.on('data', () => onRequest(socket, ++turn));
    socket.on('error', () => {});
  });
  return listen(server);
}

async function phaseOf(
  request: Partial<ConfiguredRequest> & { url: string },
): Promise<{ phase: OutboundPhase; mayHaveArrived: boolean }> {
  const error = await outbound.requestJson({ method: 'POST', body: '{}', private: true, ...request }).then(
    (answer) => assert.fail(`answered ${answer.status}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof OutboundError, String(error));
  return { phase: error.phase, mayHaveArrived: error.mayHaveArrived };
}

const WHOLE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}';

describe('phase of a failed exchange', () => {
  it('is connect when the port is closed', async () => {
    const server = net.createServer();
    const host = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    assert.deepEqual(await phaseOf({ url: `http://${host}/` }), { phase: 'connect', mayHaveArrived: false });
  });

  it('is resolve when the name has no IP', async () => {
    for (const name of ['nowhere.test', 'empty.test']) {
      assert.deepEqual(await phaseOf({ url: `http://${name}/` }), { phase: 'resolve', mayHaveArrived: false });
    }
  });

  it('is connect when the handshake fails or times out', async () => {
    const plain = await rawServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    assert.deepEqual(await phaseOf({ url: `https://${plain}/` }), { phase: 'connect', mayHaveArrived: false });
    const silent = await rawServer(() => {});
    assert.deepEqual(await phaseOf({ url: `https://${silent}/`, connectTimeoutMs: 100 }), {
      phase: 'connect',
      mayHaveArrived: false,
    });
  });

  it('is blocked for a private IP without the flag, and no connection is made', async () => {
    let connections = 0;
    const server = net.createServer((socket) => {
      connections++;
      socket.destroy();
    });
    const host = await listen(server);
    for (const url of [`https://${host}/`, `http://${host}/`, `https://intern.test:${host.split(':')[1]}/`]) {
      assert.deepEqual(await phaseOf({ url, private: false }), { phase: 'blocked', mayHaveArrived: false });
    }
    assert.equal(connections, 0);
  });

  it('is blocked for a private proxy without the flag, and for metadata services even with it', async () => {
    const url = 'https://upstream.test/';
    const bounds = { url, connectTimeoutMs: 200 };
    const blocked = { phase: 'blocked', mayHaveArrived: false };
    for (const proxy of ['http://127.0.0.1:1', 'http://[::1]:1'])
      assert.deepEqual(await phaseOf({ ...bounds, private: false, proxy }), blocked, proxy);
    assert.deepEqual(await phaseOf({ ...bounds, proxy: 'http://169.254.169.254:1' }), blocked);
    assert.deepEqual(await phaseOf({ ...bounds, proxy: 'http://127.0.0.1:1' }), { ...blocked, phase: 'connect' });
  });

  it('is blocked for a request that cannot be written', async () => {
    const host = await rawServer((socket) => socket.end(WHOLE));
    for (const request of [
      { url: `http://${host}/`, headers: { authorization: 'Bearer a\r\nx-evil: 1' } },
      { url: `http://user:secret@${host}/` },
      { url: 'ftp://127.0.0.1/' },
      { url: 'no address' },
    ]) {
      assert.deepEqual(await phaseOf(request), { phase: 'blocked', mayHaveArrived: false });
    }
  });

  it('is sent when the peer reads the request and closes', async () => {
    const host = await rawServer((socket) => socket.destroy());
    assert.deepEqual(await phaseOf({ url: `http://${host}/` }), { phase: 'sent', mayHaveArrived: true });
  });

  it('is sent, and nothing is sent twice, when a reused socket turns out to be closed', async () => {
    const seen: number[] = [];
    const host = await rawServer((socket, turn) => {
      seen.push(turn);
      if (turn === 1) socket.write(WHOLE);
      else socket.resetAndDestroy();
    });
    assert.equal((await outbound.requestJson({ method: 'GET', url: `http://${host}/`, private: true })).status, 200);
    // undici waits one event loop turn before it reuses a socket.
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual(await phaseOf({ url: `http://${host}/` }), { phase: 'sent', mayHaveArrived: true });
    assert.deepEqual(seen, [1, 2]);
  });

  it('is sent for a response that is not HTTP', async () => {
    const host = await rawServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n'));
    assert.equal((await phaseOf({ url: `http://${host}/` })).phase, 'sent');
  });

  it('is sent when the status is overdue, even while interim responses keep arriving', async () => {
    const silent = await rawServer(() => {});
    assert.equal((await phaseOf({ url: `http://${silent}/`, headersTimeoutMs: 100 })).phase, 'sent');
    const chatty = await rawServer((socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    assert.equal((await phaseOf({ url: `http://${chatty}/`, totalTimeoutMs: 200 })).phase, 'sent');
  });

  it('is body when the response breaks off, stalls or exceeds its total time', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{';
    const broken = await rawServer((socket) => socket.end(head));
    assert.deepEqual(await phaseOf({ url: `http://${broken}/` }), { phase: 'body', mayHaveArrived: true });
    const stalled = await rawServer((socket) => socket.write(head));
    assert.equal((await phaseOf({ url: `http://${stalled}/`, idleTimeoutMs: 100 })).phase, 'body');
    const dripping = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const timer = setInterval(() => socket.write(' '), 20);
      socket.on('close', () => clearInterval(timer));
    });
    assert.equal((await phaseOf({ url: `http://${dripping}/`, totalTimeoutMs: 200 })).phase, 'body');
    // Fifty bytes a second are not enough for a thousand.
    assert.equal(
      (await phaseOf({ url: `http://${dripping}/`, totalTimeoutMs: 200, minBytesPerSecond: 1_000 })).phase,
      'body',
    );
  });

  it('is none while a response arrives fast enough, however long it takes', async () => {
    const steady = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n');
      let left = 40;
      const timer = setInterval(() => {
        socket.write('1');
        if (--left === 0) clearInterval(timer);
      }, 10);
      socket.on('close', () => clearInterval(timer));
    });
    const request = { method: 'GET', url: `http://${steady}/`, private: true, totalTimeoutMs: 100 } as const;
    assert.equal((await outbound.requestJson({ ...request, minBytesPerSecond: 5 })).text.length, 40);
  });

  it('is aborted after our own signal, and records whether the request had been sent', async () => {
    const arrived = Promise.withResolvers<void>();
    const host = await rawServer(() => arrived.resolve());
    assert.deepEqual(await phaseOf({ url: `http://${host}/`, signal: AbortSignal.abort() }), {
      phase: 'aborted',
      mayHaveArrived: false,
    });
    const controller = new AbortController();
    const outcome = phaseOf({ url: `http://${host}/`, signal: controller.signal });
    await arrived.promise;
    controller.abort();
    assert.deepEqual(await outcome, { phase: 'aborted', mayHaveArrived: true });
  });

  it('never writes a request that was aborted while it waited for a socket', async () => {
    let requests = 0;
    const server = http.createServer((_request, response) => {
      requests++;
      setTimeout(() => response.end('{}'), 150);
    });
    const host = await listen(server);
    const narrow = openOutbound({ maxSocketsPerOrigin: 1 });
    const first = narrow.requestJson({ method: 'GET', url: `http://${host}/`, private: true });
    const second = narrow.requestJson({
      method: 'POST',
      body: '{}',
      url: `http://${host}/`,
      private: true,
      connectTimeoutMs: 30,
    });
    await assert.rejects(second, { phase: 'connect', mayHaveArrived: false });
    assert.equal((await first).status, 200);
    assert.equal((await narrow.requestJson({ method: 'GET', url: `http://${host}/`, private: true })).status, 200);
    assert.equal(requests, 2);
    await narrow.close();
  });
});
