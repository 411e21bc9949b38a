import assert from 'node:assert/strict';
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, type Part, Type } from '@google/genai';
import { ALL_MODELS, API_KEY, ORIGIN } from './service-setup.ts';

/** Google's own client, over each kind of upstream. */
const client = new GoogleGenAI({ apiKey: API_KEY, httpOptions: { baseUrl: ORIGIN } });
const parameters = { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] };
const strict = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

for (const model of ALL_MODELS) {
  const whole = await client.models.generateContent({
    model,
    contents: '[chunks=3]',
    config: { systemInstruction: 'Be brief.', temperature: 0.5, maxOutputTokens: 2_000 },
  });
  assert.deepEqual([whole.text, whole.candidates?.[0]?.finishReason], ['the light of', 'STOP'], model);
  assert.equal(whole.usageMetadata?.candidatesTokenCount, 3, model);

  let text = '';
  let tokens: number | undefined;
  for await (const chunk of await client.models.generateContentStream({ model, contents: '[chunks=4]' })) {
    text += chunk.text ?? '';
    tokens = chunk.usageMetadata?.candidatesTokenCount ?? tokens;
  }
  assert.deepEqual([text, tokens], ['the light of day', 4], model);

  // A tool loop: two parallel calls, their results, the final answer.
  const functionDeclarations = ['weather', 'forecast'].map((name) => ({ name, parameters }));
  const toolConfig = { functionCallingConfig: { mode: FunctionCallingConfigMode.AUTO } };
  const config = { tools: [{ functionDeclarations }], toolConfig };
  const question = { role: 'user', parts: [{ text: '[tools=2] [chunks=2]' }] };
  const said: Part[] = [];
  for await (const chunk of await client.models.generateContentStream({ model, contents: [question], config }))
    said.push(...(chunk.candidates?.[0]?.content?.parts ?? []).filter((part) => part.text !== ''));
  const calls = said.flatMap(({ functionCall }) => functionCall ?? []);
  assert.deepEqual(
    calls.map(({ name, args }) => [name, args]),
    [
      ['weather', { city: 'Paris' }],
      ['forecast', { city: 'Paris' }],
    ],
    model,
  );
  const results = calls.map(({ id, name }) => ({ functionResponse: { id, name, response: { output: 'sunny' } } }));
  const contents = [question, { role: 'model', parts: said }, { role: 'user', parts: results as Part[] }];
  assert.equal((await client.models.generateContent({ model, contents, config })).text, 'the light', model);

  const structured = await client.models.generateContent({
    model,
    contents: 'weather?',
    config: { responseMimeType: 'application/json', responseJsonSchema: strict },
  });
  assert.deepEqual(JSON.parse(structured.text ?? ''), { city: 'Paris' }, model);
  assert.ok(Number((await client.models.countTokens({ model, contents: 'hello' })).totalTokens) > 0);
}

const listing = new GoogleGenAI({ apiKey: API_KEY, httpOptions: { baseUrl: ORIGIN, apiVersion: 'v1beta' } });
const models: string[] = [];
for await (const { name } of await listing.models.list()) models.push(name ?? '');
assert.ok(models.includes('models/sandbox-gemini'));
await assert.rejects(
  client.models.generateContent({ model: 'no-such-model', contents: 'x' }),
  (error) => error instanceof ApiError && error.status === 404,
);
