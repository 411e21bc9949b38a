import assert from 'node:assert/strict';
import { OpenRouter } from '@openrouter/sdk';
import { tool } from '@openrouter/sdk/lib/tool.js';
import { z } from 'zod';
import {
  API_KEY,
  BASE_URL,
  CHAT,
  CHAT_COMPLETIONS_ONLY,
  OTHER_DIALECT_MODELS,
  PIXEL,
  WEATHER,
} from './service-setup.ts';

/**
 * OpenRouter's own client, which validates every member of a response; `callModel` is its agent on top of Responses.
 */
const router = new OpenRouter({ apiKey: API_KEY, serverURL: BASE_URL, retryConfig: { strategy: 'none' } });

for (const model of [CHAT, ...OTHER_DIALECT_MODELS]) {
  const say = (content: string) => ({ model, messages: [{ role: 'user' as const, content }] });
  let text = '';
  const stream = await router.chat.send({ chatRequest: { ...say('[chunks=4]'), stream: true } });
  assert.ok(Symbol.asyncIterator in stream);
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  assert.equal(text, 'the light of day');

  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: WEATHER } }];
  const question = say('[chunks=2]');
  const called = await router.chat.send({ chatRequest: { ...question, tools, reasoning: { effort: 'low' } } });
  assert.ok('choices' in called);
  const message = called.choices[0]?.message;
  const [call] = message?.toolCalls ?? [];
  assert.deepEqual([call?.function.name, JSON.parse(call?.function.arguments ?? '')], ['weather', { city: 'Paris' }]);
  const assistant = { role: 'assistant' as const, content: null, toolCalls: message?.toolCalls };
  const result = { role: 'tool' as const, toolCallId: call?.id ?? '', content: 'sunny' };
  const messages = [...question.messages, assistant, result];
  const end = await router.chat.send({ chatRequest: { model, tools, messages } });
  assert.ok('choices' in end);
  assert.equal(end.choices[0]?.message.content, 'the light');

  const image = { type: 'image_url' as const, imageUrl: { url: PIXEL } };
  const content = [{ type: 'text' as const, text: '[chunks=3]' }, image];
  const seen = await router.chat.send({ chatRequest: { model, messages: [{ role: 'user', content }] } });
  assert.ok('choices' in seen);
  assert.equal(seen.choices[0]?.message.content, 'the light of');
}

for (const model of [CHAT, CHAT_COMPLETIONS_ONLY, ...OTHER_DIALECT_MODELS]) {
  const weather = tool({
    name: 'weather',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => ({ city, sky: 'sunny' }),
  });
  const agent = router.callModel({ model, input: '[chunks=2]', tools: [weather] });
  assert.equal(await agent.getText(), 'the light', model);
  let streamed = '';
  for await (const delta of router.callModel({ model, input: '[chunks=4]' }).getTextStream()) streamed += delta;
  assert.equal(streamed, 'the light of day');
}

await assert.rejects(
  router.chat.send({ chatRequest: { model: 'absent', messages: [{ role: 'user', content: 'hi' }] } }),
  // The client's error schema requires a numeric code, so the text is only in `body`.
  (error: { body?: string }) => /There is no model absent here/.test(String(error.body)),
);
