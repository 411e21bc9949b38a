import assert from 'node:assert/strict';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { ALL_MODELS, API_KEY, BASE_URL, CHAT_COMPLETIONS_ONLY, WEATHER } from './service-setup.ts';

/** LangChain with OpenAI's Responses API, over each kind of upstream. */
const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: WEATHER } }];

for (const model of [...ALL_MODELS, CHAT_COMPLETIONS_ONLY]) {
  const configuration = { baseURL: BASE_URL };
  const llm = new ChatOpenAI({ model, apiKey: API_KEY, configuration, maxRetries: 0, useResponsesApi: true });
  const whole = await llm.invoke('[chunks=3]');
  assert.deepEqual([whole.text, whole.usage_metadata?.output_tokens], ['the light of', 3], model);
  let text = '';
  for await (const chunk of await llm.stream('[chunks=4]')) text += chunk.text;
  assert.equal(text, 'the light of day', model);

  const withTools = llm.bindTools(tools);
  const question = new HumanMessage('[chunks=2] weather?');
  const called = await withTools.invoke([question]);
  const [call] = called.tool_calls ?? [];
  assert.deepEqual([call?.name, call?.args], ['weather', { city: 'Paris' }], model);
  const result = new ToolMessage({ tool_call_id: call?.id ?? '', content: 'sunny' });
  assert.equal((await withTools.invoke([question, called, result])).text, 'the light', model);

  const structured = llm.withStructuredOutput({ title: 'weather', ...WEATHER }, { method: 'jsonSchema' });
  assert.deepEqual(await structured.invoke('weather?'), { city: 'Paris' }, model);
}
