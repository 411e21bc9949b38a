import assert from 'node:assert/strict';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, Output, stepCountIs, streamText } from 'ai';
import { ALL_MODELS, API_KEY, BASE_URL, CHAT_COMPLETIONS_ONLY, WEATHER } from './service-setup.ts';
import { weatherTool } from './weather-tool.ts';

/** Vercel's AI SDK with OpenAI's Responses API, over each kind of upstream. */
const openai = createOpenAI({ apiKey: API_KEY, baseURL: BASE_URL });

for (const id of [...ALL_MODELS, CHAT_COMPLETIONS_ONLY]) {
  const model = openai.responses(id);
  const whole = await generateText({ model, system: 'Be brief.', prompt: '[chunks=3]' });
  assert.deepEqual([whole.text, whole.finishReason, whole.usage.outputTokens], ['the light of', 'stop', 3], id);

  const streamed = streamText({ model, prompt: '[chunks=5]' });
  let text = '';
  for await (const piece of streamed.textStream) text += piece;
  assert.deepEqual([text, (await streamed.usage).outputTokens], ['the light of day and', 5], id);

  const asked: unknown[] = [];
  const weather = weatherTool(asked);
  const loop = { model, prompt: '[chunks=2]', tools: { weather }, stopWhen: stepCountIs(3) };
  assert.equal((await generateText(loop)).text, 'the light', id);
  assert.equal(await streamText(loop).text, 'the light', id);
  assert.deepEqual(asked, [{ city: 'Paris' }, { city: 'Paris' }], id);

  const output = Output.object({ schema: jsonSchema(WEATHER as never) });
  const structured = await generateText({ model, prompt: 'weather?', output });
  assert.deepEqual(structured.output, { city: 'Paris' }, id);

  const cut = await generateText({ model, prompt: '[chunks=5]', maxOutputTokens: 2 });
  assert.equal(cut.finishReason, 'length', id);
}
