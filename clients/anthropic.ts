import assert from 'node:assert/strict';
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { ALL_MODELS, API_KEY, ORIGIN, WEATHER } from './service-setup.ts';

/** Anthropic's own client, over each kind of upstream. */
const client = new Anthropic({ apiKey: API_KEY, baseURL: ORIGIN, maxRetries: 0 });

for (const model of ALL_MODELS) {
  const say = (content: string) => ({ model, max_tokens: 2_000, messages: [{ role: 'user' as const, content }] });

  const whole = await client.messages.create(say('[chunks=3]'));
  const [block] = whole.content;
  assert.deepEqual([block?.type === 'text' && block.text, whole.stop_reason], ['the light of', 'end_turn']);
  assert.deepEqual([whole.usage.output_tokens, typeof whole._request_id], [3, 'string']);

  const streamed = client.messages.stream(say('[chunks=4]'));
  assert.equal(await streamed.finalText(), 'the light of day');
  assert.equal((await streamed.finalMessage()).usage.output_tokens, 4);

  // A tool loop: two parallel calls, their results, the final answer.
  const tools = ['weather', 'forecast'].map((name) => ({ name, input_schema: WEATHER }));
  const called = await client.messages.stream({ ...say('[tools=2] [chunks=2]'), tools }).finalMessage();
  assert.equal(called.stop_reason, 'tool_use');
  const calls = called.content.filter((each) => each.type === 'tool_use');
  assert.deepEqual(
    calls.map(({ name, input }) => [name, input]),
    [
      ['weather', { city: 'Paris' }],
      ['forecast', { city: 'Paris' }],
    ],
  );
  const results = calls.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'sunny' }));
  const messages = [
    ...say('[tools=2] [chunks=2]').messages,
    { role: 'assistant' as const, content: called.content },
    { role: 'user' as const, content: results },
  ];
  const end = await client.messages.create({ ...say(''), messages, tools });
  assert.deepEqual(end.content[0]?.type === 'text' && end.content[0].text, 'the light');

  assert.ok((await client.messages.countTokens({ model, messages: say('hello').messages })).input_tokens > 0);
  const cut = await client.messages.create({ ...say('[chunks=5]'), max_tokens: 2 });
  assert.equal(cut.stop_reason, 'max_tokens');
}

const thinking = { type: 'enabled' as const, budget_tokens: 1_024 };
const thought = await client.messages
  .stream({ model: 'sandbox-claude', max_tokens: 2_000, thinking, messages: [{ role: 'user', content: '[chunks=1]' }] })
  .finalMessage();
assert.deepEqual(
  thought.content.map(({ type }) => type),
  ['thinking', 'text'],
);

await assert.rejects(
  client.messages.create({ model: 'no-such-model', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] }),
  (error) => error instanceof APIError && error.status === 404 && error.type === 'not_found_error',
);

const listed: string[] = [];
for await (const { id } of client.models.list({ limit: 2 })) listed.push(id);
assert.ok(listed.includes('sandbox-claude') && listed.length > 2);
assert.equal((await client.models.retrieve('sandbox-claude')).type, 'model');
