import assert from 'node:assert/strict';
import { OpenAI, OpenAIEmbedding } from '@llamaindex/openai';
import { API_KEY, BASE_URL, CHAT, EMBEDDING } from './service-setup.ts';

/** LlamaIndex in OpenAI's dialect. */
const llm = new OpenAI({ model: CHAT, apiKey: API_KEY, baseURL: BASE_URL, maxRetries: 0 });
const whole = await llm.chat({ messages: [{ role: 'user', content: '[chunks=3]' }] });
assert.equal(whole.message.content, 'the light of');
let text = '';
for await (const chunk of await llm.chat({ messages: [{ role: 'user', content: '[chunks=4]' }], stream: true }))
  text += chunk.delta;
assert.equal(text, 'the light of day');
const embedding = new OpenAIEmbedding({ model: EMBEDDING, apiKey: API_KEY, baseURL: BASE_URL });
assert.deepEqual(await embedding.getTextEmbedding('a'), [0.5, -0.5, 0.25, 0.125]);
