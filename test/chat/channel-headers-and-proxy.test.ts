import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, before, it } from 'node:test';
import { forEachDatabase } from '../for-each-database.ts';
import { type ChatService, startChat } from './chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

/** A proxy that opens tunnels to whoever sends these credentials. */
async function startProxy(credentials: string) {
  const tunnels: string[] = [];
  const proxy = createServer();
  proxy.on('connect', (request, socket) => {
    const expected = `Basic ${Buffer.from(credentials).toString('base64')}`;
    if (request.headers['proxy-authorization'] !== expected) return void socket.end('HTTP/1.1 407 No\r\n\r\n');
    tunnels.push(request.url ?? '');
    const { hostname, port } = new URL(`http://${request.url}`);
    const upstream = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    socket.on('error', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return { port: (proxy.address() as AddressInfo).port, tunnels, stop: () => void proxy.close() };
}

const ANSWER = { choices: [{ message: { content: 'hi' } }], usage: { prompt_tokens: 1, completion_tokens: 1 } };

forEachDatabase((_name, _open, freshUrl) => {
  let service: ChatService;
  let upstream: ScriptedUpstream;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  let channel: number;
  before(async () => {
    [upstream, proxy] = [await startScriptedUpstream(), await startProxy('ada:pass word')];
    service = await startChat(await freshUrl(), { channels: 0 });
    const { operator } = service;
    upstream.respondWith((response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(ANSWER));
    });
    await operator.requestData('POST', '/api/admin/models', {
      id: 'alias',
      vendor: 'openai',
      kind: 'chat',
      alias_of: 'sandbox-chat',
    });
    const made = await operator.requestData<{ id: number }>('POST', '/api/admin/channels', {
      name: 'Mapped',
      vendor: 'openai',
      base_url: upstream.url,
      credentials: { api_key: 'key-of-the-channel' },
      models: ['sandbox-chat', 'alias', 'sandbox-embedding'],
      options: { private: true },
      model_mapping: { 'sandbox-chat': 'there/chat', alias: 'there/alias' },
      extra_headers: { 'X-Team': 'red', Authorization: 'Token other' },
      proxy: `http://ada:pass%20word@127.0.0.1:${proxy.port}`,
    });
    channel = made.id;
  });
  after(async () => {
    await service.stop();
    await upstream.stop();
    proxy.stop();
  });

  it('calls the upstream by its own names, with the extra headers, through the proxy', async () => {
    for (const [model, sent] of [
      ['sandbox-chat', 'there/chat'],
      ['alias', 'there/alias'],
    ]) {
      assert.equal((await service.ask('hello', { model })).status, 200);
      const seen = upstream.requests.at(-1);
      assert.deepEqual([seen?.headers['x-team'], seen?.headers.authorization], ['red', 'Token other']);
      assert.equal(seen?.headers['proxy-authorization'], undefined);
      assert.equal(JSON.parse(seen?.body ?? '{}').model, sent);
    }
    assert.deepEqual(new Set(proxy.tunnels), new Set([new URL(upstream.url).host]));
  });

  it('tests the connection the same way', async () => {
    upstream.requests.length = 0;
    const before = proxy.tunnels.length;
    await service.operator.requestData('POST', `/api/admin/channels/${channel}/test`);
    assert.deepEqual([upstream.requests.length, upstream.requests[0]?.headers['x-team']], [1, 'red']);
    assert.ok(proxy.tunnels.length >= before);
  });

  it('charges nothing and sends nothing where the proxy refuses', async () => {
    await service.operator.requestData('PUT', `/api/admin/channels/${channel}`, {
      proxy: `http://ada:wrong@127.0.0.1:${proxy.port}`,
    });
    upstream.requests.length = 0;
    assert.equal((await service.ask('hello')).status, 503);
    assert.equal(upstream.requests.length, 0);
    const [newest] = await service.waitUntilSettled();
    assert.equal(newest?.kind, 'refund');
    await service.operator.requestData('PUT', `/api/admin/channels/${channel}`, { proxy: '' });
    const { length } = proxy.tunnels;
    assert.equal((await service.ask('hello')).status, 200);
    assert.equal(proxy.tunnels.length, length);
  });
});
