import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { API_KEY, BASE_URL, OTHER_DIALECT_MODELS, WEATHER } from './service-setup.ts';

/** OpenAI's own client over upstreams that speak other dialects. */
const openai = new OpenAI({ apiKey: API_KEY, baseURL: BASE_URL, maxRetries: 0 });

for (const model of OTHER_DIALECT_MODELS) {
  const say = (content: string) => ({
    model,
    messages: [
      { role: 'system' as const, content: 'Be brief.' },
      { role: 'user' as const, content },
    ],
  });
  const whole = await openai.chat.completions.create(say('[chunks=3]'));
  assert.deepEqual(
    [whole.choices[0]?.message.content, whole.choices[0]?.finish_reason, whole.usage?.completion_tokens],
    ['the light of', 'stop', 3],
  );

  let text = '';
  const request = { ...say('[chunks=4]'), stream: true as const, stream_options: { include_usage: true } };
  let tokens = 0;
  for await (const chunk of await openai.chat.completions.create(request)) {
    text += chunk.choices[0]?.delta.content ?? '';
    tokens = chunk.usage?.completion_tokens ?? tokens;
  }
  assert.deepEqual([text, tokens], ['the light of day', 4]);

  const tools = ['weather', 'forecast'].map((name) => ({
    type: 'function' as const,
    function: { name, parameters: WEATHER },
  }));
  const question = say('[tools=2] [chunks=2]');
  const called = await openai.chat.completions.stream({ ...question, tools }).finalChatCompletion();
  const [choice] = called.choices;
  assert.equal(choice?.finish_reason, 'tool_calls');
  const calls = choice?.message.tool_calls ?? [];
  assert.deepEqual(
    calls.map((call) => call.type === 'function' && [call.function.name, JSON.parse(call.function.arguments)]),
    [
      ['weather', { city: 'Paris' }],
      ['forecast', { city: 'Paris' }],
    ],
  );
  const results = calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'sunny' }));
  const assistant = { role: 'assistant' as const, content: null, tool_calls: calls as never };
  const messages = [...question.messages, assistant, ...results];
  const end = await openai.chat.completions.create({ model, messages, tools });
  assert.equal(end.choices[0]?.message.content, 'the light');

  const json_schema = { name: 'weather', schema: WEATHER, strict: true };
  const structured = await openai.chat.completions.create({
    ...say('weather?'),
    response_format: { type: 'json_schema', json_schema },
  });
  assert.deepEqual(JSON.parse(structured.choices[0]?.message.content ?? ''), { city: 'Paris' });

  const cut = await openai.chat.completions.create({ ...say('[chunks=5]'), max_tokens: 2 });
  assert.equal(cut.choices[0]?.finish_reason, 'length');
}
