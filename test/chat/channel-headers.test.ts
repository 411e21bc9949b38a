import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, before, it } from 'node:test';
import { openLog } from '../../src/server/platform/log.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { type ChatService, chatBody, startChat } from './chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

/** An HTTP CONNECT proxy that accepts only these credentials. */
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

forOneDatabase((_name, _open, freshUrl) => {
  let service: ChatService;
  let upstream: ScriptedUpstream;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  let channel: number;
  const lines: string[] = [];
  before(async () => {
    [upstream, proxy] = [await startScriptedUpstream(), await startProxy('ada:pass word')];
    const log = openLog('trace', { write: (line: string) => void lines.push(line) });
    service = await startChat(await freshUrl(), { channels: 0, overrides: { log } });
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

  it('calls the upstream by its own model names, with the extra headers, through the proxy', async () => {
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

  it('tests the connection through the same headers and proxy', async () => {
    upstream.requests.length = 0;
    const before = proxy.tunnels.length;
    await service.operator.requestData('POST', `/api/admin/channels/${channel}/test`);
    assert.deepEqual([upstream.requests.length, upstream.requests[0]?.headers['x-team']], [1, 'red']);
    assert.ok(proxy.tunnels.length >= before);
  });

  it('T45: reveals none of its secrets to callers, administrators or the log', async () => {
    const secrets = {
      header: 'PORTAL-SECRET/987654',
      password: 'pass word',
      sentPassword: 'pass%20word',
      basic: Buffer.from('ada:pass word').toString('base64'),
      key: 'key-of-the-channel',
    };
    await service.operator.requestData('PUT', `/api/admin/channels/${channel}`, {
      extra_headers: { 'x-portal-key': secrets.header, 'x-title': 'Reelgate', 'x-team': 'customers' },
    });
    const quoted = `${Object.values(secrets).join(' ')} of customers`;
    const told: string[] = [];
    const ask = async (more: object) => void told.push(JSON.stringify((await service.ask('hello', more)).body));
    const listen = async (path: string) => {
      const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ ...chatBody('hello'), max_tokens: 9, stream: true });
      told.push(await (await fetch(service.baseUrl + path, { method: 'POST', headers, body })).text());
    };
    // PHP escapes slashes in JSON.
    const error = JSON.stringify({ error: { message: quoted, code: secrets.header } }).replaceAll('/', '\\/');
    for (const status of [400, 401, 500]) {
      upstream.respondWith((response) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(error);
      });
      await ask({});
    }
    upstream.respondWith((response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ ...ANSWER, choices: [{ message: { content: quoted } }] }));
    });
    await ask({});
    const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: quoted }, finish_reason: 'stop' }] })}`;
    upstream.respondWith((response) => {
      response.setHeader('content-type', 'text/event-stream');
      const middle = event.indexOf('SECRET') + 3;
      response.write(event.slice(0, middle), () =>
        setImmediate(() => response.end(`${event.slice(middle)}\n\ndata: [DONE]\n\n`)),
      );
    });
    await listen('/v1/chat/completions');
    await listen('/v1/messages');
    upstream.respondWith((response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.end(`data: ${JSON.stringify({ error: { message: quoted, code: 401 } })}\n\n`);
    });
    await listen('/v1/chat/completions');
    assert.equal(told.filter((text) => /\[masked\].*\[masked\] of customers/.test(text)).length, 4, told.join('\n'));
    const { operator } = service;
    await operator.requestData('POST', `/api/admin/channels/${channel}/test`);
    told.push(JSON.stringify(await operator.requestData('GET', `/api/admin/channels/${channel}`)));
    assert.match(told.at(-1) ?? '', /\[masked\]/);
    for (const secret of Object.values(secrets))
      for (const text of [...told, ...lines]) assert.ok(!text.replaceAll('\\', '').includes(secret), text);
    upstream.respondWith((response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(ANSWER));
    });
  });

  it('sends and charges nothing when the proxy refuses', async () => {
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
