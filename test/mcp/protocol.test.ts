import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { envelopeOf, headersOf, postMcp, toolCall } from './mcp-fixture.ts';

const ENVELOPE = envelopeOf();
const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const HAILUO = 'MiniMax-Hailuo-02';
/** Begins with an image. */
const FROM_IMAGE = 'I2V-01';
/** Edits a video. */
const EDITS = 'wan2.7-videoedit';
/** Extends a video. */
const EXTENDS = 'wan2.7-i2v';
/** Takes no GIF. */
const VEO = 'veo-3.1-generate-preview';
const GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const INITIALIZE = { jsonrpc: '2.0', id: 0, method: 'initialize' };

describe('the wire forms of the Model Context Protocol', () => {
  let service: VideoService;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rg-mcp-'));
    const env = { ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' };
    service = await startVideoService('sqlite::memory:', { env }, [
      { name: 'kling', model: 'kling-v1-6' },
      { name: 'hailuo', model: HAILUO },
      { name: 'hailuo', model: FROM_IMAGE },
      { name: 'veo', model: VEO },
      { name: 'wan', model: EDITS },
      { name: 'wan', model: EXTENDS },
    ]);
  });
  after(async () => {
    await service.stop();
    await rm(folder, { recursive: true });
  });

  const post = (body: unknown, headers: Record<string, string> = {}) =>
    postMcp(service.baseUrl, service.caller.key, body, headers);
  const modern = (method: string, params: object = {}, id: unknown = 7) => ({
    jsonrpc: '2.0',
    id,
    method,
    params: { ...params, _meta: ENVELOPE },
  });

  it('negotiates the versions with a handshake', async () => {
    for (const [asked, given] of [
      ['2025-11-25', '2025-11-25'],
      ['2025-06-18', '2025-06-18'],
      ['2024-11-05', '2025-11-25'],
      ['2026-07-28', '2025-11-25'],
      [undefined, '2025-11-25'],
    ]) {
      const { status, headers, body } = await post({ ...INITIALIZE, params: { protocolVersion: asked } });
      assert.deepEqual([status, body.id, body.result?.protocolVersion], [200, 0, given]);
      assert.deepEqual(body.result?.capabilities, { tools: {} });
      assert.match(headers.get('mcp-session-id') ?? '', /^[\x21-\x7e]{20,}$/);
      assert.equal(headers.get('cache-control'), 'no-store');
    }
    assert.equal((await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202);
    assert.deepEqual((await post({ jsonrpc: '2.0', id: 'p', method: 'ping' })).body.result, {});
    const { body } = await post(
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
      { 'mcp-protocol-version': '2025-06-18' },
    );
    assert.deepEqual(Object.keys(body.result ?? {}), ['tools']);
    const withoutParameters = await post({ jsonrpc: '2.0', id: 4, method: 'tools/list', params: null });
    assert.deepEqual(Object.keys(withoutParameters.body.result ?? {}), ['tools']);
    const call = { name: 'balance', arguments: null };
    const withoutArguments = await post({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: call });
    assert.equal(typeof withoutArguments.body.result?.structuredContent?.balance, 'number');
    const unknown = await post({ jsonrpc: '2.0', id: 3, method: 'resources/list' });
    assert.deepEqual([unknown.status, unknown.body.error?.code], [200, -32601]);
  });

  it('describes itself without a handshake', async () => {
    const { status, headers, body } = await post(modern('server/discover'), headersOf('server/discover'));
    assert.equal(status, 200);
    assert.equal(headers.get('mcp-session-id'), null);
    const { supportedVersions, resultType, ttlMs, cacheScope, _meta } = body.result as Record<string, unknown>;
    assert.deepEqual([supportedVersions, resultType, cacheScope], [['2026-07-28'], 'complete', 'public']);
    assert.ok(Number.isInteger(ttlMs));
    assert.equal((_meta as Record<string, { name: string }>)['io.modelcontextprotocol/serverInfo']?.name, 'reelgate');
    const list = await post(modern('tools/list'), headersOf('tools/list'));
    assert.deepEqual([list.body.result?.resultType, list.body.result?.cacheScope], ['complete', 'public']);
    const call = await post(modern('tools/call', { name: 'balance' }), headersOf('tools/call', 'balance'));
    assert.deepEqual([call.body.result?.resultType, 'ttlMs' in (call.body.result ?? {})], ['complete', false]);
    const encoded = `=?base64?${Buffer.from('balance').toString('base64')}?=`;
    const same = await post(modern('tools/call', { name: 'balance' }), headersOf('tools/call', encoded));
    assert.equal(same.status, 200);
  });

  it('refuses messages of the wrong form with the codes of the specification', async () => {
    const call = (params: object) => ({ jsonrpc: '2.0', id: 7, method: 'tools/call', params });
    const list = headersOf('tools/list');
    const { 'mcp-method': _, ...noMethod } = list;
    const { 'mcp-protocol-version': __, ...noVersion } = list;
    const cases: readonly [
      what: string,
      body: unknown,
      headers: Record<string, string>,
      status: number,
      code: number,
    ][] = [
      ['no JSON', '{"jsonrpc":', {}, 400, -32700],
      ['an empty body', '', {}, 400, -32700],
      ['a text', '"x"', {}, 400, -32600],
      ['null', 'null', {}, 400, -32600],
      ['an empty batch', [], {}, 400, -32600],
      ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'ping' }], {}, 400, -32600],
      ['a batch with an envelope', [modern('tools/list')], list, 400, -32600],
      ['an empty object', {}, {}, 400, -32600],
      ['another version of JSON-RPC', { jsonrpc: '1.0', id: 1, method: 'ping' }, {}, 400, -32600],
      ['an id that is null', { jsonrpc: '2.0', id: null, method: 'ping' }, {}, 400, -32600],
      ['an id that is a fraction', { jsonrpc: '2.0', id: 1.5, method: 'ping' }, {}, 400, -32600],
      ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'ping' }, {}, 400, -32600],
      ['a method that is a number', { jsonrpc: '2.0', id: 1, method: 5 }, {}, 400, -32600],
      ['params that are a list', { jsonrpc: '2.0', id: 1, method: 'ping', params: [1] }, {}, 400, -32600],
      [
        'a version that never was',
        { jsonrpc: '2.0', id: 1, method: 'ping' },
        { 'mcp-protocol-version': 'x' },
        400,
        -32022,
      ],
      [
        'an old version',
        { jsonrpc: '2.0', id: 1, method: 'ping' },
        { 'mcp-protocol-version': '2025-03-26' },
        400,
        -32022,
      ],
      ['no envelope', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, list, 400, -32602],
      [
        'no capabilities',
        { ...call({}), params: { _meta: { [VERSION]: '2026-07-28' } } },
        headersOf('tools/call'),
        400,
        -32602,
      ],
      [
        'a version that is a number',
        call({ _meta: { [VERSION]: 5, [CAPABILITIES]: {} } }),
        headersOf('tools/call'),
        400,
        -32602,
      ],
      [
        'a future version',
        call({ _meta: { ...ENVELOPE, [VERSION]: '2099-01-01' } }),
        { ...headersOf('tools/call'), 'mcp-protocol-version': '2099-01-01' },
        400,
        -32022,
      ],
      ['two versions', modern('tools/list'), { ...list, 'mcp-protocol-version': '2025-11-25' }, 400, -32020],
      ['no version header', modern('tools/list'), noVersion, 400, -32020],
      ['no method header', modern('tools/list'), noMethod, 400, -32020],
      ['another method header', modern('tools/list'), headersOf('tools/call'), 400, -32020],
      ['no name header', modern('tools/call', { name: 'balance' }), headersOf('tools/call'), 400, -32020],
      [
        'another name header',
        modern('tools/call', { name: 'balance' }),
        headersOf('tools/call', 'get_video'),
        400,
        -32020,
      ],
      ['initialize under a new header', INITIALIZE, headersOf('initialize'), 400, -32020],
      ['an unknown method', modern('resources/list'), headersOf('resources/list'), 404, -32601],
      ['ping, which is gone', modern('ping'), headersOf('ping'), 404, -32601],
      ['initialize with an envelope', modern('initialize'), headersOf('initialize'), 404, -32601],
      ['an inherited name', modern('constructor'), headersOf('constructor'), 404, -32601],
      ['an unknown tool', call({ name: 'drop_table' }), {}, 200, -32602],
      ['an inherited tool', call({ name: 'toString' }), {}, 200, -32602],
      ['a tool without a name', call({}), {}, 200, -32602],
      ['arguments that are a list', call({ name: 'balance', arguments: [] }), {}, 200, -32602],
      ['an unknown page', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { cursor: 'x' } }, {}, 200, -32602],
      [
        'tasks of a client without them',
        modern('tasks/get', { taskId: 'x' }),
        headersOf('tasks/get', 'x'),
        400,
        -32021,
      ],
    ];
    for (const [what, body, headers, status, code] of cases) {
      const refused = await post(body, headers);
      assert.deepEqual([refused.status, refused.body.error?.code], [status, code], what);
      const { id } = body as { id?: unknown };
      if (typeof id === 'number' && Number.isInteger(id)) assert.equal(refused.body.id, id, what);
    }
    const { body } = await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-protocol-version': '2099-01-01x' });
    assert.deepEqual((body.error?.data as { supported: string[] } | undefined)?.supported, [
      '2026-07-28',
      '2025-11-25',
      '2025-06-18',
    ]);
  });

  it('accepts notifications and stray responses without an answer', async () => {
    for (const [body, headers] of [
      [{ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }, {}],
      [{ jsonrpc: '2.0', method: 'notifications/unknown' }, {}],
      [{ jsonrpc: '2.0', method: 'notifications/unknown' }, { 'mcp-protocol-version': '2026-07-28' }],
      [{ jsonrpc: '2.0', id: 5, result: {} }, {}],
    ] as const) {
      const { status, body: answer } = await post(body, headers);
      assert.deepEqual([status, answer], [202, {}]);
    }
    const mismatch = await post(
      { jsonrpc: '2.0', method: 'notifications/x', params: { _meta: { [VERSION]: '2026-07-28' } } },
      { 'mcp-protocol-version': '2025-11-25' },
    );
    assert.deepEqual([mismatch.status, mismatch.body.error?.code], [400, -32020]);
    const other = await post({ jsonrpc: '2.0', method: 'notifications/x' }, headersOf('tools/call'));
    assert.deepEqual([other.status, other.body.error?.code], [400, -32020]);
  });

  it('serves POST with a key only, and names where a token comes from', async () => {
    const challenge =
      /^Bearer resource_metadata="http:\/\/[^"]+\/\.well-known\/oauth-protected-resource\/mcp", scope="mcp"(, error="invalid_token")?$/;
    for (const key of ['', 'sk-wrong', 'x'.repeat(10_000)]) {
      const { status, headers, body } = await postMcp(service.baseUrl, key, '{"not": ');
      assert.deepEqual([status, body.error?.code], [401, -32600]);
      assert.match(headers.get('www-authenticate') ?? '', challenge);
    }
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const refused = await service.caller.fetchRaw('/mcp', { method });
      assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'POST'], method);
      await refused.body?.cancel();
    }
    const big = await post(JSON.stringify(toolCall('create_video', { prompt: 'x'.repeat(4 * 1024 * 1024) })));
    assert.deepEqual([big.status, big.body.error?.code], [413, -32600]);
    const form = await post('a=b', { 'content-type': 'application/x-www-form-urlencoded' });
    assert.equal(form.status, 415);
  });

  it('T140: refuses pages of other hosts, even with a key', async () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    for (const origin of ['https://evil.example', 'null', 'not an origin', 'http://127.0.0.1.evil.example']) {
      const { status, body } = await post(ping, { origin });
      assert.deepEqual([status, body.error?.code], [403, -32600], origin);
    }
    for (const origin of [service.baseUrl, 'http://localhost:6274'])
      assert.equal((await post(ping, { origin })).status, 200, origin);
  });

  it('returns refused arguments to the model, naming them', async () => {
    for (const [tool, given, pattern] of [
      ['get_video', { id: 'x', wait_seconds: 46 }, /wait_seconds.*0 to 45/],
      ['get_video', {}, /id/],
      ['get_video', { id: 'task_unknown' }, /no such video/],
      ['get_video', { id: 'task_unknown', wait_seconds: null }, /no such video/],
      ['get_video', { id: null }, /id/],
      ['create_video', { prompt: 'x', model: 'none', seconds: null, inputs: null, idempotency_key: null }, /none/],
      ['get_video', { id: 'x', nonsense: 1 }, /nonsense/],
      ['create_video', { model: 'kling-v1-6' }, /prompt/],
      ['create_video', { prompt: 'x', seconds: {} }, /seconds/],
      ['create_video', { prompt: 'x', image: 5 }, /image/],
      [
        'create_video',
        { prompt: 'x', inputs: [{ type: 'image', url: 'http://10.0.0.1/x.png' }] },
        /private|address|url/i,
      ],
      ['edit_video', { id: 'task_unknown', prompt: 'x' }, /no such video/],
      ['extend_video', { id: 'task_unknown', prompt: ' ' }, /prompt/],
      ['list_videos', { limit: 101 }, /limit/],
      ['list_models', { model: 'none' }, /none/],
    ] as const) {
      const { status, body } = await post(toolCall(tool, given));
      assert.deepEqual([status, body.result?.isError], [200, true], `${tool} ${JSON.stringify(body)}`);
      assert.match(body.result?.content?.[0]?.text ?? '', pattern, tool);
    }
    const chinese = await post(toolCall('get_video', { id: 'task_unknown' }), { 'accept-language': 'zh-CN' });
    assert.match(chinese.body.result?.content?.[0]?.text ?? '', /[一-鿿]/);
    assert.equal(chinese.body.result?._meta?.error?.code, 'task_not_exist');
    assert.deepEqual(service.sandbox.control.jobs('kling'), []);
  });

  it('reads arguments as programs send them: left out as an empty text, and values as text', async () => {
    const quote = async (given: object) => {
      const { body } = await post(toolCall('quote_video', { prompt: 'x', model: 'kling-v1-6', ...given }));
      assert.equal(body.result?.isError, undefined, JSON.stringify(body));
      const { facts, dropped } = body.result?.structuredContent ?? {};
      return { facts, dropped };
    };
    const metadata = { nonsense: 1 };
    const inputs = [{ type: 'image', data: GIF, role: 'first_frame' }];
    const plain = await quote({ seconds: 10, metadata, inputs });
    assert.deepEqual(plain.dropped, ['metadata.nonsense']);
    const asText = { seconds: ' 10 ', metadata: JSON.stringify(metadata), inputs: JSON.stringify(inputs) };
    assert.deepEqual(await quote(asText), plain);
    const withNulls = { inputs: JSON.stringify([{ ...inputs[0], url: null }]), size: null };
    assert.deepEqual(await quote({ seconds: 10, metadata, ...withNulls }), plain);
    const withEmpty = { size: '', mode: '', inputs: [{ ...inputs[0], url: '', file_id: '', at: '', name: '' }] };
    assert.deepEqual(await quote({ seconds: '10', metadata, ...withEmpty }), plain);
    assert.deepEqual(await quote({ seconds: '', metadata: '', inputs: '' }), await quote({}));
    const contentOf = async (tool: string, given: object) =>
      (await post(toolCall(tool, given))).body.result?.structuredContent ?? {};
    assert.deepEqual((await contentOf('list_videos', { limit: '5', after: '' })).videos, []);
    assert.deepEqual(await contentOf('list_models', { model: '' }), await contentOf('list_models', {}));
    for (const given of [{ seconds: 'ten' }, { seconds: '1e1' }, { inputs: '{}' }, { metadata: '[' }, { prompt: '' }]) {
      const { body } = await post(toolCall('quote_video', { prompt: 'x', ...given }));
      assert.match(body.result?.content?.[0]?.text ?? '', new RegExp(`^${Object.keys(given)[0]} `));
    }
  });

  it('takes an object as text only within the bounds of a body', async () => {
    for (const metadata of [
      '{"a":"\\u0000"}',
      '{"\\ud800":1}',
      '{"__proto__":{"a":1}}',
      `{"a":[${'0,'.repeat(50_000)}0]}`,
      `{"a":${'['.repeat(64)}${']'.repeat(64)}}`,
    ]) {
      const { body } = await post(toolCall('quote_video', { prompt: 'x', metadata }));
      assert.match(body.result?.content?.[0]?.text ?? '', /^metadata /, metadata.slice(0, 40));
    }
  });

  it('describes arguments by keywords that every model provider takes, and one page of tools', async () => {
    for (const params of [undefined, {}, { cursor: null }, { cursor: '' }]) {
      const { body } = await post({ jsonrpc: '2.0', id: 1, method: 'tools/list', params });
      const { tools } = body.result as unknown as { tools: { name: string; inputSchema: object }[] };
      assert.ok(tools.length > 0, JSON.stringify(params));
      for (const { name, inputSchema } of tools)
        assert.doesNotMatch(
          JSON.stringify(inputSchema),
          /"(?:anyOf|oneOf|allOf|not|patternProperties|\$ref|\$defs|const)":/,
          name,
        );
    }
  });

  it('is found at its address with a slash at the end too', async () => {
    for (const path of ['/mcp/', '/mcp//', '/mcp/?x=1']) {
      const answer = await service.caller.fetchRaw(path, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.caller.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      });
      assert.deepEqual([answer.status, await answer.json()], [200, { jsonrpc: '2.0', id: 1, result: {} }], path);
    }
    const { status } = await service.caller.fetchRaw('/mcp/x', { method: 'POST' });
    assert.equal(status, 404);
  });

  it('names the fields of the schema in a refusal, or the older one that was used', async () => {
    const image = `data:image/gif;base64,${GIF}`;
    for (const [given, field] of [
      [{ model: FROM_IMAGE }, 'inputs'],
      [{ model: VEO, inputs: [{ type: 'image', data: GIF }] }, 'inputs'],
      [{ model: VEO, image }, 'image'],
      [{ model: HAILUO, seconds: 7 }, 'seconds'],
      [{ model: HAILUO, duration: 7 }, 'duration'],
    ] as const)
      for (const tool of ['quote_video', 'create_video']) {
        const { body } = await post(toolCall(tool, { prompt: 'x', ...given }));
        const text = body.result?.content?.[0]?.text ?? '';
        const [named] = text.split(' ');
        assert.deepEqual([body.result?._meta?.error?.param, named], [field, field], `${tool} ${text}`);
      }
    const form = new FormData();
    form.set('purpose', 'vision');
    form.set('file', new Blob([Buffer.from(GIF, 'base64')]), 'dot.gif');
    const headers = { authorization: `Bearer ${service.caller.key}` };
    const uploaded = await fetch(`${service.baseUrl}/v1/files`, { method: 'POST', headers, body: form });
    const { id } = (await uploaded.json()) as { readonly id: string };
    for (const [tool, model] of [
      ['edit_video', EDITS],
      ['extend_video', EXTENDS],
    ] as const) {
      const { body } = await post(toolCall(tool, { id, prompt: 'x', model }));
      const text = body.result?.content?.[0]?.text ?? '';
      assert.deepEqual([body.result?._meta?.error?.param, text.split(' ')[0]], ['id', 'id'], `${tool} ${text}`);
    }
    const { body } = await service.caller.request('POST', '/v1/videos', {
      model: VEO,
      prompt: 'x',
      inputs: [{ type: 'image', data: GIF }],
    });
    assert.equal((body.error as { param?: string } | undefined)?.param, 'inputs', JSON.stringify(body));
  });
});
