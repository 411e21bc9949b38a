import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { callModelApi } from '../call-model-api.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { type ChatService, contentOf } from './chat-fixture.ts';
import { addScriptedModels, startScriptedChat } from './scripted-chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

const PRICE = {
  input_per_million: 1_000_000,
  output_per_million: 5_000_000,
  cached_input_per_million: 100_000,
  cache_write_per_million: 1_250_000,
  cache_write_1h_per_million: 2_000_000,
};
const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
const ANTHROPIC_USAGE = {
  input_tokens: 100,
  cache_read_input_tokens: 1_000,
  cache_creation_input_tokens: 300,
  cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
  output_tokens: 20,
};
const OPENAI_USAGE = {
  prompt_tokens: 1_100,
  completion_tokens: 20,
  total_tokens: 1_120,
  prompt_tokens_details: { cached_tokens: 1_000 },
};
const MESSAGE = {
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'x',
  stop_reason: 'end_turn',
  stop_sequence: null,
};
const SCHEMA = { type: 'object', properties: {} };
const PNG = 'iVBORw0KGgo=';
interface UntrustedMessage {
  readonly annotations?: unknown;
}

describe('calls converted between dialects', { concurrency: false }, () => {
  let service: ChatService;
  let anthropic: ScriptedUpstream;
  let openai: ScriptedUpstream;
  before(async () => {
    ({ service, upstream: anthropic } = await startScriptedChat(['claude'], { vendor: 'anthropic', price: PRICE }));
    openai = await startScriptedUpstream();
    await addScriptedModels(service.operator, openai, ['gpt'], { price: PRICE });
  });
  beforeEach(() => {
    anthropic.requests.splice(0);
    openai.requests.splice(0);
  });
  afterEach(async () => {
    await service.waitUntilSettled();
    await assertLedgerConsistent(service.app.database);
  });
  after(async () => {
    await service.stop();
    await Promise.all([anthropic.stop(), openai.stop()]);
  });

  const send = (path: string, body: object) =>
    fetch(`${service.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const asMessages = (more: object = {}) =>
    send('/v1/messages', { model: 'gpt', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }], ...more });
  const asChat = (more: object = {}) =>
    send('/v1/chat/completions', { model: 'claude', messages: [{ role: 'user', content: 'hi' }], ...more });
  const sentTo = (upstream: ScriptedUpstream) => JSON.parse(upstream.requests.at(-1)?.body ?? '{}');
  const charged = async () => (await service.waitUntilSettled()).find(({ kind }) => kind === 'settle')?.charged;
  const respondAnthropic = (content: readonly object[], more: object = {}) =>
    anthropic.respondWith((response) =>
      response.end(JSON.stringify({ ...MESSAGE, content, usage: ANTHROPIC_USAGE, ...more })),
    );
  const respondOpenAi = (message: object, finish = 'stop') =>
    openai.respondWith((response) =>
      response.end(
        JSON.stringify({ id: 'c', choices: [{ index: 0, message, finish_reason: finish }], usage: OPENAI_USAGE }),
      ),
    );
  const stream = (
    upstream: ScriptedUpstream,
    parts: readonly string[],
    end = (response: ServerResponse) => void response.end(),
  ) =>
    upstream.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const part of parts) response.write(part);
      setTimeout(() => end(response), 20);
    });

  test("charges Anthropic usage by category and returns it in OpenAI's fields", async () => {
    respondAnthropic([{ type: 'text', text: 'Hello' }]);
    const answer = (await (await asChat()).json()) as { usage: object; model: string };
    assert.deepEqual(answer.usage, {
      prompt_tokens: 1_400,
      completion_tokens: 20,
      total_tokens: 1_420,
      prompt_tokens_details: { cached_tokens: 1_000, cache_write_tokens: 300 },
      completion_tokens_details: { reasoning_tokens: 0 },
    });
    assert.equal(answer.model, 'claude');
    assert.equal(await charged(), 100 + 100 + 125 + 400 + 100);
  });

  test('gives a call whose id the conversation has already another one, whole and streamed', async () => {
    const call = { id: 'call_0', type: 'function', function: { name: 'ls', arguments: '{}' } };
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_0', name: 'ls', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'a.txt' }] },
    ];
    respondOpenAi({ role: 'assistant', content: null, tool_calls: [call, { ...call, id: 'call_1' }] }, 'tool_calls');
    const { content } = (await (await asMessages({ messages })).json()) as { content: { id: string }[] };
    assert.match(content[0]?.id ?? '', /^call_\w{32}$/);
    assert.equal(content[1]?.id, 'call_1');
    stream(openai, [chunk({ tool_calls: [{ index: 0, ...call }] }), chunk({}, 'tool_calls'), 'data: [DONE]\n\n']);
    assert.match(await (await asMessages({ messages, stream: true })).text(), /"tool_use","id":"call_\w{32}"/);
  });

  test('sends long and unusual names of tools in a form that all vendors accept, and returns calls under their own', async () => {
    const names = [
      `mcp__server__${'tool_'.repeat(15)}a`,
      `mcp__server__${'tool_'.repeat(15)}b`,
      '1.read:file',
      'plain',
    ];
    const tools = names.map((name) => ({ name, input_schema: { type: 'object', properties: {} } }));
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_0', name: names[0], input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'a.txt' }] },
    ];
    const more = { messages, tools, tool_choice: { type: 'tool', name: names[1] } };
    respondOpenAi({ role: 'assistant', content: 'ok' });
    await asMessages(more);
    const sent = sentTo(openai) as {
      messages: { tool_calls: { function: { name: string } }[] }[];
      tools: { function: { name: string } }[];
      tool_choice: { function: { name: string } };
    };
    const accepted = sent.tools.map((tool) => tool.function.name);
    for (const name of accepted) assert.match(name, /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
    assert.equal(new Set(accepted).size, names.length);
    assert.equal(accepted[3], 'plain');
    assert.equal(sent.messages[1]?.tool_calls[0]?.function.name, accepted[0]);
    assert.equal(sent.tool_choice.function.name, accepted[1]);
    const calls = accepted.map((name, index) => ({
      index,
      id: `c${index}`,
      type: 'function',
      function: { name, arguments: '{}' },
    }));
    respondOpenAi({ role: 'assistant', content: null, tool_calls: calls }, 'tool_calls');
    const { content } = (await (await asMessages(more)).json()) as { content: { name: string }[] };
    assert.deepEqual(
      content.map(({ name }) => name),
      names,
    );
    stream(openai, [chunk({ tool_calls: calls }), chunk({}, 'tool_calls'), 'data: [DONE]\n\n']);
    const streamed = await (await asMessages({ ...more, stream: true })).text();
    for (const name of names) assert.ok(streamed.includes(`"name":${JSON.stringify(name)}`), name);
  });

  test('tells which stop sequence ended a text if the upstream does, whole and streamed', async () => {
    const choice = { index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' };
    for (const [named, stop] of [
      [{ stop_reason: 'END' }, ['stop_sequence', 'END']],
      [{ matched_stop: 'END' }, ['stop_sequence', 'END']],
      [{ matched_stop: 151645 }, ['end_turn', null]],
      [{ stop_reason: 'end_turn' }, ['end_turn', null]],
    ] as const) {
      openai.respondWith((response) => response.end(JSON.stringify({ choices: [{ ...choice, ...named }] })));
      const whole = (await (await asMessages({ stop_sequences: ['END'] })).json()) as Record<string, unknown>;
      assert.deepEqual([whole.stop_reason, whole.stop_sequence], stop);
      const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop', ...named }] };
      stream(openai, [chunk({ content: 'a' }), `data: ${JSON.stringify(last)}\n\n`, 'data: [DONE]\n\n']);
      const streamed = await (await asMessages({ stop_sequences: ['END'], stream: true })).text();
      const [reason, sequence] = stop.map((each) => JSON.stringify(each));
      assert.ok(streamed.includes(`"delta":{"stop_reason":${reason},"stop_sequence":${sequence}}`), streamed);
    }
  });

  test('names dropped members whose names no header can hold, whole and streamed', async () => {
    respondOpenAi({ role: 'assistant', content: 'Hello' });
    const names = { 日本: 1, 'a\r\nb, c': 1, [`long${'x'.repeat(200)}`]: 1 };
    const named = ['%E6%97%A5%E6%9C%AC', 'a%0D%0Ab%2C%20c', `long${'x'.repeat(96)}`];
    const whole = await asMessages(names);
    assert.deepEqual([whole.status, whole.headers.get('x-reelgate-dropped')?.split(', ')], [200, named]);
    stream(openai, [chunk({ content: 'Hello' }), chunk({}, 'stop'), 'data: [DONE]\n\n']);
    const streamed = await asMessages({ ...names, stream: true });
    assert.deepEqual([streamed.status, streamed.headers.get('x-reelgate-dropped')?.split(', ')], [200, named]);
    assert.match(await streamed.text(), /message_stop/);
  });

  test('returns citations in the form of the caller, whole and streamed, at an unchanged price', async () => {
    const page = { url: 'https://a.example/', title: 'A' };
    const cited = { type: 'web_search_result_location', ...page, cited_text: 'words', encrypted_index: 'x' };
    const said = (citations: readonly object[]) => [
      { type: 'text', text: 'Größe: ' },
      { type: 'text', text: 'Ja.', citations },
    ];
    respondAnthropic(said([]));
    await (await asChat()).json();
    const price = await charged();
    respondAnthropic(said([cited]));
    const answer = (await (await asChat()).json()) as { choices: { message: UntrustedMessage }[] };
    const message = answer.choices[0]?.message;
    assert.deepEqual(message?.annotations, [
      { type: 'url_citation', url_citation: { ...page, start_index: 7, end_index: 10, content: 'words' } },
    ]);
    assert.equal(await charged(), price);
    // The client sends the message back with the next turn.
    const messages = [{ role: 'user', content: 'hi' }, message, { role: 'user', content: 'more' }];
    const next = await asChat({ messages });
    assert.deepEqual([next.status, next.headers.get('x-reelgate-dropped')], [200, 'messages.1.annotations']);
    await next.json();
    assert.equal(sentTo(anthropic).messages.length, 3);

    const annotations = [{ type: 'url_citation', url_citation: { ...page, start_index: 0, end_index: 3 } }];
    const prices: unknown[] = [];
    for (const more of [{}, { annotations }]) {
      stream(openai, [
        chunk({ content: 'Ja.' }),
        chunk(more, 'stop', { usage: OPENAI_USAGE, citations: ['javascript:alert(1)'] }),
        'data: [DONE]\n\n',
      ]);
      const text = await (await asMessages({ stream: true })).text();
      prices.push(await charged());
      const citation = { type: 'web_search_result_location', ...page, cited_text: '', encrypted_index: '' };
      const delta = JSON.stringify({ type: 'citations_delta', citation });
      assert.equal(text.includes(delta), 'annotations' in more, text);
      assert.match(text, /: x-reelgate-dropped: response\.citations\n/);
    }
    assert.equal(prices[0], prices[1]);
  });

  test('offers only the tools that a choice allows', async () => {
    const names = (body: { tools: readonly { name: string }[] }) => body.tools.map(({ name }) => name);
    const tools = ['a', 'b', 'c'].map((name) => ({ type: 'function', function: { name, parameters: SCHEMA } }));
    const allow = (mode: string, ...allowed: readonly string[]) => ({
      tools,
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode, tools: allowed.map((name) => ({ type: 'function', function: { name } })) },
      },
    });
    respondAnthropic([{ type: 'text', text: 'Hello' }]);
    await (await asChat(allow('required', 'a', 'c'))).json();
    assert.deepEqual([names(sentTo(anthropic)), sentTo(anthropic).tool_choice], [['a', 'c'], { type: 'any' }]);
    await (await asChat(allow('auto', 'b'))).json();
    assert.deepEqual([names(sentTo(anthropic)), sentTo(anthropic).tool_choice], [['b'], { type: 'auto' }]);
    const refused = await asChat(allow('auto', 'unknown'));
    assert.equal(refused.status, 400);
    assert.match(await refused.text(), /tool_choice allows none of the tools/);

    const flat = ['a', 'b', 'c'].map((name) => ({ type: 'function', name, parameters: SCHEMA }));
    const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'b' }] };
    const input = { model: 'claude', input: 'hi', tools: flat, tool_choice: choice };
    await (await send('/v1/responses', input)).json();
    assert.deepEqual([names(sentTo(anthropic)), sentTo(anthropic).tool_choice], [['b'], { type: 'any' }]);

    const functionDeclarations = ['a', 'b', 'c'].map((name) => ({ name, parametersJsonSchema: SCHEMA }));
    const functionCallingConfig = { mode: 'ANY', allowedFunctionNames: ['a', 'b'] };
    const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
    const asked = { contents, tools: [{ functionDeclarations }], toolConfig: { functionCallingConfig } };
    await (await send('/v1beta/models/claude:generateContent', asked)).json();
    assert.deepEqual([names(sentTo(anthropic)), sentTo(anthropic).tool_choice], [['a', 'b'], { type: 'any' }]);
  });

  test("charges OpenAI usage by category and returns it in Anthropic's fields: input excludes cached input", async () => {
    respondOpenAi({ role: 'assistant', content: 'Hello' });
    const { usage } = (await (await asMessages()).json()) as { usage: Record<string, unknown> };
    assert.deepEqual(
      [usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.output_tokens],
      [100, 1_000, 0, 20],
    );
    assert.equal(await charged(), 100 + 100 + 100);
  });

  test('converts every OpenAI field that Anthropic has a counterpart for', async () => {
    respondAnthropic([{ type: 'text', text: 'x' }]);
    const tool = {
      name: 'weather',
      description: 'tells it',
      parameters: { type: 'object', properties: {} },
      strict: true,
    };
    const answer = await asChat({
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
          ],
        },
        {
          role: 'assistant',
          content: 'I look.',
          reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 'reelgate-anthropic:sig' }],
          tool_calls: [
            { id: 'a:1', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
            { id: 'b', type: 'function', function: { name: 'weather', arguments: '' } },
          ],
        },
        { role: 'tool', tool_call_id: 'a:1', content: 'sunny' },
        { role: 'tool', tool_call_id: 'b', content: 'rain' },
        { role: 'user', content: 'so?' },
      ],
      tools: [{ type: 'function', function: tool }],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      max_completion_tokens: 77,
      temperature: 0.5,
      stop: 'END',
      seed: 1,
      user: 'me',
      store: false,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
    });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.headers.get('x-reelgate-dropped')?.split(', ').sort(), ['seed', 'store', 'user']);
    assert.deepEqual(sentTo(anthropic), {
      model: 'claude',
      max_tokens: 77,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'a_1', name: 'weather', input: { city: 'Paris' } },
            { type: 'tool_use', id: 'b', name: 'weather', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a_1', content: [{ type: 'text', text: 'sunny' }] },
            { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'rain' }] },
            { type: 'text', text: 'so?' },
          ],
        },
      ],
      tools: [{ name: 'weather', description: 'tells it', input_schema: tool.parameters, strict: true }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      output_config: { format: { type: 'json_schema', schema: { type: 'object', additionalProperties: false } } },
      temperature: 0.5,
      stop_sequences: ['END'],
    });
    assert.equal(anthropic.requests[0]?.headers['anthropic-version'], '2023-06-01');
  });

  test('continues with Claude a conversation whose last turn came from GPT', async () => {
    respondOpenAi({
      role: 'assistant',
      reasoning_content: 'hm',
      content: 'Rain.',
      annotations: [
        { type: 'url_citation', url_citation: { url: 'https://a.com', title: 'A', start_index: 0, end_index: 5 } },
      ],
    });
    const { content } = (await (await asMessages()).json()) as { content: readonly { type: string }[] };
    assert.deepEqual(
      content.map(({ type }) => type),
      ['thinking', 'text'],
    );
    respondAnthropic([{ type: 'text', text: 'So take a coat.' }]);
    const [asked, next] = ['Weather?', 'And so?'].map((text) => ({ role: 'user', content: text }));
    const answer = await asMessages({ model: 'claude', messages: [asked, { role: 'assistant', content }, next] });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('x-reelgate-dropped'), 'messages.1.content.0, messages.1.content.1.citations');
    const said = { role: 'assistant', content: [{ type: 'text', text: 'Rain.' }] };
    assert.deepEqual(sentTo(anthropic).messages, [asked, said, next]);
  });

  describe('repeats a call without the reasoning of earlier turns that its upstream refuses', () => {
    const thought = { type: 'thinking', thinking: 'hm', signature: 'of another account' };
    const text = { type: 'text', text: 'Rain.' };
    const [asked, next] = ['Weather?', 'And so?'].map((content) => ({ role: 'user', content }));
    const conversation = { messages: [asked, { role: 'assistant', content: [thought, text] }, next] };
    const refuse = (response: ServerResponse, status: number, message: string) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }));
    };
    const SIGNATURE = 'messages.1.content.0: Invalid `signature` in `thinking` block';

    for (const stream of [false, true])
      test(`Claude, ${stream ? 'streamed' : 'whole'}`, async () => {
        anthropic.respondWith((response) => {
          if (anthropic.requests.length === 1) return refuse(response, 400, SIGNATURE);
          response.end(JSON.stringify({ ...MESSAGE, content: [text], usage: ANTHROPIC_USAGE }));
        });
        const answer = await asMessages({ model: 'claude', stream, thinking: { type: 'adaptive' }, ...conversation });
        assert.equal(answer.status, 200);
        assert.match(await answer.text(), /Rain\./);
        assert.equal(answer.headers.get('x-reelgate-dropped'), 'messages.1.content.0');
        assert.deepEqual(
          anthropic.requests.map(({ body }) => JSON.parse(body).messages[1].content),
          [[thought, text], [text]],
        );
        assert.deepEqual(sentTo(anthropic).thinking, { type: 'adaptive' });
        assert.ok(Number(await charged()) > 0);
      });

    test('Claude, called in another dialect', async () => {
      anthropic.respondWith((response) => {
        if (anthropic.requests.length === 1) return refuse(response, 400, SIGNATURE);
        response.end(JSON.stringify({ ...MESSAGE, content: [text], usage: ANTHROPIC_USAGE }));
      });
      const details = [{ type: 'reasoning.text', text: 'hm', signature: 'reelgate-anthropic:c2ln' }];
      const answer = await asChat({
        messages: [asked, { role: 'assistant', content: 'Rain.', reasoning_details: details }, next],
      });
      assert.equal(answer.status, 200);
      assert.deepEqual(
        anthropic.requests.map(({ body }) => JSON.parse(body).messages[1].content.length),
        [2, 1],
      );
    });

    test('chat completions that take none', async () => {
      openai.respondWith((response) => {
        if (openai.requests.length === 1)
          return refuse(response, 400, "'messages.1' : property 'reasoning_content' is unsupported");
        const message = { role: 'assistant', content: 'So take a coat.' };
        response.end(
          JSON.stringify({ id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }], usage: OPENAI_USAGE }),
        );
      });
      const said = { role: 'assistant', content: 'Rain.' };
      const answer = await asChat({ model: 'gpt', messages: [asked, { ...said, reasoning_content: 'hm' }, next] });
      assert.equal(answer.status, 200);
      assert.deepEqual(sentTo(openai).messages, [asked, said, next]);
    });

    test('but only once, and only for what there is to remove', async () => {
      anthropic.respondWith((response) => refuse(response, 400, SIGNATURE));
      const answer = await asMessages({ model: 'claude', ...conversation });
      assert.deepEqual([answer.status, anthropic.requests.length], [400, 2]);
      assert.match(await answer.text(), /Invalid `signature`/);
      assert.equal((await asMessages({ model: 'claude', messages: [asked] })).status, 400);
      assert.equal(anthropic.requests.length, 3);
      anthropic.respondWith((response) => refuse(response, 400, 'thinking.budget_tokens: too large'));
      assert.equal((await asMessages({ model: 'claude', ...conversation })).status, 400);
      assert.equal(anthropic.requests.length, 4);
    });
  });

  test("serves Claude Code's requests over an OpenAI upstream and reports dropped fields", async () => {
    respondOpenAi({ role: 'assistant', content: 'x' });
    const cache_control = { type: 'ephemeral' };
    const answer = await asMessages({
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=1; cch=2' },
        { type: 'text', text: 'You are Claude Code.', cache_control },
      ],
      messages: [
        { role: 'user', content: 'look' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
            { type: 'tool_use', id: 't', name: 'Read', input: { a: 1 } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 't',
              is_error: true,
              content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }],
            },
            { type: 'text', text: 'and?', cache_control },
          ],
        },
      ],
      tools: [
        { name: 'Read', description: 'reads', input_schema: { type: 'object' } },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
      context_management: { edits: [] },
      metadata: { user_id: 'u' },
      top_k: 5,
    });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.headers.get('x-reelgate-dropped')?.split(', ').sort(), [
      'context_management',
      'messages.1.content.0',
      'messages.2.content.0.is_error',
      'messages.2.content.1.cache_control',
      'metadata',
      'system.0',
      'system.1.cache_control',
      'thinking',
      'tools.1',
      'top_k',
    ]);
    assert.deepEqual(sentTo(openai), {
      model: 'gpt',
      messages: [
        { role: 'system', content: 'You are Claude Code.' },
        { role: 'user', content: 'look' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 't', type: 'function', function: { name: 'Read', arguments: '{"a":1}' } }],
        },
        { role: 'tool', tool_call_id: 't', content: 'The result is in the next message.' },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
            { type: 'text', text: 'and?' },
          ],
        },
      ],
      max_tokens: 50,
      tools: [{ type: 'function', function: { name: 'Read', description: 'reads', parameters: SCHEMA } }],
    });
  });

  test('refuses by name whatever would change the answer, and sends and charges nothing', async () => {
    const image = { type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } };
    const cases = [
      [() => asChat({ n: 2 }), 'n'],
      [() => asChat({ logprobs: true }), 'logprobs'],
      [() => asChat({ logit_bias: { 1: 2 } }), 'logit_bias'],
      [() => asChat({ response_format: { type: 'json_object' } }), 'response_format'],
      [() => asMessages({ messages: [{ role: 'user', content: [image] }] }), 'messages.0.content.0'],
      [() => asMessages({ stop_sequences: ['a', 'b', 'c', 'd', 'e'] }), 'stop_sequences'],
    ] as const;
    for (const [ask, path] of cases) {
      const answer = await ask();
      const { error } = (await answer.json()) as { error: { message: string } };
      assert.equal(answer.status, 400, path);
      assert.ok(error.message.includes(`${path} `), `${path}: ${error.message}`);
    }
    assert.deepEqual([anthropic.requests.length, openai.requests.length], [0, 0]);
  });

  test('converts an Anthropic stream with thinking and two calls to chunks, each as soon as its event arrives', async () => {
    stream(anthropic, [
      event('message_start', { message: { ...MESSAGE, content: [], usage: { ...ANTHROPIC_USAGE, output_tokens: 1 } } }),
      event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }),
      event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } }),
      event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'sig' } }),
      event('content_block_stop', { index: 0 }),
      event('content_block_start', { index: 1, content_block: { type: 'tool_use', id: 't1', name: 'one', input: {} } }),
      event('content_block_delta', { index: 1, delta: { type: 'input_json_delta', partial_json: '{"a"' } }),
      event('content_block_delta', { index: 1, delta: { type: 'input_json_delta', partial_json: ':1}' } }),
      event('content_block_stop', { index: 1 }),
      event('content_block_start', { index: 2, content_block: { type: 'tool_use', id: 't2', name: 'two', input: {} } }),
      event('content_block_stop', { index: 2 }),
      event('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 20 } }),
      event('message_stop'),
    ]);
    const text = await (await asChat({ stream: true, stream_options: { include_usage: true } })).text();
    const deltas = text
      .split('\n\n')
      .filter((data) => data.startsWith('data: {'))
      .map((data) => JSON.parse(data.slice(6)));
    // A chunk has a fingerprint only if the upstream sent one; clients with schemas refuse null here.
    for (const chunk of deltas) assert.equal('system_fingerprint' in chunk, false);
    assert.deepEqual(
      deltas.flatMap(({ choices }) => choices.map(({ delta }: { delta: object }) => delta)),
      [
        { role: 'assistant', content: '' },
        { reasoning_content: 'hm' },
        { reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 'reelgate-anthropic:sig', index: 0 }] },
        { tool_calls: [{ index: 0, id: 't1', type: 'function', function: { name: 'one', arguments: '' } }] },
        { tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] },
        { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
        { tool_calls: [{ index: 1, id: 't2', type: 'function', function: { name: 'two', arguments: '' } }] },
        {},
      ],
    );
    assert.equal(deltas.at(-2).choices[0].finish_reason, 'tool_calls');
    assert.equal(deltas.at(-1).usage.completion_tokens, 20);
    assert.ok(text.endsWith('data: [DONE]\n\n'));
    assert.equal(await charged(), 100 + 100 + 125 + 400 + 100);
  });

  test("sends the first event as soon as the upstream's first event arrives", async () => {
    let finish = (): void => {};
    openai.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ role: 'assistant', content: 'Hel' }));
      finish = () => response.end(`${chunk({ content: 'lo' }, 'stop')}data: [DONE]\n\n`);
    });
    const { body } = await asMessages({ stream: true });
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    while (!text.includes('"Hel"')) text += Buffer.from((await reader.read()).value ?? []).toString();
    finish();
    for (let part = await reader.read(); !part.done; part = await reader.read())
      text += Buffer.from(part.value).toString();
    assert.ok(text.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n'), text);
  });

  test('converts an OpenAI stream with visible reasoning to blocks, with usage after the last one', async () => {
    stream(openai, [
      chunk({ role: 'assistant', reasoning_content: 'hm' }),
      chunk({ content: 'Hi' }),
      chunk({ tool_calls: [{ index: 0, id: 't', type: 'function', function: { name: 'one', arguments: '' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }),
      chunk({}, 'tool_calls'),
      `data: ${JSON.stringify({ id: 'c', choices: [], usage: OPENAI_USAGE })}\n\n`,
      'data: [DONE]\n\n',
    ]);
    const text = await (await asMessages({ stream: true })).text();
    const types = text
      .split('\n\n')
      .flatMap((each) => (each === '' ? [] : [JSON.parse(each.split('\ndata: ')[1] ?? '')]));
    assert.deepEqual(
      types.map(({ type, index, content_block: block }) =>
        [type, index, block?.type].filter((each) => each !== undefined).join(' '),
      ),
      [
        'message_start',
        'content_block_start 0 thinking',
        'content_block_delta 0',
        'content_block_delta 0',
        'content_block_stop 0',
        'content_block_start 1 text',
        'content_block_delta 1',
        'content_block_stop 1',
        'content_block_start 2 tool_use',
        'content_block_delta 2',
        'content_block_stop 2',
        'message_delta',
        'message_stop',
      ],
    );
    const end = types.at(-2);
    assert.deepEqual([end.delta.stop_reason, end.usage.input_tokens, end.usage.output_tokens], ['tool_use', 100, 20]);
    assert.equal(await charged(), 300);
  });

  test("ends an interrupted stream with an error in the caller's format and charges the delivered part", async () => {
    stream(openai, [chunk({ role: 'assistant', content: 'Hello' })], (response) => {
      response.destroy();
    });
    const asked = await (await asMessages({ stream: true })).text();
    assert.match(asked, /event: error\ndata: \{"type":"error","error":\{"type":"api_error"/);
    assert.doesNotMatch(asked, /message_stop/);
    assert.ok(Number(await charged()) > 0);
    stream(anthropic, [
      event('message_start', { message: { ...MESSAGE, content: [], usage: { ...ANTHROPIC_USAGE, output_tokens: 1 } } }),
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello' } }),
      event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
    ]);
    const chat = await (await asChat({ stream: true })).text();
    assert.equal(contentOf(chat), 'Hello');
    assert.match(chat, /data: \{"error":\{/);
    assert.doesNotMatch(chat, /\[DONE\]/);
    assert.equal(await charged(), 100 + 100 + 125 + 400 + 5);
  });

  test('ends streams of the same dialect whose upstreams omit the last event, with that event once', async () => {
    const body = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 9, stream: true };
    const asOwn = async (path: string, model: string) => (await send(path, { model, ...body })).text();
    const count = (text: string, part: string) => text.split(part).length - 1;
    const events = [
      event('message_start', { message: { ...MESSAGE, content: [], usage: ANTHROPIC_USAGE } }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'message_stop' } }),
      event('content_block_stop', { index: 0 }),
      event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: ANTHROPIC_USAGE }),
    ];
    for (const end of [[], [event('message_stop')]]) {
      stream(anthropic, [...events, ...end]);
      const text = await asOwn('/v1/messages', 'claude');
      assert.equal(count(text, 'event: message_stop'), 1);
      assert.ok(text.endsWith('data: {"type":"message_stop"}\n\n'));
    }
    for (const end of [[], ['data: [DONE]\n\n']]) {
      stream(openai, [chunk({ content: 'Hello' }), chunk({}, 'stop', { usage: OPENAI_USAGE }), ...end]);
      const text = await asOwn('/v1/chat/completions', 'gpt');
      assert.equal(count(text, '[DONE]'), 1);
      assert.ok(text.endsWith('data: [DONE]\n\n'));
    }
  });

  test('keeps statuses that concern the request, and the retry header of a rate limit', async () => {
    for (const [status, type] of [
      [413, 'request_too_large'],
      [422, 'invalid_request_error'],
      [451, 'invalid_request_error'],
    ] as const) {
      openai.respondWith((response) => response.writeHead(status).end('{"error":{"message":"no"}}'));
      const refused = await asMessages();
      const { error } = (await refused.json()) as { error: { type: string; message: string } };
      assert.deepEqual([refused.status, error.type, error.message], [status, type, 'no']);
    }
    openai.respondWith((response) => response.writeHead(429, { 'retry-after': '7' }).end('{}'));
    const limited = await asMessages();
    assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '7']);
    const date = 'Sun, 29 Nov 2026 10:00:00 GMT';
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '38.5s' }];
    for (const [headers, body, seconds] of [
      [{ 'retry-after': '1.2' }, {}, '2'],
      [{ 'retry-after': 'Sun, 29 Nov 2026 10:00:30 GMT', date }, {}, '30'],
      [{ 'retry-after': 'Sun, 29 Nov 2026 09:00:00 GMT', date }, {}, '1'],
      [{ 'retry-after-ms': '4200', 'retry-after': '9' }, {}, '5'],
      [{ 'retry-after': 'soon' }, {}, '1'],
      [{}, { error: { code: 429, status: 'RESOURCE_EXHAUSTED', details } }, '39'],
    ] as const) {
      openai.respondWith((response) => response.writeHead(429, headers).end(JSON.stringify(body)));
      assert.equal((await asMessages()).headers.get('retry-after'), seconds, JSON.stringify([headers, body]));
    }
    openai.respondWith((response) => response.writeHead(401).end('{}'));
    assert.equal((await asMessages()).status, 502, "the credential is not the caller's");
  });

  test("returns upstream errors in the caller's format and still fails over to another channel", async () => {
    anthropic.respondWith((response) =>
      response.writeHead(400).end('{"type":"error","error":{"type":"invalid_request_error","message":"too long"}}'),
    );
    const refused = await callModelApi(service.baseUrl, service.key, 'POST', '/v1/chat/completions', {
      model: 'claude',
      messages: [{ role: 'user', content: 'x' }],
    });
    assert.deepEqual(
      [refused.status, (refused.body.error as unknown as { message: string }).message],
      [400, 'too long'],
    );
    const second = await startScriptedUpstream();
    try {
      const channel = {
        vendor: 'openai',
        base_url: second.url,
        credentials: { api_key: 'sk-second-123' },
        models: ['gpt'],
        priority: -1,
      };
      await service.operator.addChannel(channel);
      openai.respondWith((response) => response.writeHead(503).end('{}'));
      second.respondWith((response) =>
        response.end(
          JSON.stringify({
            choices: [{ message: { content: 'from the second' }, finish_reason: 'stop' }],
            usage: OPENAI_USAGE,
          }),
        ),
      );
      const answer = (await (await asMessages()).json()) as { content: { text: string }[] };
      assert.equal(answer.content[0]?.text, 'from the second');
    } finally {
      await second.stop();
    }
  });
});
