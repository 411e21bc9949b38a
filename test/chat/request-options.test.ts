import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { callModelApi } from '../call-model-api.ts';
import type { ChatService } from './chat-fixture.ts';
import { SCRIPTED_KEY, startScriptedChat } from './scripted-chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const USAGE = { prompt_tokens: 7, completion_tokens: 3 };

/** Requests with a tool in every position and spelling that an upstream may read. */
function placesOf(tool: object): Readonly<Record<string, object>> {
  const hidden = { type: 'namespace', name: 'n', tools: [tool] };
  return {
    'a list': { tools: [tool] },
    'one in place of a list': { tools: tool },
    'capitals of the member': { Tools: [tool] },
    'the long s': { 'tool\u017f': [tool] },
    'a namespace': { tools: [hidden] },
    'a namespace in a namespace': { tools: [{ ...hidden, tools: [hidden] }] },
    'the result of a search': { input: [{ type: 'tool_search_output', call_id: '1', tools: [tool] }] },
    'tools that are added': { input: [{ type: 'additional_tools', role: 'developer', tools: [hidden] }] },
    'an item': { input: [tool] },
    'the content of an item': { input: [{ role: 'user', content: [tool] }] },
    'other letters': {
      tools: [Object.fromEntries(Object.entries(tool).map(([key, value]) => [key, String(value).toUpperCase()]))],
    },
    'a camel': {
      tools: [
        { ...tool, type: String(Object.values(tool)[0]).replace(/_([a-z])/g, (_, c: string) => c.toUpperCase()) },
      ],
    },
    'an option nobody knows': { x_own: { deep: [{ tools: [tool] }] } },
  };
}

