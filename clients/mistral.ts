import assert from 'node:assert/strict';
import { Mistral } from '@mistralai/mistralai';
import { MistralError } from '@mistralai/mistralai/models/errors';
import { API_KEY, CHAT, ORIGIN, OTHER_DIALECT_MODELS, PIXEL, WEATHER } from './service-setup.ts';

/** Mistral's own client, which validates every member of a response. */
const mistral = new Mistral({ apiKey: API_KEY, serverURL: ORIGIN, retryConfig: { strategy: 'none' } });

for (const model of [CHAT, ...OTHER_DIALECT_MODELS]) {
  const say = (content: string) => ({ model, messages: [{ role: 'user' as const, content }] });
  let text = '';
  for await (const { data } of await mistral.chat.stream(say('[chunks=4]'))) {
    const content = data.choices[0]?.delta.content;
    if (typeof content === 'string') text += content;
  }
  assert.equal(text, 'the light of day');

  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: WEATHER } }];
  const question = say('[chunks=2]');
  // Mistral calls a mandatory tool call "any". An OpenAI upstream receives the request unchanged and only knows
  // "required".
  const called = await mistral.chat.complete({ ...question, tools, toolChoice: model === CHAT ? 'required' : 'any' });
  const message = called.choices[0]?.message;
  const [call] = message?.toolCalls ?? [];
  const argumentsText = call?.function.arguments;
  assert.deepEqual(
    [
      called.choices[0]?.finishReason,
      call?.function.name,
      typeof argumentsText === 'string' && JSON.parse(argumentsText),
    ],
    ['tool_calls', 'weather', { city: 'Paris' }],
  );
  const assistant = { role: 'assistant' as const, content: '', toolCalls: message?.toolCalls };
  const result = { role: 'tool' as const, toolCallId: call?.id, name: 'weather', content: 'sunny' };
  const end = await mistral.chat.complete({ model, tools, messages: [...question.messages, assistant, result] });
  assert.equal(end.choices[0]?.message?.content, 'the light');

  const image = { type: 'image_url' as const, imageUrl: model === CHAT ? { url: PIXEL } : PIXEL };
  const seen = await mistral.chat.complete({
    model,
    messages: [{ role: 'user', content: [{ type: 'text', text: '[chunks=3]' }, image] }],
  });
  assert.equal(seen.choices[0]?.message?.content, 'the light of');
}

await assert.rejects(
  mistral.chat.complete({ model: 'absent', messages: [{ role: 'user', content: 'hi' }] }),
  (error) => error instanceof MistralError && error.statusCode === 404 && /absent/.test(error.body),
);
