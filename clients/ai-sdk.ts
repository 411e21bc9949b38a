import assert from 'node:assert/strict';
import { API_KEY, BASE_URL, CHAT, EMBEDDING, IMAGE, WEATHER } from './service-setup.ts';

/**
 * Vercel's AI SDK. Arguments: the package of the SDK, the package of the provider, and `compatible` for the generic
 * one.
 */
const [sdk = 'ai', provider = '@ai-sdk/openai', kind] = process.argv.slice(2);
const ai = await import(sdk);
const { embedMany, generateText, jsonSchema, stepCountIs, streamText, tool } = ai;
const generateImage = ai.generateImage ?? ai.experimental_generateImage;
const made = await import(provider);
const openai =
  kind === 'compatible'
    ? made.createOpenAICompatible({ name: 'reelgate', apiKey: API_KEY, baseURL: BASE_URL, includeUsage: true })
    : made.createOpenAI({ apiKey: API_KEY, baseURL: BASE_URL });
const chat = kind === 'compatible' ? openai.chatModel(CHAT) : openai.chat(CHAT);

const whole = await generateText({ model: chat, prompt: '[chunks=3]' });
assert.deepEqual([whole.text, whole.usage.outputTokens], ['the light of', 3]);
const streamed = streamText({ model: chat, prompt: '[chunks=5]' });
assert.equal(await streamed.text, 'the light of day and');
assert.equal((await streamed.usage).outputTokens, 5);

const models = kind === 'compatible' ? [chat] : [chat, openai.responses(CHAT)];
for (const model of models) {
  const asked: unknown[] = [];
  const weather = tool({
    inputSchema: jsonSchema(WEATHER),
    execute: async (input: unknown) => {
      asked.push(input);
      return 'sunny';
    },
  });
  const result = await generateText({ model, prompt: '[chunks=2]', tools: { weather }, stopWhen: stepCountIs(3) });
  assert.deepEqual([asked, result.text], [[{ city: 'Paris' }], 'the light']);
}

const embedding = kind === 'compatible' ? openai.embeddingModel(EMBEDDING) : openai.embedding(EMBEDDING);
const { embeddings } = await embedMany({ model: embedding, values: ['a', 'b', 'c'] });
assert.deepEqual(embeddings[2], [0.5, -0.5, 0.25, 0.125]);

const imageModel = kind === 'compatible' ? openai.imageModel(IMAGE) : openai.image(IMAGE);
// The generic provider downloads image URLs but refuses loopback addresses, where the simulated upstream keeps its
// files.
const providerOptions = { reelgate: { response_format: 'b64_json' } };
const { image } = await generateImage({ model: imageModel, prompt: 'a heron', providerOptions });
assert.equal(Buffer.from(image.uint8Array).toString('latin1', 1, 4), 'PNG');
