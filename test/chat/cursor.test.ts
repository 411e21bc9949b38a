import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import type { ChatService } from './chat-fixture.ts';
import { addScriptedModels, startScriptedChat } from './scripted-chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

const PATCH_TEXT = '*** Begin Patch\n*** End Patch';
const FORMAT = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } as const;
const APPLY_PATCH = { type: 'custom', name: 'ApplyPatch', description: 'Edits files.', format: FORMAT } as const;
const parameters = { type: 'object', properties: { path: { type: 'string' } } };
const READ = { type: 'function', name: 'ReadFile', description: 'Reads.', parameters, strict: false } as const;
const USAGE = {
  input_tokens: 1_100,
  input_tokens_details: { cached_tokens: 1_000 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 1_120,
};

/** The body that Cursor sends for models named like OpenAI's (forum.cursor.com 159298, BerriAI/litellm #34029). */
const bodyFor = (model: string, more: object = {}) => ({
  model,
  user: 'u1',
  input: [
    { role: 'system', content: 'You are an AI coding assistant.' },
    { role: 'user', content: [{ type: 'input_text', text: 'Fix it.' }] },
    { type: 'function_call', call_id: 'a', name: 'ReadFile', arguments: '{"path":"a"}' },
    { type: 'function_call_output', call_id: 'a', output: 'text' },
    { type: 'function_call', call_id: 'b', name: 'ApplyPatch', arguments: PATCH_TEXT },
    { type: 'function_call_output', call_id: 'b', output: 'done' },
  ],
  tools: [READ, APPLY_PATCH],
  tool_choice: 'auto',
  store: false,
  include: ['reasoning.encrypted_content'],
  reasoning: { effort: 'medium', summary: 'auto' },
  text: { verbosity: 'low' },
  stream_options: { include_usage: true },
  ...more,
});

/** Cursor sends bodies of the Responses API to chat completions, and reads chat completions. */
describe('a body of the Responses API at chat completions', { concurrency: false }, () => {
  let service: ChatService;
  let openai: ScriptedUpstream;
  let plain: ScriptedUpstream;
  let anthropic: ScriptedUpstream;
  before(async () => {
    ({ service, upstream: openai } = await startScriptedChat(['gpt-5']));
    [plain, anthropic] = await Promise.all([startScriptedUpstream(), startScriptedUpstream()]);
    await addScriptedModels(service.operator, plain, ['gpt-5-chat'], { options: { responses: false } });
    await addScriptedModels(service.operator, anthropic, ['gpt-5-claude'], { vendor: 'anthropic' });
  });
  afterEach(async () => {
    await service.waitUntilSettled();
    await assertLedgerConsistent(service.app.database);
  });
  after(async () => {
    await service.stop();
    await Promise.all([openai.stop(), plain.stop(), anthropic.stop()]);
  });

  const send = (body: object, type = 'application/json') =>
    fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': type },
      body: JSON.stringify(body),
    });
  const sentTo = ({ requests }: ScriptedUpstream) => JSON.parse(requests.at(-1)?.body ?? '{}');
  const streamEvents = (
    upstream: ScriptedUpstream,
    events: readonly (Readonly<Record<string, unknown>> & { readonly type: string })[],
  ) =>
    upstream.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
    });
  const call = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c', name: 'ApplyPatch', input: PATCH_TEXT };

  test('reaches the Responses API as it is, and its stream returns as chunks with their usage', async () => {
    streamEvents(openai, [
      { type: 'response.created', response: { id: 'r', output: [] } },
      { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'Editing.' },
      { type: 'response.output_item.added', output_index: 1, item: { ...call, input: '' } },
      { type: 'response.custom_tool_call_input.delta', item_id: 'ctc_1', output_index: 1, delta: PATCH_TEXT },
      { type: 'response.output_item.done', output_index: 1, item: call },
      { type: 'response.completed', response: { id: 'r', status: 'completed', output: [], usage: USAGE } },
    ]);
    const client = new OpenAI({ apiKey: service.key, baseURL: `${service.baseUrl}/v1`, maxRetries: 0 });
    const body = bodyFor('gpt-5', { stream: true }) as unknown as OpenAI.ChatCompletionCreateParamsStreaming;
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of await client.chat.completions.create(body)) chunks.push(chunk);
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    assert.equal(deltas.map(({ content }) => content ?? '').join(''), 'Editing.');
    const calls = deltas.flatMap(({ tool_calls: pieces = [] }) => pieces);
    assert.deepEqual(
      [calls[0]?.function?.name, calls[0]?.id, calls.map((piece) => piece.function?.arguments ?? '').join('')],
      ['ApplyPatch', 'c', PATCH_TEXT],
    );
    assert.equal(chunks.findLast(({ choices }) => choices.length > 0)?.choices[0]?.finish_reason, 'tool_calls');
    const { usage } = chunks.at(-1) ?? {};
    assert.deepEqual([usage?.prompt_tokens, usage?.completion_tokens], [1_100, 20]);

    assert.equal(openai.requests.at(-1)?.path, '/v1/responses');
    const { stream_options, input, ...same } = bodyFor('gpt-5', { stream: true });
    const restored = [
      ...input.slice(0, 4),
      { type: 'custom_tool_call', call_id: 'b', name: 'ApplyPatch', input: PATCH_TEXT },
      { type: 'custom_tool_call_output', call_id: 'b', output: 'done' },
    ];
    assert.deepEqual(sentTo(openai), { ...same, input: restored, max_output_tokens: sentTo(openai).max_output_tokens });
    const [entry] = await service.waitUntilSettled();
    assert.equal(entry?.charged, 1_100 + 4 * 20);
    const [logged] = await service.operator.requestData<Record<string, unknown>[]>('GET', '/api/admin/requests');
    assert.deepEqual(
      [logged?.kind, logged?.status, logged?.stream, logged?.input_tokens, logged?.output_tokens],
      ['chat', 'ok', true, 1_100, 20],
    );
  });

  test('restores calls without their ids, which have the prefix of functions', async () => {
    openai.respondWith((response) =>
      response.end(JSON.stringify({ id: 'r', object: 'response', status: 'completed', output: [call], usage: USAGE })),
    );
    const input = [
      { type: 'function_call', id: 'fc_1', call_id: 'b', name: 'ApplyPatch', arguments: PATCH_TEXT },
      { type: 'function_call_output', id: 'fco_1', call_id: 'b', output: 'done' },
      { type: 'function_call', id: 'fc_2', call_id: 'a', name: 'ReadFile', arguments: '{}' },
    ];
    assert.equal((await send(bodyFor('gpt-5', { input }))).status, 200);
    assert.deepEqual(
      sentTo(openai).input.map((item: { type: string; id?: string }) => [item.type, item.id]),
      [
        ['custom_tool_call', undefined],
        ['custom_tool_call_output', undefined],
        ['function_call', 'fc_2'],
      ],
    );
  });

  test('is answered by one completion where no stream was requested, on either path of the server', async () => {
    openai.respondWith((response) =>
      response.end(JSON.stringify({ id: 'r', object: 'response', status: 'completed', output: [call], usage: USAGE })),
    );
    for (const type of ['application/json', 'application/json;charset=UTF-8']) {
      const answer = await send(bodyFor('gpt-5', { messages: [] }), type);
      assert.equal(answer.status, 200, await answer.clone().text());
      const { object, choices } = (await answer.json()) as OpenAI.ChatCompletion;
      const { message, finish_reason: reason } = choices[0] ?? {};
      assert.deepEqual([object, reason], ['chat.completion', 'tool_calls']);
      assert.deepEqual(message?.tool_calls, [
        { id: 'c', type: 'function', function: { name: 'ApplyPatch', arguments: PATCH_TEXT } },
      ]);
      assert.equal('messages' in sentTo(openai), false);
    }
  });

  test('is converted for upstreams without the Responses API', async () => {
    plain.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const piece = (delta: object, reason: string | null = null) =>
        `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
      const [start, rest] = ['{"input":"*** Begin', ` Patch\\n*** End Patch"}`];
      const toolCalls = (args: string, more: object = {}) => ({
        tool_calls: [{ index: 0, ...more, function: { ...more, arguments: args } }],
      });
      response.end(
        piece(toolCalls(start, { id: 'c', name: 'ApplyPatch' })) +
          piece(toolCalls(rest)) +
          piece({}, 'tool_calls') +
          'data: [DONE]\n\n',
      );
    });
    const answer = await send(bodyFor('gpt-5-chat', { stream: true }));
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    const args = [...text.matchAll(/"arguments":("(?:[^"\\]|\\.)*")/g)].map(([, value = '""']) => JSON.parse(value));
    assert.equal(args.join(''), PATCH_TEXT);
    const [system, user, ...rest] = sentTo(plain).messages;
    assert.deepEqual([system.role, user.content], ['system', 'Fix it.']);
    assert.deepEqual(
      rest.flatMap((each: { tool_calls?: { function: { arguments: string } }[] }) =>
        (each.tool_calls ?? []).map((made) => made.function.arguments),
      ),
      ['{"path":"a"}', JSON.stringify({ input: PATCH_TEXT })],
    );

    anthropic.respondWith((response) =>
      response.end(
        JSON.stringify({
          id: 'm',
          type: 'message',
          content: [{ type: 'text', text: 'Hi' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 10, output_tokens: 2 },
        }),
      ),
    );
    const other = (await (await send(bodyFor('gpt-5-claude'))).json()) as OpenAI.ChatCompletion;
    assert.equal(other.choices[0]?.message.content, 'Hi');
  });

  test('fails in the form of chat completions, before and within a stream', async () => {
    openai.respondWith((response) => {
      response.writeHead(400);
      response.end(JSON.stringify({ error: { message: 'No such tool.', type: 'invalid_request_error' } }));
    });
    const refused = await send(bodyFor('gpt-5', { stream: true }));
    assert.deepEqual([refused.status, ((await refused.json()) as { error: object }).error !== undefined], [400, true]);
    streamEvents(openai, [
      { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'Hi' },
      { type: 'error', code: 'server_error', message: 'broke' },
    ]);
    const broken = await (await send(bodyFor('gpt-5', { stream: true }))).text();
    assert.match(broken, /^data: \{"error":\{/m);
    assert.doesNotMatch(broken, /event:|sequence_number/);
  });

  test('needs messages or an input', async () => {
    for (const type of ['application/json', 'application/json;charset=UTF-8'])
      for (const more of [{}, { input: null }, { messages: [] }]) {
        const answer = await send({ model: 'gpt-5', ...more }, type);
        assert.equal(answer.status, 400);
        assert.match(await answer.text(), /messages/);
      }
  });
});
