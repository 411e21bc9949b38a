import assert from 'node:assert/strict';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { API_KEY, BASE_URL, CHAT, OTHER_DIALECT_MODELS, PIXEL } from './service-setup.ts';

/** Mastra's agent with a model at a custom URL. */
const weather = createTool({
  id: 'weather',
  description: 'the sky',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ sky: city === 'Paris' ? 'sunny' : 'grey' }),
});
const agentOf = (modelId: string) =>
  new Agent({
    ...{ id: 'brief', name: 'brief', instructions: 'Be brief.', maxRetries: 0 },
    model: { providerId: 'reelgate', modelId, url: BASE_URL, apiKey: API_KEY },
  });

for (const name of [CHAT, ...OTHER_DIALECT_MODELS]) {
  const agent = agentOf(name);
  let text = '';
  for await (const piece of (await agent.stream('[chunks=4]')).textStream) text += piece;
  assert.equal(text, 'the light of day');
  const loop = await agent.generate('[chunks=2]', { toolsets: { sky: { weather } } });
  assert.deepEqual([loop.text, loop.toolResults.length, loop.steps.length], ['the light', 1, 2]);
  const image = { type: 'image' as const, image: new URL(PIXEL) };
  const seen = await agent.generate([{ role: 'user', content: [{ type: 'text', text: '[chunks=3]' }, image] }]);
  assert.equal(seen.text, 'the light of');
}
await assert.rejects(agentOf('absent').generate('hi'), /absent/);
