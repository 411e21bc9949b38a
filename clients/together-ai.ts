import assert from 'node:assert/strict';
import Together from 'together-ai';
import { API_KEY, BASE_URL, CHAT, EMBEDDING, OTHER_DIALECT_MODELS, PIXEL, WEATHER } from './service-setup.ts';

/** Together AI's own client. */
const together = new Together({ apiKey: API_KEY, baseURL: BASE_URL, maxRetries: 0 });

for (const model of [CHAT, ...OTHER_DIALECT_MODELS]) {
  const say = (content: string) => ({ model, messages: [{ role: 'user' as const, content }] });
  let text = '';
  for await (const chunk of await together.chat.completions.create({ ...say('[chunks=4]'), stream: true }))
    text += chunk.choices[0]?.delta.content ?? '';
  assert.equal(text, 'the light of day');

  const tools = [{ type: 'function', function: { name: 'weather', parameters: WEATHER } }];
  const question = say('[chunks=2]');
  const called = await together.chat.completions.create({ ...question, tools, repetition_penalty: 1 });
  const calls = called.choices[0]?.message?.tool_calls ?? [];
  assert.deepEqual(
    calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]),
    [['weather', { city: 'Paris' }]],
  );
  const assistant = { role: 'assistant' as const, content: null, tool_calls: calls };
  const result = { role: 'tool' as const, tool_call_id: calls[0]?.id ?? '', content: 'sunny' };
  const end = await together.chat.completions.create({
    model,
    tools,
    messages: [...question.messages, assistant as never, result],
  });
  assert.equal(end.choices[0]?.message?.content, 'the light');

  const image = { type: 'image_url' as const, image_url: { url: PIXEL } };
  const seen = await together.chat.completions.create({
    model,
    messages: [{ role: 'user', content: [{ type: 'text', text: '[chunks=3]' }, image] }],
  });
  assert.equal(seen.choices[0]?.message?.content, 'the light of');
}

const embedding = await together.embeddings.create({ model: EMBEDDING, input: ['a', 'b'] });
assert.deepEqual(embedding.data[1]?.embedding, [0.5, -0.5, 0.25, 0.125]);
await assert.rejects(
  together.chat.completions.create({ model: 'absent', messages: [{ role: 'user', content: 'hi' }] }),
  (error) => error instanceof Together.NotFoundError && /absent/.test(error.message),
);
