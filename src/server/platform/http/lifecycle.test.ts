import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { PortLifecycle, RequestsDuringStart } from './lifecycle.ts';
import { exchange, parseAnswer } from './start-http-server.fixture.ts';

describe('lifecycle', () => {
  const MOST = 1_000;

  /** A request that arrived before the service was constructed, and its response so far. */
  function ask(starting: RequestsDuringStart, url: string) {
    const answered: { status?: number; headers?: Record<string, string>; body?: string } = {};
    const response = Object.assign(new EventEmitter(), {
      writeHead(status: number, headers: Record<string, string>) {
        Object.assign(answered, { status, headers });
        return response;
      },
      end(body: string) {
        answered.body = body;
      },
    });
    starting.handle({ url } as IncomingMessage, response as unknown as ServerResponse);
    return { answered, close: () => response.emit('close') };
  }

  describe('clients that stop reading', () => {
    const LARGE = Buffer.alloc(32 * 1024 * 1024);

    it('lose their connections, whether their responses were sent at once or in parts', async () => {
      const port = new PortLifecycle(50);
      const { port: number } = await port.listen('127.0.0.1', 0);
      const closed: string[] = [];
      const ended = Promise.withResolvers<void>();
      port.serve(({ url = '' }, response) => {
        response.on('close', () => {
          closed.push(`${url} ${response.writableFinished}`);
          if (closed.length === 2) ended.resolve();
        });
        if (url === '/parts') response.write('a part');
        response.end(LARGE);
      });
      const clients = ['/whole', '/parts'].map((path) =>
        connect(number, '127.0.0.1')
          .pause()
          .setNoDelay()
          .on('error', () => {})
          .end(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`),
      );
      await ended.promise;
      assert.deepEqual(closed.toSorted(), ['/parts false', '/whole false']);
      for (const client of clients) client.destroy();
      await port.close(0);
    });

    it('are told from slow ones, whose connections are kept as usual', async () => {
      const port = new PortLifecycle(1_000);
      const { port: number } = await port.listen('127.0.0.1', 0);
      const finished = Promise.withResolvers<number | undefined>();
      port.serve((request, response) => {
        response.on('finish', () => setImmediate(() => finished.resolve(request.socket.timeout)));
        response.end(LARGE);
      });
      const client = connect(number, '127.0.0.1').on('error', () => {});
      client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      for await (const chunk of client) {
        if (chunk.length === 0) assert.fail();
        if (client.bytesRead > LARGE.length) break;
      }
      assert.ok(Number(await finished.promise) > 60_000);
      await port.close(0);
    });
  });

  describe('requests during startup', () => {
    const handedOver = (starting: RequestsDuringStart): (string | undefined)[] => {
      const urls: (string | undefined)[] = [];
      starting.passTo(({ url }) => urls.push(url));
      return urls;
    };

    it('receive liveness, and that the service is not ready yet', () => {
      const starting = new RequestsDuringStart();
      for (const url of ['/livez', '/livez?x=1']) {
        const { answered } = ask(starting, url);
        assert.deepEqual([answered.status, answered.body], [200, 'ok\n']);
      }
      const { answered } = ask(starting, '/readyz?x=1');
      assert.deepEqual([answered.status, answered.body], [503, '{"ready":false,"reason":"migrating"}']);
      assert.deepEqual([answered.headers?.['retry-after'], answered.headers?.['connection']], ['2', 'close']);
      assert.deepEqual(handedOver(starting), []);
    });

    it('wait in order, as long as their connections last', () => {
      const starting = new RequestsDuringStart();
      const [first, gone, last] = ['/v1/models', '/api/gone', '/livez/else'].map((url) => ask(starting, url));
      gone?.close();
      assert.deepEqual([first?.answered, last?.answered], [{}, {}]);
      assert.deepEqual(handedOver(starting), ['/v1/models', '/livez/else']);
      assert.deepEqual(handedOver(starting), [], 'once');
    });

    it('are refused beyond a thousand, until one of them leaves', () => {
      const starting = new RequestsDuringStart();
      const waiting = Array.from({ length: MOST }, () => ask(starting, '/'));
      const { answered } = ask(starting, '/');
      assert.equal(answered.status, 503);
      assert.match(answered.body ?? '', /"success":false,"message":"The service is starting/);
      waiting[0]?.close();
      assert.deepEqual(ask(starting, '/').answered, {});
      assert.equal(handedOver(starting).length, MOST);
    });

    it('are refused when the startup takes too long, except those already handed over', async () => {
      const starting = new RequestsDuringStart(20);
      const taken = ask(starting, '/taken');
      assert.deepEqual(handedOver(starting), ['/taken']);
      const late = ask(starting, '/late');
      while (late.answered.status === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
      assert.deepEqual([late.answered.status, late.answered.headers?.['connection']], [503, 'close']);
      assert.deepEqual(taken.answered, {});
      assert.deepEqual(handedOver(starting), [], 'it has its response');
    });
  });
});

describe('port lifecycle', () => {
  const GRACE_MS = 20_000;
  const REQUEST = 'GET / HTTP/1.1\r\nhost: a.test\r\n\r\n';
  /** Bytes of one field that fit into a head of 16 KiB together with the other fields, as Node's parser counts. */
  const LONGEST = 16_356;

  describe('closing port', () => {
    it('waits neither for connections without a request nor for connections between two requests', async () => {
      const port = new PortLifecycle();
      const { port: number } = await port.listen('127.0.0.1', 0);
      port.serve((_request, response) => void response.end('served'));
      const [silent, kept] = [connect(number, '127.0.0.1'), connect(number, '127.0.0.1')];
      await Promise.all([once(silent, 'connect'), once(kept, 'connect')]);
      kept.write(REQUEST);
      const answer = String((await once(kept, 'data'))[0]);
      assert.match(answer, /^HTTP\/1.1 200 [\s\S]*served/);
      assert.doesNotMatch(answer, /^connection: close/im, 'before it drains');
      const ended = Promise.all([once(silent, 'close'), once(kept, 'close')]);
      const closedAt = performance.now();
      await port.close(GRACE_MS);
      await ended;
      assert.ok(performance.now() - closedAt < GRACE_MS - 5_000, 'long before the grace is over');
    });

    it('accepts a request on a kept connection after a drain, when new connections are already refused', async () => {
      const port = new PortLifecycle();
      const { port: number } = await port.listen('127.0.0.1', 0);
      port.serve((_request, response) => void response.end('served'));
      const kept = connect(number, '127.0.0.1');
      kept.write(REQUEST);
      await once(kept, 'data');
      port.drain();
      await pause(1_000);
      const closed = port.close(GRACE_MS);
      while (port.server.listening) await pause(1);
      await assert.rejects(once(connect(number, '127.0.0.1'), 'connect'), /ECONNREFUSED/);
      kept.write(REQUEST);
      const answer = String((await once(kept, 'data'))[0]);
      assert.match(answer, /^HTTP\/1.1 200 [\s\S]*served/);
      assert.match(answer, /^connection: close/im);
      await closed;
    });

    it('lets a request in flight finish, and aborts it after the grace period', async () => {
      for (const [graceMs, isServed] of [
        [3_000, true],
        [300, false],
      ] as const) {
        const port = new PortLifecycle();
        const { port: number } = await port.listen('127.0.0.1', 0);
        const begun = Promise.withResolvers<() => void>();
        port.serve((_request, response) => begun.resolve(() => void response.end('served')));
        const said = exchange(number, REQUEST).catch(() => '');
        const finish = await begun.promise;
        const closed = port.close(graceMs);
        // Later than the check for connections without a request.
        if (isServed) setTimeout(finish, 250);
        await closed;
        const { body, headers } = parseAnswer(await said);
        assert.equal(body.includes('served'), isServed);
        if (isServed) assert.equal(headers['connection'], 'close');
      }
    });

    it('closes a connection without a request soon after a drain, before the end of the grace period', async () => {
      const port = new PortLifecycle();
      const { port: number } = await port.listen('127.0.0.1', 0);
      const silent = connect(number, '127.0.0.1');
      await once(silent, 'connect');
      port.drain();
      await pause(300);
      const ended = once(silent, 'close');
      const closedAt = performance.now();
      await port.close(GRACE_MS);
      await ended;
      assert.ok(performance.now() - closedAt < GRACE_MS - 5_000);
    });

    it('refuses to open a port that is in use', async () => {
      const [first, second] = [new PortLifecycle(), new PortLifecycle()];
      const { port: number } = await first.listen('127.0.0.1', 0);
      await assert.rejects(second.listen('127.0.0.1', number), { code: 'EADDRINUSE' });
      await Promise.all([first.close(0), second.close(0)]);
    });

    it('accepts a head of 16 KiB and none that is longer', async () => {
      const port = new PortLifecycle();
      const { port: number } = await port.listen('127.0.0.1', 0);
      port.serve((_request, response) => void response.end('served'));
      const statusOf = async (fieldBytes: number) => {
        const head = `GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\nx: ${'a'.repeat(fieldBytes)}\r\n\r\n`;
        return parseAnswer(await exchange(number, head)).status;
      };
      assert.deepEqual([await statusOf(LONGEST), await statusOf(LONGEST + 1)], [200, 431]);
      await port.close(0);
    });

    it('opens once, and closes immediately if it never opened', async () => {
      const port = new PortLifecycle();
      await port.close(GRACE_MS);
      const first = await port.listen('127.0.0.1', 0);
      assert.deepEqual(await port.listen('127.0.0.1', 0), first);
      assert.equal(port.server.listenerCount('error'), 0, 'a later error is not taken for one of the opening');
      await port.close(0);
    });
  });
});
