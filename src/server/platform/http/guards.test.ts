import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { describe, it, mock } from 'node:test';
import { BODY_GRACE_MS, CHECKS_PER_GRACE, ConnectionAndSlowBodyLimits } from './guards.ts';

/** The part of a connection that the guard uses. */
class FakeSocket extends EventEmitter {
  bytesRead = 0;
  destroyed = false;
  readonly remoteAddress: string;
  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

interface FakeRequest {
  readonly socket: FakeSocket;
  readonly headers: Record<string, string>;
  complete: boolean;
  readableFlowing: boolean | null;
}

function startGuard(maxPerIp: number) {
  const slow: unknown[] = [];
  const guard = new ConnectionAndSlowBodyLimits({
    maxPerIp,
    isExempt: (ip) => ip === '127.0.0.1',
    bodyGraceMs: BODY_GRACE_MS,
    onSlowBody: (request) => void slow.push(request),
  });
  const server = new EventEmitter();
  guard.attach(server as unknown as Server);
  return {
    slow,
    guard,
    connect(ip: string): FakeSocket {
      const socket = new FakeSocket(ip);
      server.emit('connection', socket);
      return socket;
    },
    request(socket: FakeSocket, headers: Record<string, string>): FakeRequest {
      const request: FakeRequest = { socket, headers, complete: false, readableFlowing: true };
      guard.onRequest(request as unknown as IncomingMessage, {} as ServerResponse);
      return request;
    },
    stop: () => server.emit('close'),
  };
}

describe('connections of one address', () => {
  it('are limited, with each IPv6 /64 counted as one, and counted down when they close', () => {
    const { connect, stop } = startGuard(2);
    const held = [connect('192.0.2.1'), connect('192.0.2.1')];
    assert.equal(connect('192.0.2.1').destroyed, true);
    assert.equal(connect('192.0.2.1').destroyed, true, 'a refused one is not counted');
    assert.equal(connect('192.0.2.2').destroyed, false);
    held[0]?.destroy();
    const again = connect('192.0.2.1');
    assert.equal(again.destroyed, false);
    assert.equal(connect('192.0.2.1').destroyed, true);
    held[1]?.destroy();
    again.destroy();
    assert.deepEqual(
      [1, 2, 3].map(() => connect('192.0.2.1').destroyed),
      [false, false, true],
    );
    connect('2001:db8::1');
    connect('2001:db8::2');
    assert.equal(connect('2001:db8::3').destroyed, true);
    assert.equal(connect('2001:db8:0:1::1').destroyed, false);
    stop();
  });

  it('are unlimited for exempt addresses and with the limit 0', () => {
    const limited = startGuard(1);
    const unlimited = startGuard(0);
    for (let i = 0; i < 5; i++) {
      assert.equal(limited.connect('127.0.0.1').destroyed, false);
      assert.equal(unlimited.connect('192.0.2.1').destroyed, false);
    }
    limited.stop();
    unlimited.stop();
  });
});

describe('slow body', () => {
  const GRACE_MS = 15_000;
  /** The requests that were ended this long after their start. */
  const slowAfter = (ms: number, prepare: (request: FakeRequest, socket: FakeSocket) => void, bytesBefore = 0) => {
    const { slow, guard, connect, request, stop } = startGuard(0);
    const socket = connect('192.0.2.1');
    socket.bytesRead = bytesBefore;
    const before = performance.now();
    const sent = request(socket, { 'content-length': '100000' });
    prepare(sent, socket);
    // The guard reads the time itself, slightly later than this test.
    guard.endSlowBodies((ms > GRACE_MS ? performance.now() : before) + ms);
    stop();
    return slow.length;
  };

  it('has a grace period', () => {
    assert.equal(
      slowAfter(GRACE_MS - 1, () => {}),
      0,
    );
    assert.equal(
      slowAfter(GRACE_MS + 1, () => {}),
      1,
    );
  });

  it('gets more time the more of it has arrived, counted from its own start', () => {
    const arrive = (bytes: number) => (_: FakeRequest, socket: FakeSocket) => {
      socket.bytesRead += bytes;
    };
    assert.equal(slowAfter(GRACE_MS + 900, arrive(8_000)), 0);
    assert.equal(slowAfter(GRACE_MS + 1_001, arrive(8_000)), 1);
    assert.equal(slowAfter(GRACE_MS + 900, arrive(0), 8_000), 1, 'bytes of earlier requests do not count');
  });

  it('is not closed while its reader is paused, nor when it is complete', () => {
    const hold = (readableFlowing: boolean | null) => (request: FakeRequest) => {
      request.readableFlowing = readableFlowing;
    };
    assert.equal(slowAfter(1e6, hold(false)), 0);
    assert.equal(slowAfter(1e6, hold(null)), 0);
    assert.equal(
      slowAfter(1e6, (request) => {
        request.complete = true;
      }),
      0,
    );
  });

  it('is watched only while it is being received', () => {
    const { slow, guard, connect, request, stop } = startGuard(0);
    const socket = connect('192.0.2.1');
    const late = () => {
      slow.length = 0;
      guard.endSlowBodies(performance.now() + 1e6);
      return slow.length;
    };
    request(socket, {});
    assert.equal(late(), 0);
    request(socket, { 'content-length': '0' });
    assert.equal(late(), 0);
    request(socket, { 'transfer-encoding': 'chunked' });
    assert.equal(late(), 1);
    request(socket, {});
    assert.equal(late(), 0, 'the next request of the connection has no body');
    const complete = request(socket, { 'content-length': '5' });
    complete.complete = true;
    assert.equal(late(), 0);
    complete.complete = false;
    assert.equal(late(), 0, 'a complete body is forgotten');
    request(socket, { 'content-length': '5' });
    socket.destroy();
    assert.equal(late(), 0, 'so is a closed connection');
    request(new FakeSocket('192.0.2.9'), { 'content-length': '5' });
    assert.equal(late(), 0, 'and one that was never taken');
    stop();
  });
});

it('bodies are checked several times per grace period, until the server closes', () => {
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    const { guard, stop } = startGuard(0);
    const check = mock.method(guard, 'endSlowBodies');
    mock.timers.tick(BODY_GRACE_MS);
    assert.equal(check.mock.callCount(), CHECKS_PER_GRACE);
    stop();
    mock.timers.tick(BODY_GRACE_MS);
    assert.equal(check.mock.callCount(), CHECKS_PER_GRACE);
  } finally {
    mock.timers.reset();
  }
});
