import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { CLI, type DeviceAuthFixture, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { forOneDatabase } from '../../../test/for-each-database.ts';
import { DEVICE_GRANT } from '../../contract/oauth.ts';

/** Values of other types for fields that require a string, and invalid strings. */
const JUNK: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e308, [], ['A'], [[['A']]], {}, { $gt: '' }, { toString: 'x' }],
  ...['', ' ', '\t\n', '\u0000', 'a\u0000b', '\ud800', 'a\udfff', '\u202e', '\ufeff', '😀'.repeat(40)],
  ...[
    "' or 1=1 --",
    '"; drop table device_codes; --',
    '%00',
    '../../etc/passwd',
    '{{7*7}}',
    '__proto__',
    'ＢＣＤＦＧＨＪＫ',
  ],
  ...[
    'B'.repeat(65),
    'B'.repeat(201),
    'B'.repeat(10_001),
    'B'.repeat(60_000),
    'B'.repeat(70_000),
    'B'.repeat(1_000_000),
  ],
];

/** Malformed request bodies. */
const BODIES: readonly string[] = [
  ...[
    '',
    ' ',
    'null',
    '1',
    '"x"',
    '[]',
    '[{}]',
    '{',
    '{"client_id":}',
    '{"client_id":"x"',
    'NaN',
    '\ufeff{}',
    "{'a':1}",
  ],
  ...['{"__proto__":{"admin":true}}', '{"constructor":{"prototype":{}}}', `${'['.repeat(5_000)}${']'.repeat(5_000)}`],
  ...[`{"client_id":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}`, '{"user_code":"A","user_code":"B"}', '\u0000'],
];

const FORMS: readonly string[] = [
  ...['', '&', '=', '&&==', 'grant_type', 'grant_type=', 'grant_type=%zz', 'grant_type=%ff%fe', 'grant_type=%00'],
  ...[
    'grant_type=a&grant_type=b',
    'grant_type[]=a',
    'grant_type[x]=y',
    '__proto__[a]=b',
    'client_id=%F0%9F',
    'client_id=%00',
    '%ED%A0%80=1',
  ],
  ...[`client_id=${'x'.repeat(100_000)}`, `${'a=b&'.repeat(5_000)}`, '{"grant_type":"x"}', '<xml/>'],
];

const AUTHORIZATIONS: readonly string[] = [
  ...[
    '',
    'Bearer',
    'Bearer ',
    'Bearer  x y',
    'bearer rgat_',
    'Basic',
    'Basic !!!',
    'Basic Og==',
    'Basic eDp5Og==',
    'Basic JQ==',
    // U+0000, as it is and percent-encoded.
    'Basic YQBiOng=',
    'Basic YSUwMGI6eA==',
  ],
  ...[
    'Digest x',
    `Bearer ${'x'.repeat(5_000)}`,
    'Bearer sk-x',
    'Bearer \u00ff',
    'Bearer undefined',
    'Basic Og',
    'Token x',
  ],
];

const IDS = [
  '0',
  '-1',
  '1.5',
  '1e3',
  'abc',
  '%00',
  '9'.repeat(15),
  '9'.repeat(30),
  '1%20or%201=1',
  '%F0%9F%98%80',
  '[1]',
];

/** The value as text, for a URL or a form. */
const toText = (junk: unknown): string => (typeof junk === 'string' ? junk : JSON.stringify(junk)).toWellFormed();

/** The tables a rejected request must not change. */
const TABLES = ['device_codes', 'device_authorizations', 'device_refresh_tokens', 'device_clients', 'tokens'] as const;

forOneDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  let ada: TestUser;
  let root: TestUser;
  let asked = 0;
  before(async () => {
    service = await startDeviceService(await freshUrl());
    ada = await service.newUser('ada');
    root = await service.root();
    await service.signIn(ada, { client_name: 'laptop' });
  });
  after(() => service.app.close());

  const dump = async (): Promise<string> => {
    const rows = TABLES.map((table) => service.app.database.kysely.selectFrom(table).selectAll().execute());
    return JSON.stringify(await Promise.all(rows));
  };

  interface Answer {
    readonly status: number;
    readonly type: string;
    readonly text: string;
  }
  interface Request {
    readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
    readonly url: string;
    readonly payload?: string;
    readonly headers?: Record<string, string>;
    readonly as?: TestUser;
  }

  /** Uses a new IP for each request, so that no rate limit hides the response under test. */
  const send = async ({ as, headers = {}, ...request }: Request): Promise<Answer> => {
    asked += 1;
    const cookie = [...(as?.cookies ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
    const who = as === undefined ? {} : { cookie, 'service-api-user': String(as.id) };
    const answer = await service.app.http.fastify.inject({
      ...request,
      remoteAddress: `2001:db8:${(asked >> 8).toString(16)}:${(asked & 255).toString(16)}::1`,
      headers: { ...who, ...headers },
    });
    return { status: answer.statusCode, type: String(answer.headers['content-type']), text: answer.body };
  };

  const json = (url: string, body: unknown, more: Partial<Request> = {}): Request => ({
    method: 'POST',
    url,
    payload: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
    ...more,
  });
  const form = (url: string, payload: string): Request => ({
    method: 'POST',
    url,
    payload,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });

  /** Sends a request and asserts that the error has the expected envelope. */
  const refused = async (request: Request, envelope: 'api' | 'oauth' | 'page'): Promise<void> => {
    const what = `${request.method} ${request.url.slice(0, 100)} ${request.payload?.slice(0, 120) ?? ''}`;
    const { status, type, text } = await send(request);
    assert.ok(status < 500, `${status} ${what} ${text}`);
    if (envelope === 'page') {
      assert.match(type, /^text\/html/, what);
      assert.match(text, /^<!doctype html>/, what);
    } else {
      assert.match(type, /^application\/json/, what);
      const body = JSON.parse(text);
      if (envelope === 'api') assert.deepEqual([body.success, typeof body.message], [false, 'string'], what);
      else
        assert.deepEqual(
          [status >= 400, typeof body.error, typeof body.error_description],
          [true, 'string', 'string'],
          what,
        );
    }
  };
  /** The returned function asserts that the tables have not changed since; comparing takes longer than a request. */
  const watchTables = async (): Promise<(what: string) => Promise<void>> => {
    const before = await dump();
    return async (what) => assert.equal(await dump(), before, `${what} changed something`);
  };

  it('T21: rejects invalid values in every required field, in the envelope, and changes nothing', async () => {
    const { user_code, device_code } = await service.code();
    const login = { user_code, username: 'ada', password: 'x' };
    const lines: readonly [url: string, body: Record<string, unknown>, as?: TestUser][] = [
      ['/api/auth/device/code', { client_id: CLI.client_id }],
      ['/api/auth/device/login', login],
      ['/api/auth/device/approve', { user_code }, ada],
      ['/api/auth/device/deny', { user_code }, ada],
      ['/api/auth/device/token', { device_code, ...CLI }],
      ['/api/auth/device/refresh', { refresh_token: 'rgrt_x', ...CLI }],
      ['/api/admin/device-clients', { name: 'x', client_id: 'other.app' }, root],
    ];
    const assertUnchanged = await watchTables();
    for (const [url, body, as] of lines) {
      for (const field of Object.keys(body)) {
        for (const junk of JUNK) {
          // An account's or client's name may be any string, so strings are valid there.
          if (url.startsWith('/api/admin') && typeof junk === 'string') continue;
          await refused(json(url, { ...body, [field]: junk }, { ...(as && { as }) }), 'api');
        }
        const { [field]: _gone, ...rest } = body;
        if (field !== 'client_id' || !url.startsWith('/api/admin'))
          await refused(json(url, rest, { ...(as && { as }) }), 'api');
      }
      for (const payload of BODIES) await refused(json(url, payload, { ...(as && { as }) }), 'api');
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'x']) {
        const headers = { 'content-type': type };
        await refused(json(url, body, { headers, ...(as && { as }) }), 'api');
      }
      await assertUnchanged(url);
    }
  });

  it('T21: accepts any text as a name or a device_id', async () => {
    for (const field of ['client_name', 'device_id']) {
      for (const junk of JUNK) {
        const { status, text } = await send(json('/api/auth/device/code', { client_id: CLI.client_id, [field]: junk }));
        const fits =
          typeof junk === 'string' && junk.isWellFormed() && !junk.includes('\u0000') && junk.length <= 10_000;
        assert.equal(JSON.parse(text).success, fits, `${field} ${JSON.stringify(junk).slice(0, 60)} ${text}`);
        assert.ok(status < 500);
      }
    }
  });

  it('T21: rejects malformed queries, paths and headers', async () => {
    const assertUnchanged = await watchTables();
    for (const junk of JUNK) {
      const value = encodeURIComponent([...toText(junk)].slice(0, 1_000).join(''));
      await refused({ method: 'GET', url: `/api/auth/device/verify?user_code=${value}` }, 'api');
      const page = await send({ method: 'GET', url: `/authorize?code=${value}&lang=${value}&step=${value}` });
      assert.ok(page.status < 500 && page.type.startsWith('text/html'), `${page.status} ${value}`);
      assert.doesNotMatch(page.text, /drop table|or 1=1/, 'what is no code is not repeated');
    }
    await assertUnchanged('a query');
    for (const query of [
      '',
      '?',
      '?user_code',
      '?user_code=a&user_code=b',
      '?user_code[]=a',
      '?user_code=%ff',
      '?user_code=%',
    ])
      await refused({ method: 'GET', url: `/api/auth/device/verify${query}` }, 'api');
    for (const id of IDS) {
      await refused({ method: 'DELETE', url: `/api/user/devices/${id}`, as: ada }, 'api');
      await refused({ method: 'GET', url: `/api/admin/device-clients/${id}`, as: root }, 'api');
      await refused(
        { method: 'DELETE', url: `/api/admin/device-clients/${CLI.client_id}/secrets/${id}`, as: root },
        'api',
      );
    }
    await assertUnchanged('a path');
    for (const authorization of AUTHORIZATIONS) {
      await refused({ method: 'POST', url: '/api/auth/device/logout', headers: { authorization } }, 'api');
      await refused({ method: 'GET', url: '/api/user/devices', headers: { authorization } }, 'api');
      const token = form('/oauth/token', `grant_type=${DEVICE_GRANT}&device_code=x`);
      await refused({ ...token, headers: { ...token.headers, authorization } }, 'oauth');
    }
    for (const id of IDS) {
      const headers = { 'service-api-user': decodeURIComponent(id).replace(/[^\x20-\x7e]/g, '?') };
      await refused({ method: 'GET', url: '/api/user/devices', as: ada, headers }, 'api');
    }
    await assertUnchanged('a header');
  });

  it('T21: rejects malformed forms on the OAuth endpoints and the pages', async () => {
    const assertUnchanged = await watchTables();
    for (const payload of FORMS) {
      for (const path of ['token', 'revoke', 'device_authorization'])
        await refused(form(`/oauth/${path}`, payload), 'oauth');
      for (const path of ['login', 'second-step', 'switch', 'approve', 'deny'])
        await refused(form(`/authorize/${path}`, payload), 'page');
      // The request of an application is a query inside a form, and encoded once more.
      const inside = new URLSearchParams({ request: payload.slice(0, 2_000), form: 'x' }).toString();
      for (const path of ['approve', 'deny']) await refused(form(`/oauth/authorize/${path}`, inside), 'page');
    }
    await assertUnchanged('a form');
    for (const junk of JUNK) {
      const value = toText(junk);
      const fields = { grant_type: DEVICE_GRANT, device_code: 'x', ...CLI };
      for (const field of Object.keys(fields))
        await refused(form('/oauth/token', new URLSearchParams({ ...fields, [field]: value }).toString()), 'oauth');
      const page = { code: 'BCDF-GHJK', form: 'x', lang: 'en', username: 'ada', password: 'x', otp: '1' };
      for (const field of Object.keys(page)) {
        const payload = new URLSearchParams({ ...page, [field]: value }).toString();
        for (const path of ['login', 'second-step', 'approve'])
          await refused(form(`/authorize/${path}`, payload), 'page');
      }
      await assertUnchanged(`a form with ${value.slice(0, 60)}`);
    }
  });
}, 'postgres');