describe('request options of model calls', { concurrency: false }, () => {
  let service: ChatService;
  let upstream: ScriptedUpstream;
  let channelId: number;
  before(async () => {
    ({ service, upstream, channelId } = await startScriptedChat(['any']));
    upstream.respondWith((response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ choices: [{ message: { content: 'one' } }], output: [], usage: USAGE })),
    );
  });
  afterEach(() => service.waitUntilSettled());
  after(async () => {
    await service.stop();
    await upstream.stop();
  });

  const call = (more: object, path = CHAT) =>
    callModelApi(service.baseUrl, service.key, 'POST', path, {
      model: 'any',
      ...(path === CHAT ? { messages: [{ role: 'user', content: 'hi' }] } : { input: 'hi' }),
      ...more,
    });
  const setRules = (rules: object) =>
    service.operator.requestData('PUT', `/api/admin/channels/${channelId}`, {
      options: { private: true, chat_options: rules },
    });
  const paramOf = ({ body }: Awaited<ReturnType<typeof call>>) => (body.error as { param?: string } | undefined)?.param;

  test('T51: refuses by name, in any letter case, options that fetch URLs, are billed separately or belong to others', async () => {
    for (const [option, path] of [
      [{ models: ['other'] }, CHAT],
      [{ Models: ['other'] }, CHAT],
      [{ FALLBACKS: ['other'] }, CHAT],
      [{ apiBase: 'https://elsewhere.example' }, CHAT],
      [{ api_base: 'https://elsewhere.example' }, CHAT],
      [{ 'extra-body': { a: 1 } }, CHAT],
      [{ extra_headers: { a: 'b' } }, CHAT],
      [{ aws_access_key_id: 'x' }, CHAT],
      [{ preset: 'x' }, CHAT],
      // Invented options whose names alone are reason enough to refuse them.
      [{ deep_research: true }, CHAT],
      [{ enableWebSearchV2: true }, CHAT],
      [{ 'Target-URL': 'https://elsewhere.example' }, CHAT],
      [{ upstream_api_key: 'x' }, CHAT],
      [{ draft_model: 'other' }, CHAT],
      [{ processing_tier: 'fast' }, RESPONSES],
      [{ service_tier: 'priority' }, CHAT],
      [{ Service_Tier: 'priority' }, CHAT],
      [{ web_search_options: {} }, CHAT],
      [{ enable_search: true }, CHAT],
      [{ best_of: 9 }, CHAT],
      [{ max_new_tokens: 100_000 }, CHAT],
      [{ previous_response_id: 'resp_1' }, RESPONSES],
      [{ conversation: 'conv_1' }, RESPONSES],
      [{ prompt: { id: 'pmpt_1' } }, RESPONSES],
      [{ max_tokens: 5 }, RESPONSES],
    ] as const) {
      const count = upstream.requests.length;
      const answer = await call(option, path);
      assert.deepEqual([answer.status, paramOf(answer)], [400, Object.keys(option)[0]], JSON.stringify(option));
      assert.equal(upstream.requests.length, count, 'nothing was sent');
    }
    for (const tool of [
      { type: 'mcp', server_url: 'https://mcp.example' },
      { type: 'code_interpreter', container: { type: 'auto' } },
      { type: 'file_search', vector_store_ids: ['vs_1'] },
      { type: 'image_generation' },
      { type: 'web_search_of_tomorrow' },
      { type: 'function', Type: 'mcp' },
    ])
      assert.match(String(paramOf(await call({ tools: [tool] }, RESPONSES))), /^tools\.0/, JSON.stringify(tool));
    const file = [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }];
    assert.equal(paramOf(await call({ messages: file })), 'file_id');
  });

  test('T51: relays options without effect, and unknown ones', async () => {
    for (const option of [
      { models: null, previous_response_id: null, service_tier: null },
      { service_tier: 'auto' },
      { service_tier: 'flex' },
      { enable_search: false },
      { best_of: 1 },
      { tools: [{ type: 'function', function: { name: 'f', parameters: { default: 'http://localhost/' } } }] },
      { tools: [{ type: 'custom', name: 'f' }] },
      { chat_template_kwargs: { enable_thinking: false }, x_own: [1, {}] },
      {
        enable_thinking: true,
        top_a: 0.1,
        guided_json: {},
        prompt_cache_retention: '24h',
        client_metadata: { a: 'b' },
      },
      { monkeys: 1, keyboard: 'x', researcher_mode: 'x', modelling: true },
    ])
      assert.equal((await call(option)).status, 200, JSON.stringify(option));
  });

  test('T51: drops and reports tools that agents list without need; refuses them when they are forced', async () => {
    const tools = [{ type: 'web_search' }, { type: 'function', name: 'f' }];
    const answer = await call({ tools, tool_choice: 'auto' }, RESPONSES);
    assert.deepEqual([answer.status, answer.headers.get('x-reelgate-dropped')], [200, 'tools.0']);
    assert.deepEqual(JSON.parse(upstream.requests.at(-1)?.body ?? '').tools, [{ type: 'function', name: 'f' }]);
    const alone = await call({ tools: [{ type: 'web_search' }], tool_choice: 'auto', store: false }, RESPONSES);
    assert.equal(alone.status, 200);
    const sent = JSON.parse(upstream.requests.at(-1)?.body ?? '');
    assert.deepEqual(['tools' in sent, 'tool_choice' in sent, sent.store], [false, false, false]);
    const forced = await call({ tools, tool_choice: { type: 'web_search' } }, RESPONSES);
    assert.deepEqual([forced.status, paramOf(forced)], [400, 'tools.0']);
  });

  test('T51: a channel can relay, refuse or price an option per call', async () => {
    await setRules({ service_tier: 'pass', web_search: { per_call: 5_000 }, '*': 'refuse' });
    assert.equal((await call({ service_tier: 'priority' })).status, 200);
    assert.equal(JSON.parse(upstream.requests.at(-1)?.body ?? '').service_tier, 'priority');
    await service.waitUntilSettled();
    const plain = (await service.waitUntilSettled())[0]?.charged ?? 0;
    assert.equal((await call({ tools: [{ type: 'web_search' }] }, RESPONSES)).status, 200);
    assert.deepEqual(JSON.parse(upstream.requests.at(-1)?.body ?? '').tools, [{ type: 'web_search' }]);
    assert.equal((await service.waitUntilSettled())[0]?.charged, plain + 5_000);
    assert.equal(paramOf(await call({ x_own: 1 })), 'x_own');
    await setRules({ service_tier: 'nonsense' });
    assert.equal((await call({ service_tier: 'priority' })).status, 400, 'what is no rule changes none');
    await setRules({});
  });

  test('after a failover, the rules of the channel that serves the call decide what is left out and what it costs', async () => {
    const failing = await startScriptedUpstream();
    failing.respondWith((response) => response.writeHead(503).end());
    const priced = { web_search: { per_call: 5_000 } };
    const first = await service.operator.addChannel({
      vendor: 'openai',
      base_url: failing.url,
      credentials: { api_key: SCRIPTED_KEY },
      models: ['any'],
      priority: 10,
      options: { private: true, chat_options: priced },
    });
    const tools = [{ type: 'web_search' }, { type: 'function', name: 'f' }];
    await call({}, RESPONSES);
    const plain = (await service.waitUntilSettled())[0]?.charged ?? 0;
    const serve = async () => {
      const answer = await call({ tools }, RESPONSES);
      const [newest] = await service.waitUntilSettled();
      const sent = JSON.parse(upstream.requests.at(-1)?.body ?? '').tools.length;
      return [answer.status, sent, answer.headers.get('x-reelgate-dropped'), (newest?.charged ?? 0) - plain];
    };
    try {
      assert.deepEqual(await serve(), [200, 1, 'tools.0', 0], 'the search is priced where the call failed');
      await setRules(priced);
      const dropping = { options: { private: true, chat_options: { web_search: 'drop' } } };
      await service.operator.requestData('PUT', `/api/admin/channels/${first}`, dropping);
      assert.deepEqual(await serve(), [200, 2, null, 5_000], 'the search is left out where the call failed');
      assert.equal(failing.requests.length, 3);
    } finally {
      await service.operator.requestData('PUT', `/api/admin/channels/${first}`, { enabled: false });
      await setRules({});
      await failing.stop();
    }
  });

  test('S1: no position or spelling gets a tool through that the upstream would run and bill', async () => {
    for (const kind of [
      'mcp',
      'web_search',
      'web_search_20250305',
      'code_interpreter',
      'image_generation',
      'openrouter:web_search',
    ])
      for (const [place, body] of Object.entries(placesOf({ type: kind, server_url: 'https://mcp.example' }))) {
        const count = upstream.requests.length;
        const answer = await call(body, RESPONSES);
        if (answer.status === 400) assert.equal(upstream.requests.length, count, `${kind} ${place}`);
        else {
          assert.equal(answer.headers.get('x-reelgate-dropped'), 'tools.0', `${kind} ${place}`);
          assert.ok(!upstream.requests.at(-1)?.body.includes(kind), `${kind} ${place}`);
        }
      }
    for (const tools of [
      [{ type: 'shell', environment: { type: 'container_auto' } }],
      [{ type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_1' } }],
      [{ type: 'shell', Environment: { type: 'local' } }],
      { type: 'mcp' },
      ['web_search_of_tomorrow'],
      '[{"type":"mcp"}]',
      [
        { type: 'function', name: 'f', web_search: {} },
        { google_search: {}, name: 'g' },
      ],
    ])
      assert.match(String(paramOf(await call({ tools }, RESPONSES))), /^tools/, JSON.stringify(tools));
    const container = { type: 'container_reference', container_id: 'cntr_1' };
    assert.equal(
      paramOf(await call({ input: [{ type: 'shell_call', environment: container }] }, RESPONSES)),
      'input.0.environment',
    );
    for (const tools of [
      [{ type: 'shell' }],
      [{ type: 'shell', environment: { type: 'local' } }],
      { type: 'custom', name: 'f' },
    ])
      assert.equal((await call({ tools }, RESPONSES)).status, 200, JSON.stringify(tools));
    const schema = {
      type: 'object',
      properties: { tools: { type: 'array' }, type: { const: 'mcp', default: { type: 'mcp' } } },
    };
    const own = [{ type: 'function', name: 'f', parameters: schema }];
    const history = [{ type: 'function_call', name: 'f', call_id: '1', arguments: '{"type":"mcp"}' }];
    assert.equal((await call({ tools: own, input: history }, RESPONSES)).status, 200);
  });

  test('S1: duplicate keys are sent as they were checked', async () => {
    const raw = '{"model":"any","input":"hi","tools":[{"type":"mcp","type":"custom","name":"f"}]}';
    const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
    const send = (body: string, query = '') =>
      fetch(`${service.baseUrl}${RESPONSES}${query}`, { method: 'POST', headers, body });
    for (const query of ['', '?a=b']) {
      assert.equal((await send(raw, query)).status, 200);
      assert.ok(!upstream.requests.at(-1)?.body.includes('mcp'), query);
    }
    const twice = await send('{"model":"any","input":"hi","tools":[{"type":"mcp"}],"tools":[]}');
    assert.equal(twice.status, 400);
    const wrapped = { type: 'tool_use', input: [{ type: 'input_image', image_url: 'http://169.254.169.254/' }] };
    assert.equal((await call(wrapped, RESPONSES)).status, 400, 'the body itself is no call of a tool');
  });

  test('T50: forwards no private address, whatever its field and spelling', async () => {
    const inside = 'http://169.254.169.254/';
    for (const part of [
      { type: 'image', source: { type: 'url', url: inside } },
      { type: 'image', image: inside },
      { type: 'image', content: inside },
      { type: 'input_file', file_url: inside },
      { type: 'input_audio', input_audio: { data: inside } },
      { type: 'image_url', image_url: { url: `\u00a0${inside}` } },
      { type: 'image_url', image_url: { url: `\ufeff${inside}` } },
      { type: 'image_url', image_url: { url: '//127.0.0.1/x.png' } },
      { type: 'image_url', image_url: { url: '\\\\127.0.0.1\\x.png' } },
      { type: 'image_url', image_url: { url: 'http:\\\\127.0.0.1/' } },
      { type: 'image_url', image_url: { url: 'http:127.0.0.1' } },
    ])
      assert.equal((await call({ messages: [{ role: 'user', content: [part] }] })).status, 400, JSON.stringify(part));
    assert.equal((await call({ metadata: { hook: inside } })).status, 400);
    const audio = { type: 'input_audio', input_audio: { data: `//uQxAAA${'A'.repeat(4_000)}`, format: 'mp3' } };
    for (const content of [`see ${inside}`, [{ type: 'text', text: inside }], [audio]])
      assert.equal(
        (await call({ messages: [{ role: 'user', content }] })).status,
        200,
        JSON.stringify(content).slice(0, 80),
      );
  });
});
