import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import type { ChatService } from './chat-fixture.ts';
import { addScriptedModels, SCRIPTED_KEY, startScriptedChat } from './scripted-chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

const PRICE = { input_per_million: 1_000_000, output_per_million: 5_000_000, cached_input_per_million: 100_000 };
const USAGE = {
  promptTokenCount: 1_100,
  cachedContentTokenCount: 1_000,
  candidatesTokenCount: 15,
  thoughtsTokenCount: 5,
  totalTokenCount: 1_120,
};
const COST = 100 + 100 + 100;
const BODY = '{ "contents": [{"parts":[{"text":"hi"}]}], "generationConfig":{"maxOutputTokens":50} }';
const chunk = (parts: readonly object[], finishReason?: string, more: object = {}): string =>
  `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts }, finishReason, index: 0 }], ...more })}\r\n\r\n`;
const STREAM = [
  chunk([{ text: 'Hello' }], undefined, { usageMetadata: { ...USAGE, candidatesTokenCount: 1 } }),
  chunk([{ text: ' there' }], 'STOP', { usageMetadata: USAGE }),
];

describe('Gemini', { concurrency: false }, () => {
  let service: ChatService;
  let upstream: ScriptedUpstream;
  let anthropic: ScriptedUpstream;
  before(async () => {
    ({ service, upstream } = await startScriptedChat(['gem'], { vendor: 'gemini', price: PRICE }));
    anthropic = await startScriptedUpstream();
    await addScriptedModels(service.operator, anthropic, ['claude'], { vendor: 'anthropic', price: PRICE });
  });
  beforeEach(() => {
    upstream.requests.splice(0);
    anthropic.requests.splice(0);
  });
  afterEach(async () => {
    await service.waitUntilSettled();
    await assertLedgerConsistent(service.app.database);
  });
  after(async () => {
    await service.stop();
    await Promise.all([upstream.stop(), anthropic.stop()]);
  });

  const post = (call: string, body = BODY, headers: Record<string, string> = { 'x-goog-api-key': service.key }) =>
    fetch(`${service.baseUrl}/v1beta/models/${call}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
  const charged = async () => (await service.waitUntilSettled()).find(({ kind }) => kind === 'settle')?.charged;
  const refusal = async (answer: Response) => {
    const { error } = (await answer.json()) as { error: { code: number; message: string; status: string } };
    return { ...error, http: answer.status };
  };

  test('relays a response byte for byte and charges every token category, thinking as output', async () => {
    const whole = JSON.stringify(
      { candidates: [{ content: { parts: [{ text: 'Hello' }] } }], usageMetadata: USAGE },
      null,
      1,
    );
    upstream.respondWith((response) => response.end(whole));
    assert.equal(await (await post('gem:generateContent')).text(), whole);
    const [sent] = upstream.requests;
    assert.deepEqual([sent?.path, sent?.body], ['/v1beta/models/gem:generateContent', BODY]);
    assert.deepEqual([sent?.headers['x-goog-api-key'], sent?.headers.authorization], [SCRIPTED_KEY, undefined]);
    assert.equal(await charged(), COST);
  });

  test('relays a stream byte for byte, accepts the key in the query, and adds a token limit when it is missing', async () => {
    upstream.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const part of STREAM) response.write(part);
      response.end();
    });
    const body = '{"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"temperature":1}}';
    const answer = await post(`gem:streamGenerateContent?alt=sse&key=${service.key}`, body, {});
    assert.equal(await answer.text(), STREAM.join(''));
    const [sent] = upstream.requests;
    assert.equal(sent?.path, '/v1beta/models/gem:streamGenerateContent?alt=sse');
    assert.deepEqual(JSON.parse(sent?.body ?? '').generationConfig, { temperature: 1, maxOutputTokens: 4_096 });
    assert.equal(await charged(), COST);
  });

  test('treats a blocked prompt as an answer with usage', async () => {
    const blocked = {
      promptFeedback: { blockReason: 'SAFETY' },
      usageMetadata: { promptTokenCount: 100, totalTokenCount: 100 },
    };
    upstream.respondWith((response) => response.end(JSON.stringify(blocked)));
    const answer = await post('gem:generateContent');
    assert.deepEqual([answer.status, await answer.json()], [200, blocked]);
  });

  test('ends an interrupted stream with an API error and charges the delivered part', async () => {
    upstream.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(STREAM[0]);
      setTimeout(() => response.destroy(), 50);
    });
    const text = await (await post('gem:streamGenerateContent?alt=sse')).text();
    assert.match(text, /data: \{"error":\{"code":502,"message":"[^"]+","status":"INTERNAL"\}\}\n\n$/);
    assert.ok(Number(await charged()) >= 200);
  });

  test("returns our own and upstream errors in the API's format", async () => {
    const cases = [
      [429, { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'x' }, 429, 'RESOURCE_EXHAUSTED'],
      [503, { code: 503, status: 'UNAVAILABLE', message: 'x' }, 503, 'UNAVAILABLE'],
      [400, { code: 400, status: 'INVALID_ARGUMENT', message: 'x' }, 400, 'INVALID_ARGUMENT'],
      [
        400,
        {
          code: 400,
          status: 'INVALID_ARGUMENT',
          message: `no ${SCRIPTED_KEY}`,
          details: [{ reason: 'API_KEY_INVALID' }],
        },
        502,
        'INTERNAL',
      ],
    ] as const;
    for (const [status, error, http, word] of cases) {
      upstream.respondWith((response) => response.writeHead(status).end(JSON.stringify({ error })));
      const told = await refusal(await post('gem:generateContent'));
      assert.deepEqual([told.http, told.code, told.status], [http, http, word]);
      assert.ok(!told.message.includes(SCRIPTED_KEY));
    }
    const own = [
      [await post('gem:generateContent', BODY, {}), 401, 'UNAUTHENTICATED'],
      [await post('nothing:generateContent'), 404, 'NOT_FOUND'],
      [await post('gem:predict'), 404, 'NOT_FOUND'],
      [await post('gem:streamGenerateContent'), 400, 'INVALID_ARGUMENT'],
      [await post('gem:generateContent', '{"cachedContent":"x","contents":[]}'), 400, 'INVALID_ARGUMENT'],
      [
        await post('gem:generateContent', '{"contents":[],"generationConfig":{"candidateCount":2}}'),
        400,
        'INVALID_ARGUMENT',
      ],
      [
        await post(
          'gem:generateContent',
          '{"contents":[{"parts":[{"fileData":{"fileUri":"https://a.example/files/1"}}]}]}',
        ),
        400,
        'INVALID_ARGUMENT',
      ],
      [await post('gem:generateContent', '{"contents":[],"tools":[{"fileSearch":{}}]}'), 400, 'INVALID_ARGUMENT'],
    ] as const;
    for (const [answer, status, word] of own) {
      const told = await refusal(answer);
      assert.deepEqual([told.http, told.status], [status, word], told.message);
    }
  });

  test("reads both spellings of each field for the reservation and forwards the caller's spelling unchanged", async () => {
    upstream.respondWith((response) => response.end(JSON.stringify({ candidates: [], usageMetadata: USAGE })));
    const sent = async (body: string) => {
      const answer = await post('gem:generateContent', body);
      assert.equal(answer.status, 200, await answer.text());
      return upstream.requests.at(-1)?.body;
    };
    const named = '{"contents":[],"generation_config":{"max_output_tokens":7,"thinking_config":{"thinking_budget":9}}}';
    assert.equal(await sent(named), named);
    const unlimited = '{"contents":[],"generation_config": {"seed":9223372036854775807,"temperature":0.70}}';
    assert.equal(
      await sent(unlimited),
      '{"contents":[],"generation_config": {"maxOutputTokens":4096,"seed":9223372036854775807,"temperature":0.70}}',
    );
    assert.equal(
      await sent('{"contents":[],"generationConfig":{"max_output_tokens":null,"topP":0.90}}'),
      '{"contents":[],"generationConfig":{"maxOutputTokens":4096,"topP":0.90}}',
    );
    for (const [body, told] of [
      ['{"contents":[],"generation_config":{"candidate_count":2}}', /candidateCount would make more answers/],
      ['{"contents":[],"cached_content":"x"}', /cachedContent names something stored/],
      ['{"contents":[],"generationConfig":{},"generation_config":{"maxOutputTokens":9}}', /are one field/],
      ['{"contents":[],"generation_config":{"routing_config":{"manual_mode":{"model_name":"x"}}}}', /other models/],
      ['{"contents":[],"generationConfig":{"maxOutputTokens":"x"}}', /maxOutputTokens must be an integer/],
    ] as const)
      assert.match((await refusal(await post('gem:generateContent', body))).message, told);
  });

  test('converts snake case at every depth', async () => {
    anthropic.respondWith((response) =>
      response.end(
        JSON.stringify({
          id: 'm',
          type: 'message',
          role: 'assistant',
          content: [{ type: 'text', text: 'ok' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 5, output_tokens: 5 },
        }),
      ),
    );
    const parameters = { type: 'OBJECT', properties: { snake_key: { any_of: [{ type: 'STRING' }] } } };
    const body = {
      system_instruction: { parts: { text: 'be brief' } },
      contents: [
        { parts: [{ inline_data: { mime_type: 'image/png', data: 'iVBORw0KGgo=' } }] },
        { role: 'model', parts: [{ function_call: { name: 'one', args: { snake_key: 1 } } }] },
        { parts: [{ function_response: { name: 'one', response: { output: 'fine' } } }] },
      ],
      tools: { function_declarations: { name: 'one', parameters } },
      tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['one'] } },
      generation_config: { max_output_tokens: '77', stop_sequences: ['END', ' '], top_k: '5' },
    };
    const answer = await post('claude:generateContent', JSON.stringify(body));
    assert.equal(answer.status, 200);
    const sent = JSON.parse(anthropic.requests.at(-1)?.body ?? '');
    assert.deepEqual(
      [sent.max_tokens, sent.top_k, sent.stop_sequences, sent.tool_choice, sent.system],
      [77, 5, ['END'], { type: 'tool', name: 'one' }, [{ type: 'text', text: 'be brief' }]],
    );
    assert.equal(sent.messages[0].content[0].source.media_type, 'image/png');
    assert.deepEqual(sent.messages[1].content[0].input, { snake_key: 1 });
    assert.deepEqual(sent.tools[0].input_schema.properties, { snake_key: { anyOf: [{ type: 'string' }] } });
  });

  test('D4: merges the reasoning deltas of another model into one block when they are sent back', async () => {
    anthropic.respondWith((response) =>
      response.end(
        JSON.stringify({
          id: 'm',
          type: 'message',
          role: 'assistant',
          content: [{ type: 'text', text: 'ok' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 5, output_tokens: 5 },
        }),
      ),
    );
    const turn = (...parts: object[]) => ({ role: 'model', parts });
    const contents = [
      { role: 'user', parts: [{ text: 'go' }] },
      turn({ text: 'h', thought: true }),
      turn({ text: 'm', thought: true }, { text: '', thought: true, thoughtSignature: 'reelgate-anthropic:sig' }),
      turn({ functionCall: { id: 't1', name: 'one', args: {} } }),
      { role: 'user', parts: [{ functionResponse: { id: 't1', name: 'one', response: { output: 'fine' } } }] },
    ];
    assert.equal((await post('claude:generateContent', JSON.stringify({ contents }))).status, 200);
    assert.deepEqual(JSON.parse(anthropic.requests.at(-1)?.body ?? '').messages[1].content, [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'tool_use', id: 't1', name: 'one', input: {} },
    ]);
  });

  test('sends a token limit that is given twice once, as it was reserved', async () => {
    upstream.respondWith((response) => response.end(JSON.stringify({ candidates: [], usageMetadata: USAGE })));
    const twice = '{"contents":[],"generationConfig":{"maxOutputTokens":999999,"maxOutputTokens":5}}';
    assert.equal((await post('gem:generateContent', twice)).status, 200);
    assert.equal(upstream.requests[0]?.body, '{"contents":[],"generationConfig":{"maxOutputTokens":5}}');
  });

  test('drops searches that are only listed, and reports them', async () => {
    upstream.respondWith((response) => response.end(JSON.stringify({ candidates: [], usageMetadata: USAGE })));
    const tools = [{ googleSearch: {} }, { functionDeclarations: [{ name: 'one' }] }];
    const answer = await post('gem:generateContent', JSON.stringify({ contents: [], tools }));
    assert.deepEqual([answer.status, answer.headers.get('x-reelgate-dropped')], [200, 'tools.0']);
    assert.deepEqual(JSON.parse(upstream.requests[0]?.body ?? '').tools, [tools[1]]);
  });

  test("returns another model's reasoning to it through Gemini's format, and keeps Gemini's next to its call", async () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'tool_use', id: 't1', name: 'one', input: { a: 1 } },
    ];
    const message = { id: 'm', type: 'message', role: 'assistant', content, stop_reason: 'tool_use' };
    anthropic.respondWith((response) =>
      response.end(JSON.stringify({ ...message, usage: { input_tokens: 5, output_tokens: 5 } })),
    );
    const tools = [
      {
        functionDeclarations: [{ name: 'one', parameters: { type: 'OBJECT', properties: { a: { type: 'INTEGER' } } } }],
      },
    ];
    const question = { role: 'user', parts: [{ text: 'go' }] };
    const first = await post('claude:generateContent', JSON.stringify({ contents: [question], tools }));
    const { candidates } = (await first.json()) as { candidates: { content: { parts: object[] } }[] };
    const said = candidates[0]?.content;
    assert.deepEqual(said?.parts, [
      { text: 'hm', thought: true, thoughtSignature: 'reelgate-anthropic:sig' },
      { functionCall: { id: 't1', name: 'one', args: { a: 1 } } },
    ]);
    const result = { role: 'user', parts: [{ functionResponse: { name: 'one', response: { output: 'fine' } } }] };
    await post('claude:generateContent', JSON.stringify({ contents: [question, said, result], tools }));
    const sent = JSON.parse(anthropic.requests.at(-1)?.body ?? '');
    assert.deepEqual(sent.messages[1], { role: 'assistant', content });
    assert.deepEqual(sent.messages[2].content[0], {
      type: 'tool_result',
      tool_use_id: 't1',
      content: [{ type: 'text', text: 'fine' }],
    });
    assert.deepEqual(sent.tools[0].input_schema, { type: 'object', properties: { a: { type: 'integer' } } });

    const part = { functionCall: { name: 'one', args: {} }, thoughtSignature: 'Z2Vt' };
    upstream.respondWith((response) =>
      response.end(
        JSON.stringify({ candidates: [{ content: { parts: [part] }, finishReason: 'STOP' }], usageMetadata: USAGE }),
      ),
    );
    const ask = (messages: readonly object[]) =>
      fetch(`${service.baseUrl}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': service.key, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'gem',
          max_tokens: 50,
          messages,
          tools: [{ name: 'one', input_schema: { type: 'object' } }],
        }),
      });
    const answer = (await (await ask([{ role: 'user', content: 'go' }])).json()) as {
      content: { type: string; id: string; data?: string }[];
      stop_reason: string;
      usage: { input_tokens: number; cache_read_input_tokens: number };
    };
    assert.deepEqual(
      [answer.content.map(({ type }) => type), answer.content[0]?.data, answer.stop_reason],
      [['redacted_thinking', 'tool_use'], 'reelgate-gemini:Z2Vt', 'tool_use'],
    );
    assert.deepEqual([answer.usage.input_tokens, answer.usage.cache_read_input_tokens], [100, 1_000]);
    assert.equal(await charged(), COST);
    const back = { type: 'tool_result', tool_use_id: answer.content[1]?.id, content: 'fine' };
    await ask([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: answer.content },
      { role: 'user', content: [back] },
    ]);
    const returned = JSON.parse(upstream.requests.at(-1)?.body ?? '');
    assert.equal(returned.contents[1].parts[0].thoughtSignature, 'Z2Vt');
    assert.deepEqual(returned.contents[2].parts[0].functionResponse.response, { output: 'fine' });
  });

  test('counts tokens at the upstream, free of charge', async () => {
    upstream.respondWith((response) => response.end('{"totalTokens":42}'));
    const answer = await post('gem:countTokens', '{"contents":[{"parts":[{"text":"hi"}]}]}');
    assert.deepEqual(
      [await answer.json(), answer.headers.get('x-reelgate-token-count')],
      [{ totalTokens: 42 }, 'upstream'],
    );
    assert.equal(upstream.requests[0]?.path, '/v1beta/models/gem:countTokens');
  });
});
