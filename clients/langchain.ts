import assert from 'node:assert/strict';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { API_KEY, BASE_URL, CHAT, EMBEDDING, WEATHER } from './service-setup.ts';

/** LangChain in OpenAI's dialect. */
const configuration = { baseURL: BASE_URL };
const llm = new ChatOpenAI({ model: CHAT, apiKey: API_KEY, configuration, maxRetries: 0 });

assert.equal((await llm.invoke('[chunks=3]')).content, 'the light of');
let text = '';
for await (const chunk of await llm.stream('[chunks=4]')) text += chunk.text;
assert.equal(text, 'the light of day');
const withTools = llm.bindTools([{ type: 'function', function: { name: 'weather', parameters: WEATHER } }]);
const [call] = (await withTools.invoke('weather?')).tool_calls ?? [];
assert.deepEqual([call?.name, call?.args], ['weather', { city: 'Paris' }]);
const structured = llm.withStructuredOutput({ title: 'weather', ...WEATHER });
assert.deepEqual(await structured.invoke('weather?'), { city: 'Paris' });
const embeddings = new OpenAIEmbeddings({ model: EMBEDDING, apiKey: API_KEY, configuration, maxRetries: 0 });
assert.deepEqual(await embeddings.embedDocuments(['a', 'b']), [
  [0.5, -0.5, 0.25, 0.125],
  [0.5, -0.5, 0.25, 0.125],
]);
