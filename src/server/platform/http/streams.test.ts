import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { endpoint } from '../../../contract/endpoint.ts';
import { plain, startHttp } from './start-http-server.fixture.ts';
import { answerHeadRequest, beginEventStream } from './streams.ts';

const STREAM = endpoint({ ...plain, method: 'GET', path: '/api/stream' });

describe('event stream', () => {
  let http: Awaited<ReturnType<typeof startHttp>>;
  let port: number;
  /** Ends the access of the most recently opened stream. */
  let endAccess = () => {};
  let stopsWatching = 0;
  let ended: AbortSignal;
  /** Called before a stream begins. */
  let arrived = async (_request: { readonly disconnected: AbortSignal }): Promise<unknown> => undefined;
  before(async () => {
    http = await startHttp();
    http.routes.add(STREAM, async ({ request, reply }) => {
      reply.header('x-own', 'kept');
      if (answerHeadRequest(reply)) return reply;
      await arrived(request);
      ended = beginEventStream(reply, {
        disconnected: request.disconnected,
        watchAccess(onEnd) {
          endAccess = onEnd;
          return () => {
            stopsWatching += 1;
          };
        },
      });
      ended.addEventListener('abort', () => reply.raw.end());
      reply.raw.write('data: 1\n\n');
      return reply;
    });
    port = await http.start();
  });
  after(() => http.close(0));

  /** A client that has received the first event. */
  async function open() {
    const socket = connect(port, '127.0.0.1');
    socket.setEncoding('latin1');
    socket.write('GET /api/stream HTTP/1.1\r\nhost: gate.example\r\n\r\n');
    let said = '';
    socket.on('data', (chunk: string) => {
      said += chunk;
    });
    while (!said.includes('data: 1\n\n')) await once(socket, 'data');
    return { socket, said: () => said };
  }

  const HEADERS = [
    /^content-type: text\/event-stream/im,
    /^cache-control: no-store, no-transform\r$/im,
    /^x-accel-buffering: no\r$/im,
  ];

  it('watches nothing for a client that left before its stream began', async () => {
    const before = stopsWatching;
    arrived = ({ disconnected }) => {
      socket.destroy();
      return once(disconnected, 'abort');
    };
    const socket = connect(port, '127.0.0.1');
    socket.write('GET /api/stream HTTP/1.1\r\nhost: gate.example\r\n\r\n');
    while (stopsWatching === before) await nextTurn();
    arrived = async () => undefined;
    assert.equal(ended.aborted, true);
    assert.equal(stopsWatching, before + 1);
  });

  it('is neither cached nor buffered by proxies, and keeps the headers of its handler', async () => {
    const { socket, said } = await open();
    assert.match(said(), /^HTTP\/1\.1 200 /);
    for (const header of [...HEADERS, /^x-own: kept\r$/im, /^x-request-id: \S/im]) assert.match(said(), header);
    socket.destroy();
  });

  it('ends together with the credential that opened it', async () => {
    const { socket, said } = await open();
    const watched = stopsWatching;
    assert.equal(ended.aborted, false);
    endAccess();
    assert.equal(ended.aborted, true);
    while (!said().includes('\r\n0\r\n\r\n')) await once(socket, 'data');
    while (stopsWatching === watched) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(stopsWatching, watched + 1);
    socket.destroy();
  });

  it('ends when the client disconnects, and stops watching the credential', async () => {
    const { socket } = await open();
    const [watched, signal] = [stopsWatching, ended];
    socket.destroy();
    while (!signal.aborted || stopsWatching === watched) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(stopsWatching, watched + 1);
  });

  it('answers HEAD with its headers alone', async () => {
    const { status, headers, body } = await http.send('HEAD', '/api/stream');
    assert.deepEqual([status, body], [200, '']);
    assert.match(headers['content-type'] ?? '', /^text\/event-stream/);
    assert.deepEqual([headers['x-own'], headers['x-accel-buffering']], ['kept', 'no']);
  });
});
