import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService, type TestService } from '../test-service.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

const TABLES = ['plans', 'subscriptions', 'allowance_accounts', 'redemption_codes', 'wallets'] as const;

/** Values that no field accepts, as JSON text, because `JSON.stringify` cannot write all of them. */
const JUNK = [
  'null',
  '""',
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '[]',
  '[[[[1]]]]',
  '{}',
  '{"$ne":null}',
  'true',
  '-1',
  '-0.5',
  '1e400',
  '9007199254740993',
  '1e21',
  '"1e3"',
  "\"' or '1'='1\"",
  '"constructor"',
  '"\u202e\ufeff"',
];
const CARD = { package_code: '"hostile"', name: '"A card"', level: '1', duration_days: '30' };
const CARD_FIELDS = [
  'package_code',
  'name',
  'level',
  'duration_days',
  'price_amount',
  'purchasable',
  'daily_quota',
  'refresh_interval_seconds',
  'interval_quota',
  'weekly_quota_limit',
  'monthly_quota_limit',
  'status',
  'models',
];
/** Values of JUNK that a field of the card does accept. */
const TAKEN: Readonly<Record<string, readonly string[]>> = {
  package_code: ['"constructor"', '"1e3"'],
  name: [`"' or '1'='1"`, '"constructor"', '"1e3"'],
  purchasable: ['true'],
  models: ['[]'],
};
const IDS = ['0', '-1', '1.5', '01', '1e3', 'abc', '%00', '99999999999999999999', '9007199254740993', '..%2f1', "1'--"];
const QUERIES = [
  'page=0',
  'page=-1',
  'page=1e3',
  'page=9999999999999999999',
  'page_size=0',
  'page_size=%00',
  'page=1&page=2',
  'status=%27',
  'status=unused&status=used',
  'batch_id=0',
  'batch_id=1e3',
  'batch_id=99999999999999999',
];

const written = (fields: Readonly<Record<string, string>>): string =>
  `{${Object.entries(fields)
    .map(([key, value]) => `${JSON.stringify(key)}:${value}`)
    .join(',')}}`;

