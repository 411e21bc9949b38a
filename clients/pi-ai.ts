import assert from 'node:assert/strict';
import { type Api, type Context, complete, type Model, stream, Type } from '@mariozechner/pi-ai';
import { API_KEY, BASE_URL, CHAT, ORIGIN, OTHER_DIALECT_MODELS, PIXEL } from './service-setup.ts';

/** pi-ai, with each of its four APIs for a model at a custom URL. */
const APIS: readonly (readonly [api: Api, baseUrl: string])[] = [
  ['openai-completions', BASE_URL],
  ['openai-responses', BASE_URL],
  ['anthropic-messages', ORIGIN],
  ['google-generative-ai', `${ORIGIN}/v1beta`],
];
const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const options = { apiKey: API_KEY, maxRetries: 0 };
const textOf = (content: readonly { type: string; text?: string }[]) =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('');
const user = (content: Context['messages'][number]['content']) =>
  ({ role: 'user', content, timestamp: Date.now() }) as Context['messages'][number];

for (const [api, baseUrl] of APIS) {
  const modelOf = (id: string): Model<Api> => ({
    ...{ id, name: id, api, baseUrl, provider: 'reelgate', reasoning: false, input: ['text', 'image'] },
    ...{ cost, contextWindow: 100_000, maxTokens: 4_096 },
  });
  for (const name of [CHAT, ...OTHER_DIALECT_MODELS]) {
    const model = modelOf(name);
    let text = '';
    for await (const event of stream(model, { messages: [user('[chunks=4]')] }, options))
      if (event.type === 'text_delta') text += event.delta;
    assert.equal(text, 'the light of day', `${api} ${name}`);

    const tool = { name: 'weather', description: 'the sky', parameters: Type.Object({ city: Type.String() }) };
    const context: Context = { systemPrompt: 'Be brief.', messages: [user('[chunks=2]')], tools: [tool] };
    const called = await complete(model, context, options);
    const call = called.content.find(({ type }) => type === 'toolCall');
    assert.ok(call?.type === 'toolCall' && called.stopReason === 'toolUse', `${api} ${name}: ${called.errorMessage}`);
    assert.deepEqual([call.name, call.arguments], ['weather', { city: 'Paris' }]);
    const sunny = [{ type: 'text' as const, text: 'sunny' }];
    const head = { role: 'toolResult' as const, toolCallId: call.id, toolName: 'weather', content: sunny };
    context.messages.push(called, { ...head, isError: false, timestamp: Date.now() });
    const end = await complete(model, context, options);
    assert.equal(textOf(end.content), 'the light', `${api} ${name}: ${end.errorMessage}`);

    const [mimeType = '', data = ''] = PIXEL.slice('data:'.length).split(';base64,');
    const image = user([
      { type: 'text', text: '[chunks=3]' },
      { type: 'image', mimeType, data },
    ]);
    const seen = await complete(model, { messages: [image] }, options);
    assert.equal(textOf(seen.content), 'the light of', `${api} ${name}: ${seen.errorMessage}`);
  }
  const refused = await complete(modelOf('absent'), { messages: [user('hi')] }, options);
  assert.equal(refused.stopReason, 'error');
  assert.match(String(refused.errorMessage), /absent/, api);
}
