import assert from 'node:assert/strict';
import { type AddressInfo, connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { CLI_CLIENT } from '../src/contract/cli-client.ts';
import { CONSOLE_SECTIONS } from '../src/contract/console.ts';
import type { Person } from './accounts/person.ts';
import { type RunningApp, runApp } from './running-app.ts';

const HOST = 'video.example';
const SILENCE_MS = 400;

/** What stands before every route: hosts, spellings of paths, what a parser may be confused by, headers of pages. */
describe('the edge', () => {
  let service: RunningApp;
  let user: Person;
  let port: number;
  before(async () => {
    service = await runApp('sqlite::memory:', { BASE_URL: `https://${HOST}` });
    user = await service.person('plain');
    port = (service.app.http.fastify.server.address() as AddressInfo).port;
  });
  after(() => service.stop());

  /** Everything the service says to these bytes until it closes, or is silent for a while. */
  const talk = (bytes: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
      let said = '';
      socket.setTimeout(SILENCE_MS, () => socket.destroy());
      socket.on('data', (chunk) => {
        said += chunk.toString('latin1');
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(said));
    });
  const statusOf = (said: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(said)?.[1] ?? '0');
  const get = (path: string, headers: readonly string[] = [`Host: ${HOST}`]) =>
    talk(`GET ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\nConnection: close\r\n\r\n`);

  it('T38: links are made of BASE_URL alone, whatever headers claim', async () => {
    const body = JSON.stringify({ client_id: CLI_CLIENT.id });
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

  it('T44: no spelling of a path leads around a guard', async () => {
    const headers = [
      `Host: ${HOST}`,
      `Cookie: session=${user.jar.get('session')}`,
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

  it('T60: what two parsers could read in two ways is refused, and the connection with it', async () => {
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

  it('says what is wrong with a field in the language of whoever asks', async () => {
    const told: [number, 'GET' | 'POST' | 'PUT', string, object | undefined, string, string][] = [
      [400, 'POST', '/api/tickets', { title: 'x' }, 'content is required.', 'content 不能为空。'],
      [400, 'POST', '/api/tickets', { title: '', content: 'x' }, 'fewer than 1', 'title 不得少于 1 个字符。'],
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

  it('T61: long heads are refused', async () => {
    assert.equal(statusOf(await get('/livez', [`Host: ${HOST}`, `X: ${'a'.repeat(12_000)}`])), 200);
    assert.equal(statusOf(await get('/livez', [`Host: ${HOST}`, `X: ${'a'.repeat(17_000)}`])), 431);
    assert.equal(statusOf(await get('/livez', [`Host: ${HOST}`, `Cookie: ${'a=b; '.repeat(4_000)}`])), 431);
    assert.equal(statusOf(await get(`/livez?${'a'.repeat(9_000)}`)), 404);
  });

  it('T07: no page, of success or of failure, is shown in a frame or taken for something else', async () => {
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
