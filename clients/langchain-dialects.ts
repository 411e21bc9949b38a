import assert from 'node:assert/strict';
import { ChatAnthropic } from '@langchain/anthropic';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';
import { ALL_MODELS, API_KEY, ORIGIN, WEATHER } from './service-setup.ts';

/** LangChain in Anthropic's and Google's dialects, over each kind of upstream. */
const tools = [{ name: 'weather', description: 'tells it', schema: WEATHER }];

for (const model of ALL_MODELS)
  for (const llm of [
    new ChatAnthropic({ model, apiKey: API_KEY, anthropicApiUrl: ORIGIN, maxRetries: 0, maxTokens: 100 }),
    new ChatGoogleGenerativeAI({ model, apiKey: API_KEY, baseUrl: ORIGIN, maxRetries: 0 }),
  ]) {
    assert.equal((await llm.invoke('[chunks=3]')).text, 'the light of', model);
    let text = '';
    for await (const chunk of await llm.stream('[chunks=4]')) text += chunk.text;
    assert.equal(text, 'the light of day', model);
    const [call] = (await llm.bindTools(tools).invoke('weather?')).tool_calls ?? [];
    assert.deepEqual([call?.name, call?.args], ['weather', { city: 'Paris' }], model);
  }
