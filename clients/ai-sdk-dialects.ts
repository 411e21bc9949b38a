import assert from 'node:assert/strict';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { generateText, stepCountIs, streamText } from 'ai';
import { ALL_MODELS, API_KEY, BASE_URL, ORIGIN } from './service-setup.ts';
import { weatherTool } from './weather-tool.ts';

/** Vercel's AI SDK with its Anthropic and Google providers, over each kind of upstream. */
const anthropic = createAnthropic({ apiKey: API_KEY, baseURL: BASE_URL });
const google = createGoogleGenerativeAI({ apiKey: API_KEY, baseURL: `${ORIGIN}/v1beta` });

for (const provider of [anthropic, google])
  for (const id of ALL_MODELS) {
    const model = provider(id);
    const whole = await generateText({ model, prompt: '[chunks=3]' });
    assert.deepEqual([whole.text, whole.usage.outputTokens], ['the light of', 3], id);
    const streamed = streamText({ model, prompt: '[chunks=5]' });
    assert.equal(await streamed.text, 'the light of day and', id);
    assert.equal((await streamed.usage).outputTokens, 5, id);
    const asked: unknown[] = [];
    const weather = weatherTool(asked);
    const result = await generateText({ model, prompt: '[chunks=2]', tools: { weather }, stopWhen: stepCountIs(3) });
    assert.deepEqual([asked, result.text], [[{ city: 'Paris' }], 'the light'], id);
  }
