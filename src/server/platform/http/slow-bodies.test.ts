import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import Type from 'typebox';
import { endpoint } from '../../../contract/endpoint.ts';
import { AppError } from '../app-error.ts';
import { openLog } from '../log.ts';
import { createHttpServer, type HttpServer } from './server.ts';

const echo = endpoint({
  method: 'POST',
  path: '/api/echo',
  summary: 'Test',
  tag: 'test',
  policy: 'public',
  envelope: 'api',
  body: Type.Object({ text: Type.String() }),
  response: Type.Object({ text: Type.String() }),
});

/** Longer than this process may be delayed on a busy machine. */
const GRACE_MS = 800;

let http: HttpServer;
let port: number;
before(async () => {
  const refuse = () => Promise.reject(new AppError('unauthorized'));
  http = await createHttpServer({
    log: openLog('silent'),
    authenticator: { account: refuse, model: refuse },
    defaultLocale: 'en',
    baseUrl: 'http://localhost',
    corsOrigins: [],
    maxConnectionsPerIp: 0,
    bodyGraceMs: GRACE_MS,
    clientIpOf: () => '127.0.0.1',
    isTrustedProxy: () => false,
  });
  http.routes.add(echo, async ({ body }) => body);
  ({ port } = await http.listen('127.0.0.1', 0));
});
after(() => http.close(0));

const head = (length: number): string =>
  `POST /api/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

test('T66: a stalled body ends in a 408 in the envelope of its path, and closes its connection', async () => {
  const socket = connect(port, '127.0.0.1');
  socket.write(`${head(1_000)}{"text":"`);
  let said = '';
  socket.on('data', (chunk) => {
    said += chunk.toString('latin1');
  });
  await once(socket, 'close');
  assert.match(said, /^HTTP\/1\.1 408 /);
  assert.match(said, /^connection: close\r$/im);
  assert.match(said, /^x-request-id: \S+\r$/im);
  assert.match(said, /"success":false/);
});

test('T66: a body that arrives steadily may take longer than that', async () => {
  const body = JSON.stringify({ text: 'x'.repeat(20_000) });
  const socket = connect(port, '127.0.0.1');
  socket.write(head(body.length));
  const answer = once(socket, 'data');
  const startedAt = performance.now();
  for (let at = 0; at < body.length; at += 2_500) {
    socket.write(body.slice(at, at + 2_500));
    await new Promise((resolve) => setTimeout(resolve, GRACE_MS / 6));
  }
  const [said] = (await answer) as [Buffer];
  assert.match(said.toString('latin1'), /^HTTP\/1\.1 200 /);
  assert.ok(performance.now() - startedAt > GRACE_MS, 'the grace was over');
  socket.destroy();
});
