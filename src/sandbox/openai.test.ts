import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { openaiSimulator } from './openai.ts';
import { type Sandbox, startSandbox } from './sandbox.ts';

/** Tests the simulator with OpenAI's own client, without the service in between. */
let sandbox: Sandbox;
let openai: OpenAI;
before(async () => {
  sandbox = await startSandbox({ simulators: [openaiSimulator] });
  const apiKey = String(sandbox.credentials('openai').api_key);
  openai = new OpenAI({ apiKey, baseURL: `${sandbox.url('openai')}/v1`, maxRetries: 0 });
});
after(() => sandbox.stop());

const WEATHER = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weatherTool = { type: 'function', name: 'weather', parameters: WEATHER, strict: false } as const;

test('responses: a stream contains every event of a message, in order', async () => {
  const types: string[] = [];
  const stream = await openai.responses.create({ model: 'sandbox-chat', input: '[chunks=2]', stream: true });
  for await (const event of stream) {
    assert.equal(event.sequence_number, types.length);
    types.push(event.type);
  }
  assert.deepEqual(types, [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
});

test("responses: the client's stream helper reassembles the response", async () => {
  const stream = openai.responses.stream({ model: 'sandbox-chat', input: '[chunks=3]' });
  assert.equal((await stream.finalResponse()).output_text, 'the light of');
});

test('responses: calls the first tool offered, streamed or not, and ends the turn after its result', async () => {
  const request = { model: 'sandbox-chat', input: 'weather?', tools: [weatherTool] };
  const whole = await openai.responses.create(request);
  const streamed = await openai.responses.stream(request).finalResponse();
  for (const { output } of [whole, streamed]) {
    const [item] = output;
    assert.ok(item?.type === 'function_call');
    assert.deepEqual([item.name, JSON.parse(item.arguments)], ['weather', { city: 'Paris' }]);
  }
  const [call] = whole.output;
  assert.ok(call?.type === 'function_call');
  const result = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' } as const;
  const end = await openai.responses.create({
    ...request,
    input: [{ role: 'user', content: '[chunks=1]' }, call, result],
  });
  assert.equal(end.output_text, 'the');
});

test('responses: max_output_tokens cuts the text and is reported', async () => {
  const { status, incomplete_details, output_text } = await openai.responses.create({
    model: 'sandbox-chat',
    input: '[chunks=5]',
    max_output_tokens: 2,
  });
  assert.deepEqual([status, incomplete_details?.reason, output_text], ['incomplete', 'max_output_tokens', 'the light']);
});

test('structured output matches its schema', async () => {
  const format = { type: 'json_schema', name: 'weather', schema: WEATHER } as const;
  const response = await openai.responses.create({ model: 'sandbox-chat', input: 'x', text: { format } });
  assert.deepEqual(JSON.parse(response.output_text), { city: 'Paris' });
  const chat = await openai.chat.completions.create({
    model: 'sandbox-chat',
    messages: [{ role: 'user', content: 'x' }],
    response_format: { type: 'json_schema', json_schema: { name: 'weather', schema: WEATHER } },
  });
  assert.deepEqual(JSON.parse(chat.choices[0]?.message.content ?? ''), { city: 'Paris' });
});

test('chat: tool_choice selects a function or forbids calls', async () => {
  const tool = (name: string) => ({ type: 'function', function: { name, parameters: WEATHER } }) as const;
  const ask = async (tool_choice: OpenAI.ChatCompletionToolChoiceOption) => {
    const { choices } = await openai.chat.completions.create({
      model: 'sandbox-chat',
      messages: [{ role: 'user', content: '[chunks=1]' }],
      tools: [tool('first'), tool('second')],
      tool_choice,
    });
    const [call] = choices[0]?.message.tool_calls ?? [];
    return call?.type === 'function' ? call.function.name : choices[0]?.message.content;
  };
  assert.equal(await ask({ type: 'function', function: { name: 'second' } }), 'second');
  assert.equal(await ask('auto'), 'first');
  assert.equal(await ask('none'), 'the');
});

test("embeddings: Base64, the client's default format, contains the same vector", async () => {
  const request = { model: 'sandbox-embedding', input: ['a', 'b'] };
  const [byDefault, floats] = await Promise.all([
    openai.embeddings.create(request),
    openai.embeddings.create({ ...request, encoding_format: 'float' }),
  ]);
  assert.deepEqual(byDefault.data, floats.data);
  assert.deepEqual(floats.data[0]?.embedding, [0.5, -0.5, 0.25, 0.125]);
  const raw = await openai.embeddings.create({
    ...request,
    input: [1, 2, 3],
    dimensions: 8,
    encoding_format: 'base64',
  });
  assert.equal(raw.data.length, 1, 'a list of tokens is one input');
  assert.equal(Buffer.from(raw.data[0]?.embedding as unknown as string, 'base64').length, 8 * 4);
});

test('sends every member OpenAI always sends and the current time, and rejects empty inputs', async () => {
  const tools = [{ type: 'function' as const, function: { name: 'weather' } }];
  const messages = [{ role: 'user' as const, content: 'hi' }];
  const chat = await openai.chat.completions.create({ model: 'sandbox-chat', messages, tools });
  assert.ok(Math.abs(chat.created - Date.now() / 1_000) < 600);
  assert.equal(chat.choices[0]?.message.refusal, null);
  assert.deepEqual(chat.usage?.prompt_tokens_details, { cached_tokens: 0, cache_write_tokens: 0 });
  const response = await openai.responses.create({ model: 'sandbox-chat', input: 'hi' });
  for (const name of ['background', 'frequency_penalty', 'max_tool_calls', 'presence_penalty'])
    assert.ok(name in response, name);
  assert.equal(typeof response.completed_at, 'number');
  for (const input of ['', [], ['a', '']])
    await assert.rejects(openai.embeddings.create({ model: 'sandbox-embedding', input }), OpenAI.BadRequestError);
});

test('images: a URL by default, Base64 on request', async () => {
  const request = { model: 'sandbox-image', prompt: 'a heron', n: 2 };
  const byUrl = await openai.images.generate(request);
  assert.match(byUrl.data?.[1]?.url ?? '', /^http/);
  const inline = await openai.images.generate({ ...request, response_format: 'b64_json' });
  assert.equal(Buffer.from(inline.data?.[1]?.b64_json ?? '', 'base64').toString('latin1', 1, 4), 'PNG');
});

test('rejects what OpenAI would reject, in chat and in responses', async () => {
  const model = 'sandbox-chat';
  const say = (content: string) => ({ role: 'user', content }) as const;
  const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } } as const;
  const asked: OpenAI.ChatCompletionMessageParam = { role: 'assistant', content: null, tool_calls: [call] };
  const result: OpenAI.ChatCompletionMessageParam = { role: 'tool', tool_call_id: 'call_1', content: 'sunny' };
  const refusedChats: readonly (readonly [Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>, RegExp])[] = [
    [{ temperature: 3 }, /temperature/],
    [{ stop: ['a', 'b', 'c', 'd', 'e'] }, /stop/],
    [{ tools: [{ type: 'function', function: { name: 'a b' } }] }, /name/],
    [{ tool_choice: 'required' }, /only allowed with 'tools'/],
    [{ stream_options: { include_usage: true } }, /stream_options/],
    [{ messages: [{ role: 'robot', content: 'x' } as never] }, /role/],
    [{ messages: [{ role: 'user', content: [{ type: 'picture' }] } as never] }, /picture/],
    [{ messages: [say('x'), result] }, /must respond to a preceding message/],
    [{ messages: [say('x'), asked, say('y')] }, /must be followed by tool messages/],
    [{ messages: [say('x'), asked] }, /must be followed by tool messages/],
  ];
  for (const [wrong, expected] of refusedChats)
    await assert.rejects(
      openai.chat.completions.create({ model, messages: [say('[chunks=1]')], ...wrong }),
      { status: 400, message: expected },
      JSON.stringify(wrong),
    );
  const complete = await openai.chat.completions.create({ model, messages: [say('[chunks=1]'), asked, result] });
  assert.equal(complete.choices[0]?.finish_reason, 'stop');
  const orphan = { type: 'function_call_output', call_id: 'call_2', output: 'sunny' } as const;
  await assert.rejects(openai.responses.create({ model, input: [say('x'), orphan] }), /No tool call found/);
});

