import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { vidu } from '../../src/sandbox/vendors/vidu.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService, type TestService } from '../test-service.ts';

const TIER = { above_input_tokens: 200_000, input_per_million: 9 };
const SECRET = 'vidu-secret-key-that-must-not-show';
const CHANNEL = { name: 'One', vendor: 'vidu', credentials: { api_key: SECRET }, models: ['viduq2'] };

/** Values that no number field accepts; as JSON text, because some of them have no JavaScript representation. */
const JUNK_NUMBERS = ['-1', '0.5', '1e308', '1e999', '"5"', '"٥"', '9007199254740993', 'null', 'true', '[]', '{}'];

describe('administration of channels and models', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let sandbox: Sandbox;
    let service: TestService;
    before(async () => {
      sandbox = await startSandbox({ simulators: [vidu] });
      service = await startTestService(await freshUrl());
    });
    after(async () => {
      await service.stop();
      await sandbox.stop();
    });
    const make = async (also: object = {}) =>
      (await service.root.ok<{ id: number }>('POST', '/api/admin/channels', { ...CHANNEL, ...also })).id;
    const get = (id: number) => service.root.ok('GET', `/api/admin/channels/${id}`);
    const audit = async (target: string) =>
      (await service.root.ok<{ action: string; before: unknown; after: unknown }[]>(
        'GET',
        `/api/admin/audit?target=${target}`,
      )) as { action: string; before: Record<string, unknown>; after: Record<string, unknown> }[];

    it('is for administrators only', async () => {
      const user = await service.signUp('plain');
      for (const [method, url] of [
        ['GET', '/api/admin/channels'],
        ['POST', '/api/admin/channels'],
        ['GET', '/api/admin/channels/1'],
        ['PUT', '/api/admin/channels/1'],
        ['DELETE', '/api/admin/channels/1'],
        ['POST', '/api/admin/channels/1/test'],
        ['POST', '/api/admin/channels/1/models'],
        ['GET', '/api/admin/channel-presets'],
        ['GET', '/api/admin/models'],
        ['POST', '/api/admin/models'],
        ['PUT', '/api/admin/models/viduq2'],
        ['DELETE', '/api/admin/models/viduq2'],
      ] as const)
        await user.fails(403, method, url, method === 'GET' ? undefined : {});
    });

    it('creates, reads, updates by key and removes a channel, all recorded in the audit log', async () => {
      const id = await make();
      assert.deepEqual(await get(id), {
        ...(await get(id)),
        id,
        name: 'One',
        vendor: 'vidu',
        base_url: 'https://api.vidu.cn',
        model_mapping: {},
        extra_header_names: [],
        proxy: '',
        credential_keys: ['api_key'],
        models: ['viduq2'],
        unserved_models: [],
        priority: 0,
        weight: 1,
        enabled: true,
        options: {},
        state: 'healthy',
        unfinished_tasks: 0,
        last_errors: [],
      });
      await service.root.ok('PUT', `/api/admin/channels/${id}`, { priority: 9, models: ['viduq2', 'later', 'viduq2'] });
      const changed = await get(id);
      assert.deepEqual(
        [changed.name, changed.priority, changed.weight, changed.models, changed.unserved_models],
        ['One', 9, 1, ['viduq2', 'later'], ['later']],
      );
      await service.root.ok('PUT', `/api/admin/channels/${id}`, { credentials: { api_key: `${SECRET}-2` } });
      const listed = await service.root.send('GET', '/api/admin/channels?vendor=vidu&model=later&enabled=true');
      assert.deepEqual([listed.body.total, (listed.body.data as { id: number }[])[0]?.id], [1, id]);
      await service.root.ok('DELETE', `/api/admin/channels/${id}`);
      assert.match(await service.root.fails(200, 'GET', `/api/admin/channels/${id}`), /No such channel/);
      const log = await audit(`channel:${id}`);
      assert.deepEqual(
        log.map(({ action }) => action),
        ['channel.delete', 'channel.update', 'channel.update', 'channel.create'],
      );
      assert.deepEqual([log[2]?.before.priority, log[2]?.after.priority], [0, 9]);
      assert.equal(log[1]?.after.credentials, '[masked]');
      assert.doesNotMatch(JSON.stringify([log, listed.body, changed]), /must-not-show/);
    });

    it("keeps a channel's headers and proxy secret, and validates both", async () => {
      const connection = {
        model_mapping: { viduq2: 'vidu-q2-pro' },
        extra_headers: { 'X-Gateway-Key': SECRET, 'x-plain': '' },
        proxy: `https://user:${SECRET}@proxy.example.com:8443`,
      };
      const id = await make(connection);
      const shown = {
        model_mapping: connection.model_mapping,
        extra_header_names: ['x-gateway-key', 'x-plain'],
        proxy: 'https://proxy.example.com:8443',
      };
      const made = await get(id);
      assert.deepEqual(made, { ...made, ...shown });
      await service.root.ok('PUT', `/api/admin/channels/${id}`, { priority: 1 });
      const kept = await get(id);
      assert.deepEqual(kept, { ...kept, ...shown });
      const url = `/api/admin/channels/${id}`;
      for (const [change, message] of [
        [{ extra_headers: { Host: 'x' } }, /must not set host/],
        [{ extra_headers: { 'a b': 'x' } }, /extra_headers/],
        [{ extra_headers: { a: 'x\r\ny: z' } }, /extra_headers/],
        [{ proxy: 'socks5://proxy.example.com' }, /http or https proxy/],
        [{ proxy: 'http://proxy.example.com/path' }, /http or https proxy/],
        [{ proxy: 'http://127.0.0.1:3128' }, /options\.private/],
        [{ proxy: 'http://169.254.169.254' }, /secrets of its machines/],
        [{ model_mapping: { viduq2: '' } }, /model_mapping/],
      ] as const)
        assert.match(await service.root.fails(400, 'PUT', url, change), message, JSON.stringify(change));
      assert.deepEqual(await get(id), kept);
      assert.doesNotMatch(JSON.stringify([made, await audit(`channel:${id}`)]), /must-not-show/);
      await service.root.ok('PUT', url, { extra_headers: {}, proxy: '', model_mapping: {} });
      const cleared = await get(id);
      assert.deepEqual(cleared, { ...cleared, model_mapping: {}, extra_header_names: [], proxy: '' });
      await service.root.ok('DELETE', url);
    });

    it('T51: only root can send stored credentials to another address', async () => {
      const id = await make();
      const admin = await service.signUp('mover');
      await service.root.ok('PUT', `/api/admin/users/${admin.id}`, { role: 'admin' });
      await admin.logIn('mover');
      const url = `/api/admin/channels/${id}`;
      const canary = 'https://canary.example';
      for (const change of [
        { base_url: canary },
        { base_url: canary, name: 'Other' },
        { options: { storage_base_url: canary } },
        { base_url: 'https://api.vidu.cn:444' },
      ])
        assert.match(await admin.fails(400, 'PUT', url, change), /credentials again/, JSON.stringify(change));
      assert.equal((await get(id)).base_url, 'https://api.vidu.cn');
      await admin.ok('PUT', url, { base_url: 'https://api.vidu.cn/', priority: 3, options: { note: 'same place' } });
      await admin.ok('PUT', url, { base_url: canary, credentials: { api_key: 'the-administrators-own' } });
      await service.root.ok('PUT', url, { base_url: 'https://api.vidu.cn' });
    });

    it('T51: only root can create, change and open private channels', async () => {
      const admin = await service.signUp('opener');
      await service.root.ok('PUT', `/api/admin/users/${admin.id}`, { role: 'admin' });
      await admin.logIn('opener');
      const inside = { base_url: 'http://127.0.0.1:9', options: { private: true } };
      await admin.fails(403, 'POST', '/api/admin/channels', { ...CHANNEL, ...inside });
      const open = await make();
      await admin.fails(403, 'PUT', `/api/admin/channels/${open}`, inside);
      await admin.fails(403, 'PUT', `/api/admin/channels/${open}`, { ...inside, credentials: { api_key: 'mine' } });
      const hidden = await make(inside);
      for (const change of [{ priority: 1 }, { base_url: 'http://127.0.0.1:10' }, { options: {} }, { models: [] }])
        await admin.fails(403, 'PUT', `/api/admin/channels/${hidden}`, change);
      assert.deepEqual((await get(hidden)).options, { private: true });
      await service.root.ok('PUT', `/api/admin/channels/${hidden}`, { base_url: 'http://127.0.0.1:10' });
    });

    it('T51: refuses cloud metadata services for every rank and in every spelling', async () => {
      for (const base_url of [
        'http://169.254.169.254',
        'http://169.254.170.2',
        'http://0xa9fea9fe',
        'http://[::ffff:a9fe:a9fe]',
        'http://[fd00:ec2::254]',
        'http://100.100.100.200',
        'http://168.63.129.16',
        'http://metadata.google.internal.',
        'http://METADATA.google.internal',
      ]) {
        const channel = { ...CHANNEL, base_url, options: { private: true } };
        assert.match(await service.root.fails(400, 'POST', '/api/admin/channels', channel), /base_url/, base_url);
        const elsewhere = { ...CHANNEL, options: { private: true, storage_base_url: base_url } };
        assert.match(await service.root.fails(400, 'POST', '/api/admin/channels', elsewhere), /options/, base_url);
      }
    });

    it('refuses addresses that credentials must not be sent to', async () => {
      for (const base_url of [
        'http://api.vidu.cn',
        'https://127.0.0.1',
        'https://localhost:8080',
        'https://[::1]',
        'https://10.1.2.3',
        'https://169.254.169.254',
        'https://metadata.google.internal',
        'https://2130706433',
        'https://0x7f.1',
        'https://intranet',
        'https://api.vidu.cn/?x=1',
        'https://user:pass@api.vidu.cn',
        'ftp://api.vidu.cn',
        'javascript:alert(1)',
        'nonsense',
      ]) {
        const message = await service.root.fails(400, 'POST', '/api/admin/channels', { ...CHANNEL, base_url });
        assert.match(message, /base_url/, base_url);
      }
      const id = await make({ base_url: 'http://127.0.0.1:9/', options: { private: true } });
      assert.equal((await get(id)).base_url, 'http://127.0.0.1:9');
      await service.root.fails(400, 'PUT', `/api/admin/channels/${id}`, { options: {} });
      assert.deepEqual((await get(id)).options, { private: true }, 'nothing changed');
      await service.root.fails(400, 'PUT', `/api/admin/channels/${id}`, { options: { private: 'yes' } });
    });

    it('refuses values a vendor cannot use, without repeating secrets', async () => {
      for (const wrong of [
        { credentials: {} },
        { credentials: { api_key: '' } },
        { credentials: { access_key: SECRET, secret_key: SECRET } },
        { credentials: { api_key: SECRET, extra: SECRET } },
        { credentials: [SECRET] },
        { credentials: null },
        { vendor: 'nobody' },
        { vendor: '__proto__' },
        { models: ['sora-2'] },
        { models: ['a b'] },
        { models: 'viduq2' },
        { name: '' },
        { name: '\u202e' },
        { options: [] },
        { enabled: 1 },
      ]) {
        const message = await service.root.fails(400, 'POST', '/api/admin/channels', { ...CHANNEL, ...wrong });
        assert.doesNotMatch(message, /must-not-show/);
      }
      const id = await make();
      await service.root.fails(400, 'PUT', `/api/admin/channels/${id}`, { vendor: 'sora' });
      for (const path of ['0', '-1', 'x', '99999999999999999', '%00', '1e3'])
        assert.ok([400, 404].includes((await service.root.send('GET', `/api/admin/channels/${path}`)).status), path);
      await service.root.fails(200, 'PUT', '/api/admin/channels/9007199254740991', { priority: 1 });
    });

    it('names a member that it does not know, instead of ignoring it', async () => {
      const id = await make();
      const misspelt = { max_concurent_tasks: 1 };
      for (const [method, path, body] of [
        ['POST', '/api/admin/channels', CHANNEL],
        ['PUT', `/api/admin/channels/${id}`, {}],
        ['PUT', '/api/admin/models/viduq2', {}],
        ['POST', '/api/admin/users', { username: 'new-person', password: 'a good long one' }],
        ['POST', '/api/admin/redemption-codes', { quota: 1, count: 1 }],
        ['POST', '/api/admin/announcements', { title: 'a', content: 'b' }],
      ] as const)
        assert.equal(
          await service.root.fails(400, method, path, { ...body, ...misspelt }),
          'max_concurent_tasks is not a field of this request.',
          path,
        );
    });

    it('accepts only whole numbers', async () => {
      const id = await make();
      const before = await get(id);
      for (const field of ['priority', 'weight'])
        for (const junk of JUNK_NUMBERS) {
          if (field === 'priority' && junk === '-1') continue;
          const { statusCode } = await rawPut(service, `/api/admin/channels/${id}`, `{"${field}":${junk}}`);
          assert.equal(statusCode, 400, `${field} ${junk}`);
        }
      for (const field of ['per_call', 'per_second'])
        for (const junk of JUNK_NUMBERS) {
          const text = `{"price":{"${field}":${junk}}}`;
          assert.equal((await rawPut(service, '/api/admin/models/viduq2', text)).statusCode, 400, text);
        }
      for (const junk of ['-1', '1e999', '"2"', '1001', '0.00000000001', 'null']) {
        const text = `{"price":{"per_call":1,"multipliers":{"mode":{"pro":${junk}}}}}`;
        assert.equal((await rawPut(service, '/api/admin/models/viduq2', text)).statusCode, 400, text);
      }
      assert.deepEqual(await get(id), before);
    });

    it('asks the upstream whether the credentials work, and returns a summary', async () => {
      const working = {
        base_url: sandbox.url('vidu'),
        credentials: sandbox.credentials('vidu'),
        options: { private: true },
      };
      const id = await make(working);
      const good = await service.root.ok('POST', `/api/admin/channels/${id}/test`);
      assert.deepEqual([good.ok, good.reason], [true, '']);
      await service.root.ok('PUT', `/api/admin/channels/${id}`, { credentials: { api_key: 'wrong' } });
      const bad = await service.root.ok('POST', `/api/admin/channels/${id}/test`);
      assert.deepEqual([bad.ok, bad.reason], [false, 'auth']);
      const shown = await get(id);
      assert.equal(shown.state, 'resting');
      assert.deepEqual(
        (shown.last_errors as { reason: string }[]).map(({ reason }) => reason),
        ['auth'],
      );
      await service.root.ok('PUT', `/api/admin/channels/${id}`, { credentials: working.credentials });
      assert.equal((await service.root.ok('POST', `/api/admin/channels/${id}/test`)).ok, true);
      assert.equal((await get(id)).state, 'healthy');
      const gone = await make({ base_url: 'http://127.0.0.1:9', options: { private: true } });
      assert.equal((await service.root.ok('POST', `/api/admin/channels/${gone}/test`)).reason, 'unreachable');
      await service.root.fails(200, 'POST', '/api/admin/channels/123456/test');
    });

    it('contacts no private address without the flag, whatever its row contains', async () => {
      for (const base_url of ['https://169.254.169.254', 'https://127.0.0.1:9', sandbox.url('vidu')]) {
        const id = await make();
        const { kysely } = service.app.database;
        await kysely.updateTable('channels').set({ base_url }).where('id', '=', id).execute();
        await service.root.ok('PUT', '/api/admin/models/viduq2', { enabled: true });
        sandbox.control.clearRequests();
        const report = await service.root.ok('POST', `/api/admin/channels/${id}/test`);
        assert.deepEqual([report.ok, report.code], [false, 'blocked'], base_url);
        assert.equal(sandbox.control.requests().length, 0);
      }
    });

    it('seeds the models of every adapter, and lists to people those that can be called now', async () => {
      const rows = await service.root.send('GET', '/api/admin/models?vendor=vidu&page_size=50');
      assert.ok((rows.body.total ?? 0) >= 9);
      const row = await service.root.ok('GET', '/api/admin/models/viduq2-pro');
      assert.deepEqual([row.kind, row.enabled, row.alias_of, row.channels], ['video', true, null, 0]);
      const user = await service.signUp('reader');
      const names = async () =>
        (await user.ok<{ id: string; capability: { title: string } }[]>('GET', '/api/models?kind=video')).map(
          ({ id }) => id,
        );
      assert.ok(!(await names()).includes('viduq2-pro'), 'no channel serves it');
      const id = await make({ models: ['viduq2-pro'] });
      assert.ok((await names()).includes('viduq2-pro'));
      await service.root.ok('PUT', `/api/admin/channels/${id}`, { enabled: false });
      assert.ok(!(await names()).includes('viduq2-pro'));
    });

    it('creates, changes and removes models and aliases', async () => {
      const { root } = service;
      const chat = { id: 'lab/gpt-x', vendor: 'openai', kind: 'chat', price: { input_per_million: 100 } };
      assert.deepEqual(await root.ok('POST', '/api/admin/models', chat), { id: 'lab/gpt-x' });
      assert.match(await root.fails(200, 'POST', '/api/admin/models', chat), /exists/);
      assert.deepEqual((await root.ok('GET', '/api/admin/models/lab~gpt-x')).price, {
        input_per_million: 100,
        output_per_million: 0,
      });
      await root.ok('PUT', '/api/admin/models/sora-2', { alias_of: 'viduq2', enabled: true });
      const id = await make({ models: ['sora-2'] });
      assert.match(await root.fails(200, 'DELETE', '/api/admin/models/sora-2'), /One|names/);
      assert.match(await root.fails(200, 'DELETE', '/api/admin/models/viduq2'), /names it/);
      const user = await service.signUp('alias-reader');
      const models = await user.ok<{ id: string; vendor: string; capability: { title: string } }[]>(
        'GET',
        '/api/models',
      );
      const alias = models.find((model) => model.id === 'sora-2');
      assert.deepEqual([alias?.vendor, alias?.capability.title], ['vidu', 'Vidu q2']);
      for (const [name, change] of [
        ['viduq2', { alias_of: 'sora-2' }],
        ['viduq2', { alias_of: 'viduq1' }],
        ['viduq1', { alias_of: 'viduq1' }],
        ['viduq1', { alias_of: 'sora-2' }],
        ['viduq1', { alias_of: 'nothing' }],
        ['viduq1', { alias_of: 'lab/gpt-x' }],
        ['viduq1', { price: null }],
        ['viduq1', { price: {} }],
        ['viduq1', { price: { input_per_million: 3 } }],
        ['lab/gpt-x', { price: { tiers: [TIER, TIER] } }],
        ['lab/gpt-x', { price: { tiers: [{ ...TIER, above_input_tokens: 0 }] } }],
        ['lab/gpt-x', { price: { tiers: [{ above_input_tokens: 1 }] } }],
        ['lab/gpt-x', { price: { cached_input_per_million: -1 } }],
        ['lab/gpt-x', { price: { per_second: 1 } }],
        ['viduq1', { kind: 'chat' }],
        ['viduq1', { id: 'other' }],
        ['viduq1', { vendor: 'nobody' }],
      ] as const)
        await root.fails(400, 'PUT', `/api/admin/models/${name.replace('/', '~')}`, change);
      const detailed = { input_per_million: 5, output_per_million: 0, cached_input_per_million: 1, tiers: [TIER] };
      await root.ok('PUT', '/api/admin/models/lab~gpt-x', { price: detailed });
      assert.deepEqual((await root.ok('GET', '/api/admin/models/lab~gpt-x')).price, detailed);
      await root.ok('PUT', '/api/admin/models/sora-2', { alias_of: null });
      await root.ok('DELETE', `/api/admin/channels/${id}`);
      await root.ok('DELETE', '/api/admin/models/lab~gpt-x');
      await root.fails(200, 'GET', '/api/admin/models/lab~gpt-x');
      assert.deepEqual(
        (await audit('model:lab/gpt-x')).map(({ action }) => action),
        ['model.delete', 'model.update', 'model.create'],
      );
      for (const missing of ['vendor', 'kind', 'price'] as const) {
        const { [missing]: _left, ...rest } = { ...chat, id: 'half' };
        assert.match(await root.fails(400, 'POST', '/api/admin/models', rest), new RegExp(missing));
      }
    });

    it('creates no alias cycle when two are saved at once', async () => {
      const { root } = service;
      for (let round = 0; round < 10; round++) {
        const [a, b] = [`a${round}`, `b${round}`];
        for (const id of [a, b])
          await root.ok('POST', '/api/admin/models', { id, vendor: 'vidu', kind: 'video', price: { per_call: 1 } });
        const answers = await Promise.all([
          root.send('PUT', `/api/admin/models/${a}`, { alias_of: b }),
          root.send('PUT', `/api/admin/models/${b}`, { alias_of: a }),
        ]);
        assert.deepEqual(answers.map(({ status }) => String(status)).sort(), ['200', '400']);
      }
    });

    it('T69: refuses media schemas that are meaningless, reach outside or cost too much', async () => {
      const text = (pattern: string) => ({ type: 'object', properties: { a: { type: 'string', pattern } } });
      const bomb = Object.fromEntries(
        Array.from({ length: 12 }, (_, i) => [
          `d${i}`,
          { anyOf: Array.from({ length: 4 }, () => ({ $ref: `#/$defs/d${i + 1}` })) },
        ]),
      );
      let deep: object = { type: 'string' };
      for (let i = 0; i < 20; i++) deep = { type: 'array', items: deep };
      for (const input_schema of [
        {},
        { type: 'string' },
        { type: 'object', properties: 5 },
        { type: 'object', properties: { a: 5 } },
        { type: 'object', properties: { a: { type: 'banana' } } },
        { type: 'object', required: 'a' },
        { type: 'object', properties: { a: { minimum: 'x' } } },
        { type: 'object', properties: { a: { $ref: 'https://127.0.0.1/x' } } },
        { type: 'object', properties: { a: { $ref: '#/$defs/none' } } },
        { type: 'object', $defs: { b: { $ref: '#/$defs/b' } }, properties: { a: { $ref: '#/$defs/b' } } },
        { type: 'object', $defs: { ...bomb, d12: { type: 'string' } }, properties: { a: { $ref: '#/$defs/d0' } } },
        { type: 'object', properties: { a: { 'x-upstream': '__proto__.polluted' } } },
        { type: 'object', properties: { a: { 'x-upstream': 'a..b' } } },
        { type: 'object', $id: 'https://x' },
        { type: 'object', properties: { a: deep } },
        { type: 'object', description: 'x'.repeat(40_000) },
        text('(('),
        text('^(a+)+$'),
        text('^(\\w|\\d)+$'),
        text('(.*)*x'),
        text('x'.repeat(600)),
      ])
        assert.match(
          await service.root.fails(400, 'PUT', '/api/admin/models/viduq2', { input_schema }),
          /input_schema/,
          JSON.stringify(input_schema).slice(0, 100),
        );
      const good = {
        type: 'object',
        required: ['prompt'],
        $defs: { name: { type: 'string', pattern: '^[a-z]{1,10}$' } },
        properties: { prompt: { type: 'string' }, style: { $ref: '#/$defs/name', 'x-upstream': 'options.style' } },
      };
      await service.root.ok('PUT', '/api/admin/models/viduq2', { input_schema: good });
      assert.deepEqual((await service.root.ok('GET', '/api/admin/models/viduq2')).input_schema, good);
      await service.root.ok('PUT', '/api/admin/models/viduq2', { input_schema: null });
    });
  });
});

/** Sends a body verbatim, for numbers that JavaScript would change. */
function rawPut({ app, root }: TestService, url: string, payload: string) {
  const cookie = [...root.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return app.http.fastify.inject({
    method: 'PUT',
    url,
    payload,
    headers: { cookie, 'content-type': 'application/json', 'service-api-user': String(root.id) },
  });
}
