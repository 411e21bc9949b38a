import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { generate } from 'selfsigned';
import type { ExchangeControl } from './outbound.ts';
import { ANSWERED, answerOf, ask, OK, openClient, openTlsSender, startServer, turn } from './raw-server.fixture.ts';

describe('pausing handler', () => {
  const BODY = Buffer.from(Array.from({ length: 3_000_000 }, (_, at) => at % 251));
  it(`receives nothing until it resumes, then every byte in order`, async (t) => {
    const server = await startServer(t, ({ socket }) => {
      socket.write(`${OK}content-length: ${BODY.length}\r\n\r\n`);
      socket.write(BODY);
    });
    let pauses = 0;
    let isPaused = false;
    const chunk = (control: ExchangeControl): void => {
      assert.equal(isPaused, false);
      control.pause();
      isPaused = true;
      const goOn = (): void => {
        isPaused = false;
        control.resume();
      };
      if (pauses++ % 3 === 0) goOn();
      else setTimeout(goOn, pauses % 2);
    };
    const client = openClient(t, 1);
    const notes = ask(client, server.origin, { chunk });
    await notes.done;
    assert.deepEqual(notes.log, ANSWERED);
    assert.ok(notes.body.equals(BODY));
    await turn();
    await ask(client, server.origin).done;
    assert.equal(server.sockets.length, 1, 'and its connection is used again');
  });

  it(`stops the peer`, async (t) => {
    let written = 0;
    const server = await startServer(t, ({ socket }) => {
      socket.write(`${OK}content-length: 500000000\r\n\r\n`);
      const piece = Buffer.alloc(64 * 1024);
      const write = (): void => {
        written++;
        socket.write(piece, (error) => (error ? undefined : write()));
      };
      write();
    });
    const notes = ask(openClient(t, 1), server.origin, { chunk: (control) => control.pause() });
    await notes.begun;
    await sleep(200);
    const before = written;
    await sleep(50);
    assert.equal(written, before);
    assert.ok(notes.body.length < 100_000);
    (await notes.begun).abort();
    assert.deepEqual(notes.log, ['head 200', 'fail aborted']);
  });

  for (const [framing, text] of [
    ['until close', `${OK}\r\nall of it`],
    ['of a length', answerOf('all of it')],
    ['in chunks', `${OK}transfer-encoding: chunked\r\n\r\n4\r\nall \r\n5\r\nof it\r\n0\r\n\r\n`],
  ] as const)
    it(`loses nothing when the peer closes meanwhile, with a body ${framing}`, async (t) => {
      const server = await startServer(t, ({ socket }) => void socket.end(text));
      const client = openClient(t, 1);
      const notes = ask(client, server.origin, { head: (control) => control.pause() });
      const control = await notes.begun;
      await sleep(20);
      assert.deepEqual(notes.log, ['head 200'], 'not told of the end while it is paused');
      control.resume();
      await notes.done;
      assert.deepEqual([notes.log, String(notes.body)], [ANSWERED, 'all of it']);
      await turn();
      const next = ask(client, server.origin);
      await next.done;
      assert.deepEqual([next.log, server.sockets.length], [ANSWERED, 2], 'the next has another connection');
    });

  it('loses nothing over TLS when the end arrives with the last bytes', async (t) => {
    const { private: key, cert } = await generate([{ name: 'commonName', value: 'host.test' }]);
    const server = await startServer(
      t,
      ({ socket, path }) => {
        socket.cork();
        socket.write(path === '/close' ? `${OK}\r\n` : `${OK}content-length: 9\r\n\r\n`);
        socket.end('all of it');
      },
      '127.0.0.1',
      (accept) => createTlsServer({ key, cert }, accept),
    );
    const client = openTlsSender(t);
    const origin = `https://127.0.0.1:${server.port}`;
    for (const path of ['/close', '/length']) {
      const notes = ask(client, origin, { head: (control) => control.pause() }, { path });
      const control = await notes.begun;
      await sleep(50);
      control.resume();
      await notes.done;
      assert.deepEqual([notes.log, String(notes.body)], [ANSWERED, 'all of it'], path);
    }
  });

  it('receives each chunk once when it resumes within the call in which it paused', async (t) => {
    const chunks = Array.from({ length: 50 }, (_, at) => `2\r\n${10 + at}\r\n`).join('');
    const text = `${OK}transfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`;
    const server = await startServer(t, ({ socket }) => void socket.write(text));
    let isIn = false;
    const chunk = (control: ExchangeControl): void => {
      assert.equal(isIn, false, 'not called within itself');
      isIn = true;
      control.pause();
      control.resume();
      isIn = false;
    };
    const notes = ask(openClient(t), server.origin, { head: (control) => control.pause(), chunk });
    const control = await notes.begun;
    control.resume();
    await notes.done;
    assert.deepEqual(
      [notes.log, String(notes.body)],
      [ANSWERED, Array.from({ length: 50 }, (_, at) => 10 + at).join('')],
    );
  });

  it('receives the end of a complete response only after it resumes', async (t) => {
    const server = await startServer(t, ({ socket }) => void socket.write(answerOf('x')));
    const client = openClient(t, 1);
    const notes = ask(client, server.origin, { chunk: (control) => control.pause() });
    const next = ask(client, server.origin);
    const control = await notes.begun;
    await sleep(20);
    assert.deepEqual([notes.log, next.log], [['head 200'], []]);
    control.resume();
    await next.done;
    assert.deepEqual([notes.log, next.log], [ANSWERED, ANSWERED]);
  });
});