forEachDatabase((_name, _open, freshUrl) => {
  let service: TestService;
  let cardId: number;
  let codeId: number;
  before(async () => {
    service = await startTestService(await freshUrl());
    const made = { package_code: 'fine', name: 'Fine', level: 1, duration_days: 5 };
    cardId = (await service.root.ok<{ id: number }>('POST', '/api/admin/package-cards', made)).id;
    await service.root.ok('POST', '/api/admin/redemption-codes', { quota: 5, count: 1 });
    codeId = (await service.root.ok<{ id: number }[]>('GET', '/api/admin/redemption-codes'))[0]?.id ?? 0;
  });
  after(() => service.stop());

  const send = async (method: Method, url: string, payload?: string) => {
    const cookie = `session=${service.root.cookies.get('session')}`;
    const headers = { cookie, 'service-api-user': String(service.root.id), 'content-type': 'application/json' };
    const { statusCode, body } = await service.app.http.fastify.inject({
      method,
      url,
      headers,
      ...(payload === undefined ? {} : { payload }),
    });
    return { status: statusCode, body: JSON.parse(body) as { success?: boolean; message?: string } };
  };
  const state = async () =>
    JSON.stringify(
      await Promise.all(TABLES.map((table) => service.app.database.kysely.selectFrom(table).selectAll().execute())),
    );
  /** Sends requests that must be refused in the envelope and change nothing. */
  const refuses = async (requests: readonly (readonly [Method, string, string?])[], statuses: readonly number[]) => {
    const before = await state();
    for (const [method, url, payload] of requests) {
      const told = `${method} ${url} ${payload ?? ''}`;
      const { status, body } = await send(method, url, payload);
      assert.ok(statuses.includes(status), `${told}: ${status} ${JSON.stringify(body)}`);
      assert.deepEqual(Object.keys(body).sort(), ['message', 'success'], told);
      assert.ok(body.success === false && String(body.message).length > 0, told);
    }
    assert.equal(await state(), before);
  };

  it('rejects malformed values in every field of a plan', async () => {
    const bodies = CARD_FIELDS.flatMap((field) =>
      JUNK.filter((junk) => TAKEN[field]?.includes(junk) !== true).map((junk) => ({ [field]: junk })),
    );
    await refuses(
      bodies.flatMap((body): [Method, string, string][] => [
        ['POST', '/api/admin/package-cards', written({ ...CARD, ...body })],
        ['PUT', `/api/admin/package-cards/${cardId}`, written(body)],
      ]),
      [400],
    );
  });

  it('rejects malformed values when codes are created, changed and revoked and when plans are assigned', async () => {
    const requests = JUNK.flatMap((junk): [Method, string, string][] => [
      ['POST', '/api/admin/redemption-codes', written({ quota: '5', count: junk })],
      ['POST', '/api/admin/redemption-codes', written({ count: '1', quota: junk })],
      [
        'POST',
        '/api/admin/redemption-codes',
        written({ quota: '5', count: '1', note: junk.replace(/^"[^\\]*"$/, '5') }),
      ],
      ['POST', '/api/admin/redemption-codes/void', written({ batch_id: junk })],
      ['POST', '/api/user/package/activate', written({ user_id: junk, package_code: '"fine"' })],
      ['POST', '/api/user/package/activate', written({ user_id: '1', package_code: '"fine"', duration_days: junk })],
    ]);
    const ends = JUNK.filter((junk) => junk !== 'null').flatMap((junk): [Method, string, string][] => [
      ['POST', '/api/admin/redemption-codes', written({ quota: '5', count: '1', expires_at: junk })],
      ['PUT', `/api/admin/redemption-codes/${codeId}`, written({ expires_at: junk })],
    ]);
    await refuses([...requests, ...ends], [400]);
  });

  it('rejects malformed bodies', async () => {
    const deep = '['.repeat(100) + ']'.repeat(100);
    const bodies = ['', 'null', '[]', '"x"', '{', '{"a":1,}', `{"code":${deep}}`, '{"__proto__":{"code":"x"}}'];
    await refuses(
      [
        '/api/user/redeem',
        '/api/admin/package-cards',
        '/api/admin/redemption-codes',
        '/api/user/package/activate',
      ].flatMap((url) => bodies.map((body): [Method, string, string] => ['POST', url, body])),
      [400],
    );
    await refuses([['POST', '/api/user/redeem', written({ code: `"${'A'.repeat(70_000)}"` })]], [413]);
  });

  it('T46: rejects malformed ids and filters', async () => {
    await refuses(
      IDS.flatMap((id) =>
        ['package-cards', 'redemption-codes'].flatMap((list): [Method, string, string?][] => [
          ['GET', `/api/admin/${list}/${id}`],
          ['PUT', `/api/admin/${list}/${id}`, '{}'],
          ['DELETE', `/api/admin/${list}/${id}`],
        ]),
      ),
      [200, 400, 404],
    );
    const before = await state();
    for (const query of QUERIES)
      for (const list of ['package-cards', 'redemption-codes']) {
        const { status } = await send('GET', `/api/admin/${list}?${query}`);
        assert.ok(status === 200 || status === 400, `${list}?${query}: ${status}`);
      }
    assert.equal(await state(), before);
  });

  it('redeems no code that was never issued, in any spelling', async () => {
    const person = await service.signUp('guesser');
    for (const code of [
      '\u0130I',
      '０１２３４５６７８９０１２３４５６７８９',
      '%',
      '_'.repeat(20),
      '\u202e',
      'ﬀ',
      "';--",
    ])
      assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code }), /not valid/);
  });

  it('T87: returns hostile names unchanged, and exports no cell that a spreadsheet would run as a formula', async () => {
    const name = '<img src=x onerror=alert(1)>{{7*7}}';
    const description = `${name}\n\u202e${name}`;
    await service.root.ok('PUT', `/api/admin/package-cards/${cardId}`, { name, description });
    const [card] = await service.root.ok<{ name: string; description: string }[]>('GET', '/api/package-cards');
    assert.deepEqual([card?.name, card?.description], [name, description]);
    const starts = ['=1+1', '+1', '-1', '@A1', '＝1', '＋1', '－1', '＠1'];
    for (const note of starts)
      await service.root.ok('POST', '/api/admin/redemption-codes', { quota: 1, count: 1, note });
    const cookie = `session=${service.root.cookies.get('session')}`;
    const { body } = await service.app.http.fastify.inject({
      url: '/api/admin/redemption-codes/export',
      headers: { cookie, 'service-api-user': String(service.root.id) },
    });
    for (const start of starts) assert.ok(body.includes(`'${start}`), JSON.stringify(start));
    assert.doesNotMatch(body.replaceAll('\r\n', '\n'), /(^|,)"?[=+\-@\t\r＝＋－＠]/m);
  });
});
