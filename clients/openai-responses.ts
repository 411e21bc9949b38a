import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { ALL_MODELS, API_KEY, BASE_URL, CHAT_COMPLETIONS_ONLY, WEATHER } from './service-setup.ts';

/** OpenAI's own client with the Responses API, over upstreams with and without that API. */
const openai = new OpenAI({ apiKey: API_KEY, baseURL: BASE_URL, maxRetries: 0 });
const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';

for (const model of [...ALL_MODELS, CHAT_COMPLETIONS_ONLY]) {
  const instructions = 'Be brief.';
  const whole = await openai.responses.create({ model, instructions, input: '[chunks=3]', temperature: 0.5 });
  assert.deepEqual(
    [whole.output_text, whole.status, whole.usage?.output_tokens],
    ['the light of', 'completed', 3],
    model,
  );

  const streamed = openai.responses.stream({ model, instructions, input: '[chunks=4]' });
  let text = '';
  for await (const event of streamed) if (event.type === 'response.output_text.delta') text += event.delta;
  const final = await streamed.finalResponse();
  assert.deepEqual([text, final.output_text, final.usage?.output_tokens], ['the light of day', text, 4], model);

  // A tool loop: two parallel calls, their results, an image, the final answer.
  const tools = ['weather', 'forecast'].map((name) => ({
    type: 'function' as const,
    name,
    parameters: WEATHER,
    strict: true,
  }));
  const question = { role: 'user' as const, content: '[tools=2] [chunks=2]' };
  for (const called of [
    await openai.responses.create({ model, input: [question], tools, store: false }),
    await openai.responses.stream({ model, input: [question], tools, store: false }).finalResponse(),
  ]) {
    const calls = called.output.filter((item) => item.type === 'function_call');
    assert.deepEqual(
      calls.map(({ name, arguments: args }) => [name, JSON.parse(args)]),
      [
        ['weather', { city: 'Paris' }],
        ['forecast', { city: 'Paris' }],
      ],
      model,
    );
    const results = calls.map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: 'sunny' }));
    const image = { type: 'input_image' as const, image_url: IMAGE, detail: 'auto' as const };
    const input = [question, ...called.output, ...results, { role: 'user' as const, content: [image] }];
    const end = await openai.responses.create({ model, input: input as OpenAI.Responses.ResponseInput, tools });
    assert.equal(end.output_text, 'the light', model);
  }

  const format = { type: 'json_schema' as const, name: 'weather', schema: WEATHER, strict: true };
  const structured = await openai.responses.parse({ model, input: 'weather?', text: { format } });
  assert.deepEqual(JSON.parse(structured.output_text), { city: 'Paris' }, model);

  const cut = await openai.responses.create({ model, input: '[chunks=5]', max_output_tokens: 2 });
  assert.deepEqual([cut.status, cut.incomplete_details?.reason], ['incomplete', 'max_output_tokens'], model);
}

// Responses stored by another upstream cannot be referenced.
await assert.rejects(
  openai.responses.create({ model: CHAT_COMPLETIONS_ONLY, input: 'x', previous_response_id: 'resp_1' }),
  (error) => error instanceof OpenAI.BadRequestError && error.param === 'previous_response_id',
);
