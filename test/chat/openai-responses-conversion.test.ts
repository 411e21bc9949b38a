import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import OpenAI from 'openai';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import type { ChatService } from './chat-fixture.ts';
import { addScriptedModels, startScriptedChat } from './scripted-chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const USAGE = { prompt_tokens: 1_100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 1_000 } };
const PATCH = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
} as const;
const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const WEATHER = { type: 'function', name: 'weather', description: 'tells it', parameters, strict: true } as const;

/** OpenAI's Responses API over upstreams that do not offer it. */
describe('the Responses API, converted', { concurrency: false }, () => {
  let service: ChatService;
  let chat: ScriptedUpstream;
  let anthropic: ScriptedUpstream;
  let modern: ScriptedUpstream;
  let openai: OpenAI;
  before(async () => {
    ({ service, upstream: anthropic } = await startScriptedChat(['claude'], { vendor: 'anthropic' }));
    [chat, modern] = await Promise.all([startScriptedUpstream(), startScriptedUpstream()]);
    await addScriptedModels(service.operator, chat, ['plain', 'gpt-5-plain'], { options: { responses: false } });
    await addScriptedModels(service.operator, modern, ['gpt-5-pro'], { options: { responses: 'only' } });
    openai = new OpenAI({ apiKey: service.key, baseURL: `${service.baseUrl}/v1`, maxRetries: 0 });
  });
  beforeEach(() => {
    for (const { requests } of [chat, anthropic, modern]) requests.splice(0);
  });
  afterEach(async () => {
    await service.waitUntilSettled();
    await assertLedgerConsistent(service.app.database);
  });
  after(async () => {
    await service.stop();
    await Promise.all([chat.stop(), anthropic.stop(), modern.stop()]);
  });

  const send = (path: string, body: object) =>
    fetch(`${service.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const sentTo = ({ requests }: ScriptedUpstream) => JSON.parse(requests.at(-1)?.body ?? '{}');
  const droppedOf = ({ headers }: Response) => headers.get('x-reelgate-dropped')?.split(', ').sort() ?? [];
  const respond = (message: object, finish = 'stop') =>
    chat.respondWith((response) =>
      response.end(JSON.stringify({ id: 'c', choices: [{ index: 0, message, finish_reason: finish }], usage: USAGE })),
    );
  const stream = (parts: readonly object[]) =>
    chat.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const part of parts) response.write(`data: ${JSON.stringify(part)}\n\n`);
      response.end('data: [DONE]\n\n');
    });
  const chunk = (delta: object, finish: string | null = null) => ({
    id: 'c',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });

  test('serves a Codex conversation over an upstream that has only chat completions', async () => {
    respond({ role: 'assistant', content: 'done' });
    const answer = await send('/v1/responses', {
      model: 'plain',
      instructions: 'Be brief.',
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Careful.' }] },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'see' },
            { type: 'input_image', image_url: PNG, detail: 'high' },
          ],
        },
        { type: 'reasoning', summary: [], encrypted_content: 'gAAAA' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.', annotations: [] }] },
        { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'weather', arguments: '{"city":"Paris"}' },
        { type: 'custom_tool_call', call_id: 'b', name: 'apply_patch', input: '*** "x"' },
        { type: 'function_call_output', call_id: 'a', output: 'sunny' },
        { type: 'custom_tool_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'ok' }] },
        { type: 'web_search_call', id: 'ws', status: 'completed' },
        { role: 'user', content: 'so?' },
      ],
      tools: [
        WEATHER,
        PATCH,
        { type: 'web_search' },
        { type: 'namespace', name: 'mcp__files', description: 'Files.', tools: [{ ...WEATHER, name: 'read' }] },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      max_output_tokens: 500,
      temperature: 0.5,
      reasoning: { effort: 'high', summary: 'auto' },
      text: { format: { type: 'json_schema', name: 'x', schema: parameters, strict: true }, verbosity: 'low' },
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      metadata: { a: 'b' },
    });
    assert.equal(answer.status, 200, await answer.clone().text());
    assert.deepEqual(droppedOf(answer), [
      'include',
      'input.2',
      'input.8',
      'metadata',
      'prompt_cache_key',
      'reasoning.effort',
      'reasoning.summary',
      'store',
      'text.verbosity',
      'tools.1.format',
      'tools.2',
    ]);
    const functionOf = (name: string, args: string, id: string) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    });
    const sent = sentTo(chat);
    assert.equal(chat.requests[0]?.path, '/v1/chat/completions');
    assert.deepEqual(sent.messages, [
      {
        role: 'system',
        content: [
          { type: 'text', text: 'Be brief.' },
          { type: 'text', text: 'Careful.' },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image_url', image_url: { url: PNG, detail: 'high' } },
        ],
      },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [
          functionOf('weather', '{"city":"Paris"}', 'a'),
          functionOf('apply_patch', '{"input":"*** \\"x\\""}', 'b'),
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'sunny' },
      { role: 'tool', tool_call_id: 'b', content: 'ok' },
      { role: 'user', content: 'so?' },
    ]);
    const [weather, patch, read] = sent.tools.map((tool: { function: object }) => tool.function);
    assert.deepEqual(weather, { name: 'weather', description: 'tells it', parameters, strict: true });
    assert.deepEqual(
      [patch.name, patch.parameters.required, read.name],
      ['apply_patch', ['input'], 'mcp__files__read'],
    );
    assert.match(patch.description, /^Edits files\.\n\nThe input follows this grammar \(lark\):\nstart: "x"$/);
    assert.deepEqual(
      [sent.max_tokens, sent.parallel_tool_calls, sent.tool_choice, sent.temperature],
      [500, false, 'auto', 0.5],
    );
    assert.deepEqual(sent.response_format, {
      type: 'json_schema',
      json_schema: { name: 'x', schema: parameters, strict: true },
    });
  });

  test('marks reasoning that its upstream did not sign, whose id OpenAI would look up', async () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: '' },
      { type: 'text', text: 'Rain.' },
    ];
    anthropic.respondWith((response) =>
      response.end(JSON.stringify({ type: 'message', content, stop_reason: 'end_turn', usage: { input_tokens: 1 } })),
    );
    for (const stream of [false, true]) {
      const answer = await send('/v1/responses', { model: 'claude', input: 'x', stream });
      assert.equal(answer.status, 200);
      assert.match(await answer.text(), /"type":"reasoning","summary":\[[^\]]+\],"encrypted_content":"reelgate-none:"/);
    }
  });

  test('returns usage, calls and reasoning of a completion as response items', async () => {
    respond(
      {
        role: 'assistant',
        content: 'Look:',
        reasoning_content: 'hm',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
          { id: 'b', type: 'function', function: { name: 'apply_patch', arguments: '{"input":"x"}' } },
          { id: 'c', type: 'function', function: { name: 'mcp__files__read', arguments: '{}' } },
        ],
      },
      'tool_calls',
    );
    const namespace = { type: 'namespace', name: 'mcp__files', description: 'Files.', tools: [WEATHER] } as const;
    const tools = [WEATHER, PATCH, { ...namespace, tools: [{ ...WEATHER, name: 'read' }] }];
    const response = await openai.responses.create({ model: 'plain', input: 'x', tools });
    assert.deepEqual(
      response.output.map(({ id: _, ...item }) => item),
      [
        {
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: 'hm' }],
          encrypted_content: 'reelgate-openai:',
        },
        {
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Look:', annotations: [], logprobs: [] }],
        },
        {
          type: 'function_call',
          status: 'completed',
          call_id: 'a',
          name: 'weather',
          arguments: '{"city":"Paris"}',
        },
        { type: 'custom_tool_call', status: 'completed', call_id: 'b', name: 'apply_patch', input: 'x' },
        {
          type: 'function_call',
          status: 'completed',
          call_id: 'c',
          name: 'read',
          namespace: 'mcp__files',
          arguments: '{}',
        },
      ],
    );
    assert.deepEqual(response.usage, {
      input_tokens: 1_100,
      input_tokens_details: { cached_tokens: 1_000, cache_write_tokens: 0 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 1_120,
    });
    assert.deepEqual(
      [response.status, response.model, response.output_text, response.tools?.length],
      ['completed', 'plain', 'Look:', 3],
    );
    // Plain-text reasoning returns to the upstream that wrote it.
    const input = [{ role: 'user' as const, content: 'x' }, ...response.output];
    await openai.responses.create({ model: 'plain', input: input as OpenAI.Responses.ResponseInput, tools });
    const [, assistant] = sentTo(chat).messages;
    assert.equal(assistant.reasoning_content, 'hm');
    assert.deepEqual(
      assistant.tool_calls.map(({ function: { name } }: { function: { name: string } }) => name),
      ['weather', 'apply_patch', 'mcp__files__read'],
    );
  });

  test("streams every event that the client's helper assembles, interleaved calls included", async () => {
    const call = (index: number, more: object) => chunk({ tool_calls: [{ index, ...more }] });
    stream([
      chunk({ role: 'assistant', reasoning_content: 'h' }),
      chunk({ reasoning_content: 'm' }),
      chunk({ content: 'Look' }),
      chunk({ content: ':' }),
      call(0, { id: 'a', type: 'function', function: { name: 'weather', arguments: '' } }),
      call(1, { id: 'b', type: 'function', function: { name: 'apply_patch', arguments: '{"inp' } }),
      call(0, { function: { arguments: '{"city"' } }),
      call(1, { function: { arguments: 'ut":"x"}' } }),
      call(0, { function: { arguments: ':"Paris"}' } }),
      chunk({}, 'tool_calls'),
      { id: 'c', choices: [], usage: USAGE },
    ]);
    const types: string[] = [];
    const tools = [WEATHER, PATCH];
    const helper = openai.responses.stream({ model: 'plain', input: 'x', tools });
    for await (const event of helper) {
      assert.equal(event.sequence_number, types.length);
      types.push(event.type.replace('response.', ''));
    }
    assert.deepEqual(types, [
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
      'completed',
    ]);
    const { output, output_text: text, usage } = await helper.finalResponse();
    assert.deepEqual(
      output.map((item) => [item.type, 'arguments' in item ? item.arguments : 'input' in item ? item.input : '']),
      [
        ['reasoning', ''],
        ['message', ''],
        ['function_call', '{"city":"Paris"}'],
        ['custom_tool_call', 'x'],
      ],
    );
    assert.deepEqual([text, usage?.input_tokens, usage?.output_tokens], ['Look:', 1_100, 20]);
  });

  test("returns Claude's reasoning with its signature and reports its usage in full", async () => {
    const usage = { input_tokens: 100, cache_read_input_tokens: 1_000, output_tokens: 20 };
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'redacted_thinking', data: 'blob' },
      { type: 'text', text: 'Hi' },
    ];
    anthropic.respondWith((response) =>
      response.end(JSON.stringify({ id: 'm', type: 'message', content, stop_reason: 'max_tokens', usage })),
    );
    const first = await openai.responses.create({ model: 'claude', input: 'x', max_output_tokens: 20 });
    assert.deepEqual(
      [first.status, first.incomplete_details, first.usage?.input_tokens, first.usage?.total_tokens],
      ['incomplete', { reason: 'max_output_tokens' }, 1_100, 1_120],
    );
    const said = first.output as OpenAI.Responses.ResponseInput;
    await openai.responses.create({ model: 'claude', input: [{ role: 'user', content: 'x' }, ...said] });
    assert.deepEqual(sentTo(anthropic).messages[1].content, content);
  });

  test('drops references to reasoning that is not stored, and reports them', async () => {
    respond({ role: 'assistant', content: 'Hi' });
    const input = [
      { role: 'user', content: 'x' },
      { type: 'item_reference', id: 'rs_1' },
    ];
    const answer = await send('/v1/responses', { model: 'plain', input });
    assert.deepEqual([answer.status, droppedOf(answer)], [200, ['input.1']]);
    assert.deepEqual(sentTo(chat).messages, [{ role: 'user', content: 'x' }]);
  });

  // CommandCodeAI/command-code #893
  test('drops searches for tools, offers the tools that they found, and reports the searches', async () => {
    respond({ role: 'assistant', content: 'Hi' });
    const input = [
      { role: 'user', content: 'x' },
      { type: 'tool_search_call', call_id: 's', execution: 'client', arguments: { query: 'weather' } },
      { type: 'tool_search_output', call_id: 's', execution: 'client', status: 'completed', tools: [WEATHER] },
      { role: 'user', content: 'y' },
    ];
    const answer = await send('/v1/responses', { model: 'plain', input });
    assert.deepEqual([answer.status, droppedOf(answer)], [200, ['input.1', 'input.2']], await answer.text());
    const sent = sentTo(chat);
    assert.deepEqual(
      sent.messages,
      ['x', 'y'].map((content) => ({ role: 'user', content })),
    );
    assert.deepEqual(
      sent.tools.map((tool: { function: { name: string } }) => tool.function.name),
      [WEATHER.name],
    );
  });

  // tailcallhq/forgecode #892, microsoft/vscode #276110
  test('offers a tool that is listed twice once, because Anthropic and Google refuse the second', async () => {
    anthropic.respondWith((response) =>
      response.end(JSON.stringify({ id: 'm', type: 'message', content: [{ type: 'text', text: 'Hi' }], usage: {} })),
    );
    const tool = (description: string) => ({ type: 'function', function: { name: 'f', description, parameters } });
    const messages = [{ role: 'user', content: 'x' }];
    const body = { model: 'claude', messages, tools: [tool('old'), tool('new')] };
    assert.equal((await send('/v1/chat/completions', body)).status, 200);
    const { tools } = sentTo(anthropic);
    assert.deepEqual(
      tools.map(({ description }: { description: string }) => description),
      ['new'],
    );
  });

  // farion1231/cc-switch #7287, earendil-works/pi #6265
  test('asks for as many tokens as the Responses API accepts at least, and charges them', async () => {
    const usage = {
      input_tokens: 10,
      output_tokens: 16,
      output_tokens_details: { reasoning_tokens: 16 },
      total_tokens: 26,
    };
    const output = [{ type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'gAAAA' }];
    const body = { id: 'r', status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output, usage };
    modern.respondWith((response) => response.end(JSON.stringify(body)));
    const messages = [{ role: 'user', content: 'quota' }];
    const answer = await send('/v1/messages', { model: 'gpt-5-pro', max_tokens: 1, messages });
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(sentTo(modern).max_output_tokens, 16);
    assert.equal((await service.waitUntilSettled())[0]?.charged, 10 + 4 * 16);
  });

  test('refuses by name whatever would change the answer, and sends nothing', async () => {
    const cases: readonly (readonly [object, string])[] = [
      [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
      [{ background: true }, 'background'],
      [{ store: true }, 'store'],
      [{ top_logprobs: 2 }, 'top_logprobs'],
      [{ conversation: 'c' }, 'conversation'],
      [{ prompt: { id: 'p' } }, 'prompt'],
      [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input.0.type'],
      [{ tools: [{ type: 'local_shell' }] }, 'tools.0.type'],
      [{ tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }, 'tools.0'],
      [{ input: 5 }, 'input'],
      [{ input: undefined }, 'input'],
    ];
    for (const [more, path] of cases) {
      const answer = await send('/v1/responses', { model: 'plain', input: 'x', ...more });
      const { error } = (await answer.json()) as { error: { message: string } };
      assert.equal(answer.status, 400, path);
      assert.ok(error.message.includes(path), `${path}: ${error.message}`);
    }
    assert.equal(chat.requests.length, 0);
  });

  test('ends an interrupted stream with an error event and charges the delivered part', async () => {
    chat.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(chunk({ content: 'Hello' }))}\n\n`);
      setTimeout(() => response.destroy(), 20);
    });
    const text = await (await send('/v1/responses', { model: 'plain', input: 'x', stream: true })).text();
    assert.match(text, /event: error\ndata: \{.*"code":"answer_broken_off"/);
    assert.doesNotMatch(text, /response\.completed/);
    const [end] = await service.waitUntilSettled();
    assert.ok(end?.kind === 'settle' && end.charged > 0);
  });

  test('serves the other dialects over an upstream that has only Responses', async () => {
    const output = [
      { type: 'reasoning', id: 'rs', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'gAAAA' },
      { type: 'function_call', id: 'fc', call_id: 'a', name: 'weather', arguments: '{"city":"Paris"}' },
    ];
    const usage = {
      input_tokens: 10,
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 15,
    };
    modern.respondWith((response) => response.end(JSON.stringify({ id: 'r', status: 'completed', output, usage })));
    const tools = [{ name: 'weather', input_schema: parameters }];
    const ask = { model: 'gpt-5-pro', max_tokens: 50, tools, output_config: { effort: 'high' } };
    const question = { role: 'user', content: 'x' };
    const first = (await (await send('/v1/messages', { ...ask, messages: [question] })).json()) as {
      content: object[];
      usage: Record<string, number>;
    };
    assert.deepEqual(first.content, [
      { type: 'thinking', thinking: 'hm', signature: 'reelgate-openai:gAAAA' },
      { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Paris' } },
    ]);
    assert.deepEqual([first.usage.input_tokens, first.usage.output_tokens], [10, 5]);
    const messages = [
      question,
      { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'sunny' }] },
    ];
    const second = await send('/v1/messages', { ...ask, messages });
    assert.deepEqual(droppedOf(second), []);
    assert.equal(modern.requests[1]?.path, '/v1/responses');
    assert.deepEqual(sentTo(modern), {
      model: 'gpt-5-pro',
      input: [
        question,
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'gAAAA' },
        { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{"city":"Paris"}' },
        { type: 'function_call_output', call_id: 'a', output: 'sunny' },
      ],
      max_output_tokens: 50,
      store: false,
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'function', name: 'weather', parameters, strict: false }],
      reasoning: { effort: 'high' },
    });
  });

  test("converts that upstream's stream to chat completion chunks", async () => {
    const parts = [
      ['created', { response: { id: 'r' } }],
      ['output_item.added', { output_index: 0, item: { type: 'reasoning', id: 'rs', summary: [] } }],
      ['reasoning_summary_text.delta', { output_index: 0, delta: 'hm' }],
      ['output_item.done', { output_index: 0, item: { type: 'reasoning', id: 'rs', encrypted_content: 'gA' } }],
      ['output_text.delta', { output_index: 1, delta: 'Hi' }],
      ['output_item.added', { output_index: 2, item: { type: 'function_call', call_id: 'a', name: 'weather' } }],
      ['function_call_arguments.delta', { output_index: 2, delta: '{}' }],
      [
        'completed',
        { response: { status: 'completed', usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 } } },
      ],
    ] as const;
    modern.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [type, fields] of parts)
        response.write(`data: ${JSON.stringify({ type: `response.${type}`, ...fields })}\n\n`);
      response.end();
    });
    const completion = await openai.chat.completions
      .stream({ model: 'gpt-5-pro', messages: [{ role: 'user', content: 'x' }] })
      .finalChatCompletion();
    const [choice] = completion.choices;
    assert.deepEqual([choice?.message.content, choice?.finish_reason], ['Hi', 'tool_calls']);
    assert.equal((await service.waitUntilSettled())[0]?.charged, 10 + 5 * 4);
  });

  test('a channel that cannot express a request leaves it to those that can', async () => {
    const price = { input_per_million: 1, output_per_million: 1 };
    const model = { id: 'both', vendor: 'openai', kind: 'chat', price };
    await service.operator.requestData('POST', '/api/admin/models', model);
    const add = (upstream: ScriptedUpstream, priority: number, options: object = {}) =>
      service.operator.addChannel({
        vendor: 'openai',
        base_url: upstream.url,
        credentials: { api_key: 'sk-0123456789' },
        models: ['both'],
        priority,
        options: { private: true, ...options },
      });
    const failing = await startScriptedUpstream();
    failing.respondWith((response) => response.writeHead(503).end());
    await add(chat, 10, { responses: false });
    const whole = await add(modern, 5);
    const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }];
    modern.respondWith((response) => response.end(JSON.stringify({ id: 'r', output, usage: USAGE })));
    const ask = () => send('/v1/responses', { model: 'both', input: 'hi', top_logprobs: 3 });
    const sent = () => [failing, chat, modern].map(({ requests }) => requests.splice(0).length);

    assert.deepEqual([(await ask()).status, sent()], [200, [0, 0, 1]], 'the first channel');
    await add(failing, 20);
    assert.deepEqual([(await ask()).status, sent()], [200, [1, 0, 1]], 'the next channel after a failure');
    await service.operator.requestData('PUT', `/api/admin/channels/${whole}`, { enabled: false });
    assert.deepEqual([(await ask()).status, sent()], [503, [1, 0, 0]], 'the last channel after a failure');
    await failing.stop();
  });
});
