import assert from 'node:assert/strict';
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { API_KEY, BASE_URL, CHAT, WEATHER } from './service-setup.ts';

/** OpenAI's Agents SDK with both APIs, chat completions and Responses. */
setTracingDisabled(true);
for (const useResponses of [true, false]) {
  const asked: unknown[] = [];
  const weather = tool({
    name: 'weather',
    description: 'the weather of a city',
    parameters: WEATHER as never,
    strict: true,
    execute: async (input: unknown) => {
      asked.push(input);
      return 'sunny';
    },
  });
  const modelProvider = new OpenAIProvider({ apiKey: API_KEY, baseURL: BASE_URL, useResponses });
  const agent = new Agent({ name: 'forecaster', instructions: 'Tell the weather.', model: CHAT, tools: [weather] });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const whole = await runner.run(agent, '[chunks=3]');
  assert.deepEqual([asked, whole.finalOutput], [[{ city: 'Paris' }], 'the light of']);
  const streamed = await runner.run(agent, '[chunks=4]', { stream: true });
  await streamed.completed;
  assert.equal(streamed.finalOutput, 'the light of day');
}
