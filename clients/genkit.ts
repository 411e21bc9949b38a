import assert from 'node:assert/strict';
import { openAICompatible } from '@genkit-ai/compat-oai';
import { genkit, z } from 'genkit';
import { API_KEY, BASE_URL, CHAT, OTHER_DIALECT_MODELS, PIXEL } from './service-setup.ts';

/** Google's Genkit with its plugin for OpenAI's dialect. */
const ai = genkit({ plugins: [openAICompatible({ name: 'reelgate', apiKey: API_KEY, baseURL: BASE_URL })] });
const weather = ai.defineTool(
  { name: 'weather', description: 'the sky', inputSchema: z.object({ city: z.string() }), outputSchema: z.string() },
  async ({ city }) => (city === 'Paris' ? 'sunny' : 'grey'),
);

for (const name of [CHAT, ...OTHER_DIALECT_MODELS]) {
  const model = `reelgate/${name}`;
  const { stream, response } = ai.generateStream({ model, prompt: '[chunks=4]' });
  let text = '';
  for await (const chunk of stream) text += chunk.text;
  assert.deepEqual([text, (await response).text], ['the light of day', 'the light of day']);
  const loop = await ai.generate({ model, system: 'Be brief.', prompt: '[chunks=2]', tools: [weather] });
  assert.equal(loop.text, 'the light');
  assert.ok(loop.messages.some(({ role }) => role === 'tool'));
  const seen = await ai.generate({ model, prompt: [{ text: '[chunks=3]' }, { media: { url: PIXEL } }] });
  assert.equal(seen.text, 'the light of');
}
await assert.rejects(ai.generate({ model: 'reelgate/absent', prompt: 'hi' }), /absent/);
