import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { CLI_OAUTH_CLIENT } from '../src/contract/device-auth.ts';
import { CONSOLE_SECTIONS } from '../src/contract/pages.ts';
import { parseConfig } from '../src/server/platform/config.ts';
import type { TestUser } from './accounts/test-user-client.ts';
import { startTestService, type TestService } from './test-service.ts';

const HOST = 'video.example';
const SILENCE_MS = 400;
/** Longest wait for an answer on a busy machine. */
const FIRST_BYTE_MS = 20_000;

/** Checks that precede every route: hosts, path spellings, input that may confuse a parser, and page headers. */
describe('the HTTP layer', () => {
  let service: TestService;
  let user: TestUser;
  let port: number;
  before(async () => {
    service = await startTestService('sqlite::memory:', { BASE_URL: `https://${HOST}` });
    user = await service.signUp('plain');
    port = (service.app.http.fastify.server.address() as AddressInfo).port;
  });
  after(() => service.stop());

  /**
   * Writes these bytes and returns all that is received until the service closes the connection or stays silent for a
   * while.
   */
  const talk = (bytes: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
      let said = '';
      socket.setTimeout(FIRST_BYTE_MS, () => socket.destroy());
      socket.on('data', (chunk) => {
        socket.setTimeout(SILENCE_MS);
        said += chunk.toString('latin1');
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(said));
    });
  const statusOf = (said: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(said)?.[1] ?? '0');
  const get = (path: string, headers: readonly string[] = [`Host: ${HOST}`]) =>
    talk(`GET ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\nConnection: close\r\n\r\n`);

  it('T38: builds links only from BASE_URL, whatever the headers claim', async () => {
    const body = JSON.stringify({ client_id: CLI_OAUTH_CLIENT.id });
    const ask = (headers: readonly string[]) =>
      talk(
        `POST /api/auth/device/code HTTP/1.1\r\n${headers.join('\r\n')}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
    for (const forged of [
      'X-Forwarded-Host: evil.example',
      'X-Forwarded-Proto: http',
      'X-Forwarded-Port: 81',
      'X-Forwarded-Prefix: /evil',
      'X-Forwarded-Server: evil.example',
      'X-Host: evil.example',
      'X-Original-Host: evil.example',
      'X-Original-URL: /evil',
      'X-Rewrite-URL: /evil',
      'Forwarded: host=evil.example;proto=http',
      'Origin: null',
      'Referer: https://evil.example/',
    ]) {
      const said = await ask([`Host: ${HOST}`, forged, 'Authorization: Bearer x']);
      assert.equal(statusOf(said), 200, `${forged}: ${said}`);
      assert.match(said, /"verification_uri":"https:\/\/video\.example\/authorize"/, forged);
      assert.ok(!said.includes('evil'), forged);
    }
    for (const host of [
      'evil.example',
      'evil.example:443',
      `${HOST}.evil.example`,
      `evil-${HOST}`,
      `${HOST}@evil.example`,
      `evil.example#${HOST}`,
      `evil.example/${HOST}`,
      `${HOST}, evil.example`,
      `${HOST}.`,
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      '',
    ]) {
      const status = statusOf(await ask([`Host: ${host}`]));
      assert.ok(status === 421 || status === 400, `${host}: ${status}`);
    }
    for (const two of [
      [HOST, 'evil.example'],
      ['evil.example', HOST],
      [HOST, HOST],
    ])
      assert.equal(statusOf(await ask(two.map((each) => `Host: ${each}`))), 421, two.join(' '));
  });

  it('T44, T70: no spelling of a path bypasses a guard or leaves a folder', async () => {
    const headers = [
      `Host: ${HOST}`,
      `Cookie: session=${user.cookies.get('session')}`,
      `Service-Api-User: ${user.id}`,
      'Sec-Fetch-Site: same-origin',
    ];
    assert.equal(statusOf(await get('/api/user/self', headers)), 200);
    for (const path of [
      '/api/admin/users',
      '//api/admin/users',
      '/api//admin/users',
      '/api/./admin/users',
      '/api/x/../admin/users',
      '/api/%2e/admin/users',
      '/api/%2E%2E/api/admin/users',
      '/api%2fadmin%2fusers',
      '/api%2Fadmin/users',
      '/api%5cadmin%5cusers',
      '/api\\admin\\users',
      '/API/admin/users',
      '/api/Admin/Users',
      '/api/admin/users/',
      '/api/admin/users;x=1',
      '/api/admin;x/users',
      '/api/admin/users.',
      '/api/admin/users%20',
      '/api/admin/users%00',
      '/api/admin/users%09',
      '/api/admin/users#x',
      '/api/admin/users?%00',
      '/api/%61dmin/users',
      '/%61pi/%61dmin/users',
      `https://${HOST}/api/admin/users`,
      `http://localhost/api/admin/users`,
      '*',
      '/assets/../package.json',
      '/assets/%2e%2e/package.json',
      '/assets/..%2fpackage.json',
      '/assets/..%5cpackage.json',
      '/assets//etc/passwd',
      '/assets/.env',
      '/assets/.git/config',
      '/package.json',
      '/.env',
      '/.git/config',
      '/src/server/main.ts',
      '/data/reelgate.db',
      '/data/master.key',
    ]) {
      const said = await get(path, headers);
      assert.ok([400, 403, 404, 405].includes(statusOf(said)), `${path}: ${said.slice(0, 300)}`);
    }
  });

  it('T60: refuses requests that two parsers could read differently, and closes the connection', async () => {
    const hidden = `GET /livez HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`;
    const post = (lines: string, rest: string) =>
      `POST /api/user/login HTTP/1.1\r\nHost: ${HOST}\r\nContent-Type: application/json\r\n${lines}\r\n\r\n${rest}${hidden}`;
    const chunked = 'Transfer-Encoding: chunked';
    const requests = {
      'both lengths': post(`Content-Length: 5\r\n${chunked}`, '0\r\n\r\n'),
      'both lengths, the other first': post(`${chunked}\r\nContent-Length: 5`, '0\r\n\r\n'),
      'two lengths': post('Content-Length: 2\r\nContent-Length: 40', '{}'),
      'two lengths in one': post('Content-Length: 2, 40', '{}'),
      'a signed length': post('Content-Length: +2', '{}'),
      'a negative length': post('Content-Length: -2', '{}'),
      'a hexadecimal length': post('Content-Length: 0x2', '{}'),
      'a length of words': post('Content-Length: two', '{}'),
      'a length with a blank inside': post('Content-Length: 2 2', '{}'),
      'an endless length': post(`Content-Length: ${'9'.repeat(40)}`, '{}'),
      'chunked is not the last': post('Transfer-Encoding: chunked, identity', '2\r\n{}\r\n0\r\n\r\n'),
      'chunked twice': post('Transfer-Encoding: chunked, chunked', '2\r\n{}\r\n0\r\n\r\n'),
      'an unknown coding': post('Transfer-Encoding: xchunked', '2\r\n{}\r\n0\r\n\r\n'),
      'a blank before the colon': post('Transfer-Encoding : chunked', '2\r\n{}\r\n0\r\n\r\n'),
      'a tab before the colon': post('Transfer-Encoding\t: chunked', '2\r\n{}\r\n0\r\n\r\n'),
      'a NUL in the name': post('Transfer-Encoding\0: chunked', '2\r\n{}\r\n0\r\n\r\n'),
      'a folded line': post('X: y\r\n Transfer-Encoding: chunked', ''),
      'a folded coding': post('Transfer-Encoding:\r\n chunked', '2\r\n{}\r\n0\r\n\r\n'),
      'line feeds alone': post('Content-Length: 2', '{}').replaceAll('\r\n', '\n'),
      'carriage returns alone': post('X: y\rContent-Length: 2', '{}'),
      'a chunk size that is none': post(chunked, 'z\r\n{}\r\n0\r\n\r\n'),
      'a chunk size with a prefix': post(chunked, '0x2\r\n{}\r\n0\r\n\r\n'),
      'a signed chunk size': post(chunked, '+2\r\n{}\r\n0\r\n\r\n'),
      'a chunk size beyond all numbers': post(chunked, `${'f'.repeat(20)}\r\n{}\r\n0\r\n\r\n`),
      'a chunk longer than announced': post(chunked, '1\r\n{}\r\n0\r\n\r\n'),
      'a chunk ended by a line feed': post(chunked, '2\n{}\n0\n\n'),
      'a line feed in a chunk extension': post(chunked, '2;a\nb\r\n{}\r\n0\r\n\r\n'),
      'a blank before the first header': `GET /livez HTTP/1.1\r\n Host: ${HOST}\r\n\r\n${hidden}`,
      'another protocol': `GET /livez HTTP/9.9\r\nHost: ${HOST}\r\n\r\n${hidden}`,
      'no protocol': `GET /livez\r\n\r\n${hidden}`,
      'no host': `GET /livez HTTP/1.1\r\n\r\n${hidden}`,
    };
    await Promise.all(
      Object.entries(requests).map(async ([name, bytes]) => {
        const said = await talk(bytes);
        const answers = said.match(/HTTP\/1\.1 \d{3}/g) ?? [];
        assert.ok(answers.length <= 1, `${name}: ${answers.join(' ')}`);
        assert.ok(!said.includes('ok\n'), `${name}: what was hidden was answered`);
        assert.ok([0, 400, 413, 421, 505].includes(statusOf(said)), `${name}: ${said.slice(0, 200)}`);
      }),
    );
  });

  it('T60: errors of the HTTP parser also have an envelope and a request id', async () => {
    const cases = [
      [400, `POST /v1/videos HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: two\r\n\r\n{}`],
      [400, `GET /v1/models HTTP/1.1\r\nHost: ${HOST}\r\nX: a\0b\r\n\r\n`],
      [431, `GET /api/status HTTP/1.1\r\nHost: ${HOST}\r\nX: ${'a'.repeat(17_000)}\r\n\r\n`],
      [400, 'no request at all\r\n\r\n'],
    ] as const;
    for (const [status, bytes] of cases) {
      const said = await talk(bytes);
      assert.equal(statusOf(said), status, said);
      assert.match(said, /^x-request-id: [A-Za-z0-9_-]{8,}\r$/m, said);
      assert.match(said, /^connection: close\r$/m);
      const path = /^[A-Z]+ (\S+) HTTP/.exec(bytes)?.[1] ?? '';
      if (path.startsWith('/')) assert.match(said, path.startsWith('/api') ? /"success":false/ : /"code":"/, said);
    }
  });

  it('distinguishes a wrong method from an unknown path, whatever the body', async () => {
    const post = (path: string, type: string, body: string) =>
      talk(
        `POST ${path} HTTP/1.1\r\nHost: ${HOST}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
    const multipart = 'multipart/form-data; boundary=b';
    for (const [type, body] of [
      [multipart, '--b--'],
      ['application/json', `"${'x'.repeat(70_000)}"`],
      ['text/plain', 'x'],
    ] as const) {
      for (const path of [
        '/v1/message',
        '/v1/none?x=1',
        '/api',
        '/api/none',
        '/jimeng/other?Action=x',
        '/kling/none',
        '/v1',
      ]) {
        const said = await post(path, type, body);
        assert.equal(statusOf(said), 404, `${path} ${type}: ${said}`);
        assert.match(said, /content-type: application\/json/, `${path}: an envelope, no page`);
      }
      for (const [path, allow] of [
        ['/v1/models', 'GET, HEAD'],
        ['/api/status', 'GET, HEAD'],
        ['/v1/videos/task_x/content', 'GET, HEAD'],
        ['/', 'GET, HEAD'],
      ] as const) {
        const said = await post(path, type, body);
        assert.equal(statusOf(said), 405, `${path} ${type}: ${said}`);
        assert.match(said, new RegExp(`^allow: ${allow}\r$`, 'm'), said);
      }
    }
    assert.match(await get('/api/none'), /"success":false/);
    assert.match(await get('/v1/none'), /"error":\{/);
    assert.equal(statusOf(await get('/v1/models/')), 401, 'a final slash says nothing');
    for (const path of ['/chat/completions', '/messages?x=1', '/models/m:generateContent']) {
      const said = await post(path, 'application/json', '{}');
      assert.equal(statusOf(said), 404);
      assert.match(said, /"error":\{"message":"[^"]*ends in \/v1/, said);
    }
    for (const path of [
      '/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21',
      '/openai/v1/chat/completions',
      '/api/v1/chat/completions',
      '/api/paas/v4/chat/completions',
      '/compatible-mode/v1/chat/completions',
      '/v3/chat/completions',
      '/v1beta/openai/chat/completions',
      '/v1/chat/completions/chat/completions',
      '/v1/chat/completions/v1/chat/completions?x=1',
    ]) {
      const said = await post(path, 'application/json', '{}');
      assert.equal(statusOf(said), 404);
      assert.match(said, /"error":\{"message":"[^"]*the path is \/v1\/chat\/completions\./, said);
    }
    assert.match(await get('/v1/chat/completions/models'), /the path is \/v1\/models\./);
    assert.match(await get('/models'), /"error":\{"message":"[^"]*the path is \/v1\/models\./);
  });

  it('accepts a target in absolute form for its own host, which the Host header cannot override', async () => {
    const ask = (host: string) => get(`https://${host}/v1/none`, [`Host: ${HOST}`]);
    assert.equal(statusOf(await ask(HOST)), 404);
    assert.equal(statusOf(await ask('evil.example')), 421);
    assert.equal(statusOf(await get(`https://${HOST}/v1/none`, ['Host: evil.example'])), 404);
  });

  it('D14: a peer that is still writing can read the refusal', async () => {
    const socket = connect(port, '127.0.0.1');
    let said = '';
    const errors: Error[] = [];
    socket.on('error', (error) => errors.push(error));
    socket.on('data', (chunk) => {
      said += chunk.toString('latin1');
    });
    const size = 600_000;
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: evil.example\r\nContent-Length: ${size}\r\n\r\n`);
    await once(socket, 'data');
    for (let sent = 0; sent < size; sent += 60_000)
      await new Promise((resolve) => socket.write('x'.repeat(60_000), resolve));
    await once(socket, 'close');
    assert.equal(statusOf(said), 421);
    assert.deepEqual(errors, []);
  });

  it('sends HSTS over https and keeps private responses out of caches', async () => {
    const headers = [`Host: ${HOST}`, `Cookie: session=${user.cookies.get('session')}`, `Service-Api-User: ${user.id}`];
    for (const path of ['/api/user/self', '/api/tokens', '/api/tickets', '/v1/models', '/api/none', '/v1/none']) {
      const said = await get(path, headers);
      assert.match(said, /^strict-transport-security: max-age=31536000\r$/im, said);
      assert.match(said, /^cache-control: no-store\r$/im, `${path}: ${said.slice(0, 600)}`);
    }
  });

  it('T66: limits the connections of one address and serves others meanwhile', async () => {
    const crowded = await startTestService('sqlite::memory:', {}, { connectionsPerIp: 3 });
    const at = Number(new URL(crowded.url).port);
    const open = (localAddress: string) =>
      new Promise<Socket | undefined>((resolve) => {
        const socket = connect({ port: at, host: '127.0.0.1', localAddress });
        socket.on('error', () => {});
        socket.once('close', () => resolve(undefined));
        socket.once('data', () => resolve(socket));
        socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
      });
    try {
      const sockets = [await open('127.0.0.5'), await open('127.0.0.5'), await open('127.0.0.5')];
      assert.ok(sockets.every((socket) => socket !== undefined));
      assert.equal(await open('127.0.0.5'), undefined);
      const other = await open('127.0.0.6');
      assert.ok(other !== undefined);
      other.destroy();
      sockets[0]?.destroy();
      await once(sockets[0] as Socket, 'close');
      let again: Socket | undefined;
      for (let tries = 0; again === undefined && tries < 100; tries++) again = await open('127.0.0.5');
      assert.ok(again !== undefined);
      for (const socket of [again, ...sockets]) socket?.destroy();
    } finally {
      await crowded.stop();
    }
  });

  it('T61: checks the request limit of a key before the body is read', async () => {
    const strict = await startTestService('sqlite::memory:', { KEY_REQUESTS_PER_MINUTE: '3' });
    try {
      const keyOf = async (name: string): Promise<string> =>
        (await strict.root.ok<{ key: string }>('POST', '/api/tokens', { name })).key;
      const [key, other] = [await keyOf('one'), await keyOf('two')];
      const models = (of: string) => fetch(`${strict.url}/v1/models`, { headers: { authorization: `Bearer ${of}` } });
      for (let count = 0; count < 3; count++) assert.equal((await models(key)).status, 200);
      // No byte of these bodies is sent, and the response still arrives.
      for (const path of ['/v1/chat/completions', '/v1/videos', '/v1/chat/completions?x=1']) {
        const socket = connect(Number(new URL(strict.url).port), '127.0.0.1');
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n` +
            'Content-Type: application/json\r\nContent-Length: 30000000\r\n\r\n',
        );
        const [said] = (await once(socket, 'data')) as [Buffer];
        assert.match(said.toString(), /^HTTP\/1\.1 429 /, path);
        assert.match(said.toString(), /^retry-after: \d+\r$/im);
        assert.match(said.toString(), /rate_limit_exceeded/);
        socket.destroy();
      }
      assert.equal((await models(other)).status, 200, 'another key is not held up');
    } finally {
      await strict.stop();
    }
  });

  it('a video body above its limit is refused with 413, announced or not', async () => {
    const { key } = await user.ok<{ key: string }>('POST', '/api/tokens', { name: 'large' });
    const headOf = (path: string, length: string) =>
      `POST ${path} HTTP/1.1\r\nHost: ${HOST}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${length}\r\n\r\n`;
    for (const path of ['/v1/videos', '/v1/video/generations']) {
      const said = await talk(headOf(path, `Content-Length: ${32 * 1024 * 1024 + 1}`));
      assert.equal(statusOf(said), 413, said);
      assert.match(said, /"code":"body_too_large"/);
    }
    // The body is counted as it arrives, so it is refused before its unannounced end.
    const chunk = `${(1024 * 1024).toString(16)}\r\n${'a'.repeat(1024 * 1024)}\r\n`;
    const chunked = `${headOf('/v1/videos', 'Transfer-Encoding: chunked')}b\r\n{"prompt":"\r\n${chunk.repeat(33)}`;
    assert.equal(statusOf(await talk(chunked)), 413);
  });

  it('lets pages of the configured origins call the model API and nothing else', async () => {
    const shared = await startTestService('sqlite::memory:', { CORS_ORIGINS: 'https://app.example' });
    try {
      const ask = (path: string, method: string, origin: string, more: object = {}) =>
        fetch(shared.url + path, { method, headers: { origin, ...more } });
      const preflight = await ask('/v1/chat/completions', 'OPTIONS', 'https://app.example', {
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      });
      assert.equal(preflight.status, 204);
      assert.equal(preflight.headers.get('access-control-allow-origin'), 'https://app.example');
      assert.equal(preflight.headers.get('access-control-allow-headers'), 'authorization,content-type');
      assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /POST/);
      assert.equal(preflight.headers.get('access-control-allow-credentials'), null);
      for (const path of ['/v1/models', '/v1/videos', '/v1beta/models', '/v1beta/none', '/v1beta'])
        assert.equal(
          (await ask(path, 'GET', 'https://app.example')).headers.get('access-control-allow-origin'),
          'https://app.example',
        );
      // The fast path of model calls too, with a key instead of a cookie.
      const call = await ask('/v1/chat/completions', 'POST', 'https://app.example', {
        'content-type': 'application/json',
        authorization: 'Bearer sk-none',
      });
      assert.equal(call.status, 401);
      assert.equal(call.headers.get('access-control-allow-origin'), 'https://app.example');
      for (const [path, origin] of [
        ['/v1/models', 'https://evil.example'],
        ['/v1/models', 'null'],
        ['/v1/models', 'http://app.example'],
        ['/v1beta/models', 'https://evil.example'],
        ['/v1betax/models', 'https://app.example'],
        ['/api/user/self', 'https://app.example'],
        ['/authorize', 'https://app.example'],
      ] as const)
        assert.equal((await ask(path, 'GET', origin)).headers.get('access-control-allow-origin'), null, path);
    } finally {
      await shared.stop();
    }
    const any = await startTestService('sqlite::memory:', { CORS_ORIGINS: '*' });
    try {
      const response = await fetch(`${any.url}/v1/models`, { headers: { origin: 'https://anywhere.example' } });
      assert.equal(response.headers.get('access-control-allow-origin'), '*');
      assert.equal(response.headers.get('access-control-allow-credentials'), null);
    } finally {
      await any.stop();
    }
    assert.throws(() => parseConfig({ CORS_ORIGINS: 'app.example' }), /CORS_ORIGINS/);
  });

  // CherryHQ/cherry-studio and Chatbox disable their browser's web security; extensions such as Immersive Translate may
  // call any host.
  it('serves desktop programs and browser extensions, which send a key from a page of their own, in any header', async () => {
    const { key } = await user.ok<{ key: string }>('POST', '/api/tokens', { name: 'desktop' });
    const ask = async (path: string, body: object, headers: object) => {
      const response = await fetch(service.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sec-fetch-site': 'cross-site', ...headers },
        body: JSON.stringify(body),
      });
      return ((await response.json()) as { error: { message: string } }).error.message;
    };
    const chat = { model: 'none', messages: [{ role: 'user', content: 'hi' }] };
    for (const origin of ['file://', 'null', 'chrome-extension://bpoadfkcbjbfhfodiogcnhhhpibjhbnh'])
      for (const [path, headers, body] of [
        ['/v1/chat/completions', { authorization: `Bearer ${key}` }, chat],
        ['/v1/chat/completions', { authorization: `Bearer ${key}`, cookie: 'cf_clearance=a' }, chat],
        ['/v1/messages', { 'x-api-key': key }, chat],
        ['/v1/messages?beta=true', { 'x-api-key': key }, chat],
        ['/v1beta/models/none:generateContent', { 'x-goog-api-key': key }, { contents: 'hi' }],
        [`/v1beta/models/none:generateContent?key=${key}`, {}, { contents: 'hi' }],
      ] as const)
        assert.equal(
          await ask(path, body, { origin, ...headers }),
          'There is no model none here.',
          `${origin} ${path}`,
        );
  });

  it('T45: refuses metrics without the token', async () => {
    assert.equal(statusOf(await get('/metrics')), 404);
    const measured = await startTestService('sqlite::memory:', { METRICS_TOKEN: 'a-token-of-metrics' });
    try {
      const status = async (authorization?: string) =>
        (await fetch(`${measured.url}/metrics`, { headers: authorization === undefined ? {} : { authorization } }))
          .status;
      assert.equal(await status(), 401);
      assert.equal(await status('Bearer another-token'), 401);
      assert.equal(await status('Bearer '), 401);
      assert.equal(await status('Bearer a-token-of-metrics'), 200);
    } finally {
      await measured.stop();
    }
  });

  it('describes an invalid field in the language of the request', async () => {
    const told: [number, 'GET' | 'POST' | 'PUT', string, object | undefined, string, string][] = [
      [400, 'POST', '/api/tickets', { title: 'x' }, 'content is required.', 'content 不能为空。'],
      [
        400,
        'POST',
        '/api/tickets',
        { title: '', content: 'x' },
        'title must be a string of 1 to 200 characters.',
        'title 须为字符串，长度 1 至 200 个字符。',
      ],
      [400, 'GET', '/api/tickets?status=odd', undefined, 'must be one of open, in_progress', '须为以下之一：open、'],
      [400, 'POST', '/api/tokens', { name: 'x', expires_at: 1 }, 'in the future', 'expires_at 须为将来的时间。'],
      [200, 'GET', '/api/tickets/99', undefined, 'No such ticket.', '工单不存在。'],
    ];
    for (const [status, method, path, body, english, chinese] of told)
      for (const [language, words] of [
        ['en', english],
        ['zh-CN', chinese],
      ] as const) {
        const message = await user.fails(status, method, path, body, { 'accept-language': language });
        assert.ok(message.includes(words), message);
      }
  });

  it('T61: refuses long request heads', async () => {
    assert.equal(statusOf(await get('/livez', [`Host: ${HOST}`, `X: ${'a'.repeat(12_000)}`])), 200);
    assert.equal(statusOf(await get('/livez', [`Host: ${HOST}`, `X: ${'a'.repeat(17_000)}`])), 431);
    assert.equal(statusOf(await get('/livez', [`Host: ${HOST}`, `Cookie: ${'a=b; '.repeat(4_000)}`])), 431);
    assert.equal(statusOf(await get(`/livez?${'a'.repeat(9_000)}`)), 404);
  });

  it('T07: no page, successful or failed, can be framed or interpreted as another content type', async () => {
    const { fastify } = service.app.http;
    const pages = ['/', '/docs', '/authorize', '/authorize?code=BBBB-BBBB', '/nothing', '/play', '/authorize/none'];
    const forms = ['login', 'second-step', 'approve', 'deny', 'report', 'switch'];
    const answers = await Promise.all([
      ...[...pages, ...CONSOLE_SECTIONS.flatMap((each) => [`/${each}`, `/${each}/1`])].map((url) =>
        fastify.inject({ method: 'GET', url }),
      ),
      ...forms.map((form) =>
        fastify.inject({
          method: 'POST',
          url: `/authorize/${form}`,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          payload: 'code=BBBB-BBBB&form=x&username=a&password=b&otp=1',
        }),
      ),
    ]);
    let seen = 0;
    for (const { headers, raw } of answers) {
      if (!String(headers['content-type']).startsWith('text/html')) continue;
      seen += 1;
      const where = `${raw.req.method} ${raw.req.url}`;
      assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/, where);
      assert.match(String(headers['content-security-policy']), /base-uri 'none'/, where);
      assert.equal(headers['x-frame-options'], 'DENY', where);
      assert.equal(headers['x-content-type-options'], 'nosniff', where);
    }
    assert.ok(seen > 25, String(seen));
  });
});