test('chat: writes the prompt of a video it is asked for, in the language of the request', async () => {
  const ask = async (messages: OpenAI.ChatCompletionMessageParam[]) =>
    (await openai.chat.completions.create({ model: 'sandbox-chat', messages })).choices[0]?.message.content;
  const system = { role: 'system', content: 'Rewrite the text as a prompt for a video model.' } as const;
  assert.match((await ask([system, { role: 'user', content: 'a boat at sea' }])) ?? '', /^a boat at sea, .*light/);
  assert.match((await ask([system, { role: 'user', content: '海上的船' }])) ?? '', /^海上的船，.*晨光/);
  const plain = [{ role: 'user', content: 'Write a prompt for a video of a lighthouse.' }] as const;
  assert.match((await ask([...plain])) ?? '', /^a lighthouse, /);
  assert.match((await ask([{ role: 'user', content: '3 ideas for a short film' }])) ?? '', /^1\. .*\n2\. .*\n3\. /);
});

test('chat and responses: follow plain instructions about the format, exact words and images', async () => {
  const ask = async (content: string | OpenAI.ChatCompletionContentPart[]): Promise<string | null | undefined> =>
    (await openai.chat.completions.create({ model: 'sandbox-chat', messages: [{ role: 'user', content }] })).choices[0]
      ?.message.content;
  const image = { type: 'image_url', image_url: { url: 'https://example.com/image.png' } } as const;
  assert.equal(await ask('Reply with exactly one word: yes'), 'yes');
  assert.equal(await ask('Say "good morning".'), 'good morning');
  assert.deepEqual(JSON.parse((await ask('Name a film. Reply in JSON with the keys title and year.')) ?? ''), {
    title: 'text',
    year: 'text',
  });
  assert.equal(await ask('Write 2 bullet points about rain'), '- rain, point 1\n- rain, point 2');
  assert.match((await ask([{ type: 'text', text: 'What is in these?' }, image, image])) ?? '', /^Received 2 images\./);
  assert.match((await ask([{ type: 'text', text: '图里有什么？' }, image])) ?? '', /^收到 1 张图片/);
  const response = await openai.responses.create({ model: 'sandbox-chat', input: 'Answer only: 42' });
  assert.equal(response.output_text, '42');
  assert.match((await ask('Hello')) ?? '', /^the light of day/);
});
