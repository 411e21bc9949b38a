import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { APICallError, embedMany, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import OpenAI, { APIError } from 'openai';
import { type ChatService, startChat } from './chat-fixture.ts';

/** The two most widely used client libraries, in ordinary use. */
let service: ChatService;
let openai: OpenAI;
before(async () => {
  service = await startChat('sqlite::memory:');
  openai = new OpenAI({ apiKey: service.key, baseURL: `${service.baseUrl}/v1`, maxRetries: 0 });
});
after(() => service.stop());

const said = (content: string) => ({ model: 'sandbox-chat', messages: [{ role: 'user' as const, content }] });
const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const;

test('openai: complete and streamed answers, models, embeddings, responses', async () => {
  const whole = await openai.chat.completions.create(said('[chunks=3]'));
  assert.equal(whole.choices[0]?.message.content, 'the light of');
  assert.equal(whole.usage?.completion_tokens, 3);
  let text = '';
  for await (const chunk of await openai.chat.completions.create({ ...said('[chunks=4]'), stream: true }))
    text += chunk.choices[0]?.delta.content ?? '';
  assert.equal(text, 'the light of day');
  const listed = (await openai.models.list()).data.find(({ id }) => id === 'sandbox-chat');
  assert.ok(listed !== undefined);
  const vectors = await openai.embeddings.create({
    model: 'sandbox-embedding',
    input: ['a', 'b'],
    encoding_format: 'float',
  });
  assert.equal(vectors.data.length, 2);
  assert.deepEqual(await openai.models.retrieve('sandbox-chat'), listed);
  await assert.rejects(openai.models.retrieve('no-such-model'), { status: 404, code: 'model_not_found' });
  const response = await openai.responses.create({ model: 'sandbox-chat', input: '[chunks=2]' });
  assert.equal(response.output_text, 'the light');
  let heard = '';
  for await (const event of await openai.responses.create({ model: 'sandbox-chat', input: '[chunks=3]', stream: true }))
    if (event.type === 'response.output_text.delta') heard += event.delta;
  assert.equal(heard, 'the light of');
});

test('openai: streamed tool calls', async () => {
  const stream = openai.chat.completions.stream({
    ...said('weather?'),
    tools: [{ type: 'function', function: { name: 'weather', parameters: WEATHER } }],
  });
  const [choice] = (await stream.finalChatCompletion()).choices;
  const [call] = choice?.message.tool_calls ?? [];
  assert.equal(call?.type === 'function' && call.function.name, 'weather');
  assert.deepEqual(call?.type === 'function' && JSON.parse(call.function.arguments), { city: 'Paris' });
});

test('openai: errors by class, code and reason', async () => {
  const failure = async (work: () => Promise<unknown>): Promise<APIError> => {
    try {
      await work();
    } catch (error) {
      if (error instanceof APIError) return error;
      throw error;
    }
    throw new Error('it did not fail');
  };
  const unauthorized = new OpenAI({ apiKey: 'sk-wrong', baseURL: `${service.baseUrl}/v1`, maxRetries: 0 });
  const unknown = await failure(() => unauthorized.chat.completions.create(said('x')));
  assert.deepEqual([unknown.status, unknown.code], [401, 'invalid_api_key']);
  const missing = await failure(() => openai.chat.completions.create({ ...said('x'), model: 'gpt-none' }));
  assert.deepEqual([missing.status, missing.code, missing.param], [404, 'model_not_found', 'model']);
  assert.match(missing.message, /gpt-none/);
  const poor = await failure(() => openai.chat.completions.create({ ...said('x'), max_tokens: 90_000_000 }));
  assert.deepEqual([poor.status, poor.code], [403, 'quota_not_enough']);
  service.sandbox.control.fault({ vendor: 'openai', kind: 'rate', retryAfter: '7' });
  const fast = await failure(() => openai.chat.completions.create(said('x')));
  assert.deepEqual([fast.status, fast.code, fast.headers?.get('retry-after')], [429, 'rate_limit_exceeded', '7']);
  const cut = await failure(async () => {
    for await (const _ of await openai.chat.completions.create({ ...said('[chunks=9] [cut=4]'), stream: true }));
  });
  assert.equal(cut.code, 'answer_broken_off');
  assert.match(cut.message, /ended its response too early/);
});

test('openai: images as base64, and from a model that returns links', async () => {
  const { data } = await openai.images.generate({ model: 'sandbox-image', prompt: 'a heron', n: 2 });
  assert.equal(data?.length, 2);
  await service.addChannel('jimeng', ['jimeng_t2i_v31']);
  const content = 'a heron on a jetty';
  const messages = [{ role: 'user' as const, content }];
  const whole = await openai.chat.completions.create({ model: 'jimeng_t2i_v31', messages });
  assert.match(whole.choices[0]?.message.content ?? '', /^!\[image\]\(http/);
  let link = '';
  for await (const chunk of await openai.chat.completions.create({ model: 'jimeng_t2i_v31', messages, stream: true }))
    link += chunk.choices[0]?.delta.content ?? '';
  assert.match(link, /^!\[image\]\(http/);
  const one = await openai.images.generate({ model: 'jimeng_t2i_v31', prompt: content });
  assert.match(one.data?.[0]?.url ?? '', /^http/);
  await assert.rejects(
    openai.images.generate({ model: 'jimeng_t2i_v31', prompt: content, n: 2 }),
    (error) => error instanceof APIError && error.status === 400 && error.param === 'n',
  );
});

test('openai: an interrupted responses stream reports the reason', async () => {
  const events: string[] = [];
  const listen = async () => {
    const stream = await openai.responses.create({ model: 'sandbox-chat', input: '[chunks=9] [cut=3]', stream: true });
    for await (const event of stream) events.push(event.type === 'error' ? event.message : event.type);
  };
  const failed = await listen().then(
    () => '',
    (error: unknown) => String(error),
  );
  assert.match(`${failed} ${events.at(-1)}`, /ended its response too early/);
  const [end] = await service.waitUntilSettled();
  assert.ok(end?.kind === 'settle' && end.charged >= 12, JSON.stringify(end));
});

test('openai: an abort stops the upstream and charges the delivered part', async () => {
  const stream = await openai.chat.completions.create({ ...said('[chunks=500] [delay=5]'), stream: true });
  let words = 0;
  for await (const _ of stream) if (++words === 20) break;
  const [end] = await service.waitUntilSettled();
  assert.equal(end?.kind, 'settle');
  assert.ok((end?.charged ?? 0) >= 19 * 4, `${end?.charged}`);
  assert.ok((end?.charged ?? 0) < 200 * 4, `${end?.charged}`);
});

test('ai sdk: streamed tools and responses, and embeddings', async () => {
  const provider = createOpenAI({ apiKey: service.key, baseURL: `${service.baseUrl}/v1` });
  const asked: unknown[] = [];
  const weather = tool({
    inputSchema: jsonSchema<{ city: string }>(WEATHER),
    execute: async (input) => {
      asked.push(input);
      return 'sunny';
    },
  });
  const told = streamText({
    model: provider.chat('sandbox-chat'),
    prompt: '[chunks=2]',
    tools: { weather },
    stopWhen: stepCountIs(3),
  });
  let text = '';
  for await (const piece of told.textStream) text += piece;
  assert.deepEqual([asked, text], [[{ city: 'Paris' }], 'the light']);
  const response = streamText({ model: provider.responses('sandbox-chat'), prompt: '[chunks=3]' });
  let said = '';
  for await (const piece of response.textStream) said += piece;
  assert.equal(said, 'the light of');
  const { embeddings } = await embedMany({ model: provider.embedding('sandbox-embedding'), values: ['a', 'b', 'c'] });
  assert.equal(embeddings.length, 3);
});

test('ai sdk: text, streams, tools, errors, abort', async () => {
  const provider = createOpenAI({ apiKey: service.key, baseURL: `${service.baseUrl}/v1` });
  const chat = provider.chat('sandbox-chat');
  const whole = await generateText({ model: chat, prompt: '[chunks=3]' });
  assert.deepEqual([whole.text, whole.usage.outputTokens], ['the light of', 3]);
  const streamed = streamText({ model: chat, prompt: '[chunks=5]' });
  let text = '';
  for await (const piece of streamed.textStream) text += piece;
  assert.equal(text, 'the light of day and');
  assert.equal((await streamed.usage).outputTokens, 5);
  const responses = await generateText({ model: provider.responses('sandbox-chat'), prompt: '[chunks=2]' });
  assert.equal(responses.text, 'the light');

  const asked: unknown[] = [];
  const weather = tool({
    description: 'the weather of a city',
    inputSchema: jsonSchema<{ city: string }>(WEATHER),
    execute: async (input) => {
      asked.push(input);
      return 'sunny';
    },
  });
  const told = await generateText({ model: chat, prompt: '[chunks=2]', tools: { weather }, stopWhen: stepCountIs(3) });
  assert.deepEqual([asked, told.text], [[{ city: 'Paris' }], 'the light']);

  await assert.rejects(
    generateText({ model: provider.chat('gpt-none'), prompt: 'x', maxRetries: 0 }),
    (error) => APICallError.isInstance(error) && error.statusCode === 404 && /gpt-none/.test(error.message),
  );
  const errors: unknown[] = [];
  const cut = streamText({
    model: chat,
    prompt: '[chunks=9] [cut=4]',
    onError: ({ error }) => void errors.push(error),
  });
  await cut.consumeStream();
  assert.match(JSON.stringify(errors), /ended its response too early|upstream_error/);

  const controller = new AbortController();
  const aborted = streamText({ model: chat, prompt: '[chunks=500] [delay=5]', abortSignal: controller.signal });
  let pieces = 0;
  for await (const _ of aborted.textStream) if (++pieces === 10) controller.abort();
  const [end] = await service.waitUntilSettled();
  assert.ok(end?.kind === 'settle' && end.charged >= 36 && end.charged < 800, JSON.stringify(end));
});
