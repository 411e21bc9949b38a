import assert from 'node:assert/strict';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import { generateText, stepCountIs, streamText } from 'ai';
import { API_KEY, BASE_URL, CHAT, OTHER_DIALECT_MODELS, PIXEL } from './service-setup.ts';
import { weatherTool } from './weather-tool.ts';

/** OpenRouter's provider for the Vercel AI SDK, with its own options `reasoning` and `usage`. */
const asked: unknown[] = [];
const weather = weatherTool(asked);
const openrouter = createOpenRouter({ apiKey: API_KEY, baseURL: BASE_URL, compatibility: 'compatible' });

for (const name of [CHAT, ...OTHER_DIALECT_MODELS]) {
  const model = openrouter.chat(name, { reasoning: { effort: 'low' }, usage: { include: true } });
  const settings = { model, maxRetries: 0 };
  const { textStream } = streamText({ ...settings, prompt: '[chunks=4]' });
  let text = '';
  for await (const piece of textStream) text += piece;
  assert.equal(text, 'the light of day');
  const loop = await generateText({ ...settings, prompt: '[chunks=2]', tools: { weather }, stopWhen: stepCountIs(3) });
  assert.deepEqual([loop.text, loop.steps.length], ['the light', 2]);
  const image = { type: 'image' as const, image: new URL(PIXEL) };
  const content = [{ type: 'text' as const, text: '[chunks=3]' }, image];
  const seen = await generateText({ ...settings, messages: [{ role: 'user', content }] });
  assert.equal(seen.text, 'the light of');
}
assert.deepEqual(asked, Array(3).fill({ city: 'Paris' }));
await assert.rejects(generateText({ model: openrouter.chat('absent'), maxRetries: 0, prompt: 'hi' }), /absent/);
