import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { it } from 'node:test';
import Fastify from 'fastify';
import { sendContent } from '../../src/server/video/content-routes.ts';

it('T66: a stalled download is ended, a slow one is not', async () => {
  const open = new Set<Readable>();
  const endless = (): Readable => {
    const body = new Readable({ read: () => void body.push(Buffer.alloc(64 * 1024)) });
    open.add(body.once('close', () => open.delete(body)));
    return body;
  };
  const service = Fastify();
  service.get('/', (_, reply) => sendContent(reply, { status: 200, headers: {}, body: endless() }, 300));
  await service.listen({ host: '127.0.0.1', port: 0 });
  const { port } = service.server.address() as AddressInfo;
  const ask = async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    await once(socket, 'readable');
    return socket;
  };
  const slow = await ask();
  const sips = setInterval(() => slow.read(1024 * 1024), 50);
  const [kept] = open;
  const silent = await ask();
  const [lost] = [...open].filter((body) => body !== kept);
  assert.ok(kept && lost);
  if (!lost.closed) await once(lost, 'close');
  assert.ok(!kept.closed);
  clearInterval(sips);
  slow.destroy();
  silent.destroy();
  await service.close();
});
