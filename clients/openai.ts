import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { API_KEY, BASE_URL, CHAT, EMBEDDING, IMAGE, VIDEO, WEATHER } from './service-setup.ts';

/**
 * OpenAI's own client. The first argument is its package: `openai`, or an older release installed under another name.
 */
const { default: OpenAI, NotFoundError } = await import(process.argv[2] ?? 'openai');
const openai = new OpenAI({ apiKey: API_KEY, baseURL: BASE_URL, maxRetries: 0 });
const say = (content: string) => ({ model: CHAT, messages: [{ role: 'user', content }] });

// Chat
const whole = await openai.chat.completions.create(say('[chunks=3]'));
assert.deepEqual([whole.choices[0].message.content, whole.usage.completion_tokens], ['the light of', 3]);
let text = '';
for await (const chunk of await openai.chat.completions.create({ ...say('[chunks=4]'), stream: true })) {
  assert.equal('usage' in chunk, false, 'nobody asked for usage');
  text += chunk.choices[0]?.delta.content ?? '';
}
assert.equal(text, 'the light of day');
const tools = [{ type: 'function', function: { name: 'weather', parameters: WEATHER } }];
const called = await openai.chat.completions.stream({ ...say('weather?'), tools }).finalChatCompletion();
assert.deepEqual(JSON.parse(called.choices[0].message.tool_calls[0].function.arguments), { city: 'Paris' });
const nulls = { max_tokens: null, stop: null, temperature: null, tools: null };
assert.equal(
  (await openai.chat.completions.create({ ...say('[chunks=1]'), ...nulls })).choices[0].message.content,
  'the',
);

// Responses
assert.equal((await openai.responses.create({ model: CHAT, input: '[chunks=2]' })).output_text, 'the light');
const streamed = openai.responses.stream({ model: CHAT, input: '[chunks=3]' });
assert.equal((await streamed.finalResponse()).output_text, 'the light of');
const tool = { type: 'function', name: 'weather', parameters: WEATHER, strict: true };
const [item] = (await openai.responses.create({ model: CHAT, input: 'weather?', tools: [tool] })).output;
assert.deepEqual([item.type, item.name, item.arguments], ['function_call', 'weather', '{"city":"Paris"}']);

// Embeddings: the client requests Base64 by default
const { data } = await openai.embeddings.create({ model: EMBEDDING, input: ['a', 'b'] });
assert.deepEqual(data[1].embedding, [0.5, -0.5, 0.25, 0.125]);

// Images
const byUrl = await openai.images.generate({ model: IMAGE, prompt: 'a heron', n: 2 });
assert.match(byUrl.data[1].url, /^http/);
const inline = await openai.images.generate({ model: IMAGE, prompt: 'a heron', response_format: 'b64_json' });
assert.equal(Buffer.from(inline.data[0].b64_json, 'base64').toString('latin1', 1, 4), 'PNG');

// Models
assert.ok((await openai.models.list()).data.some(({ id }: { id: string }) => id === CHAT));
assert.equal((await openai.models.retrieve(CHAT)).id, CHAT);
await assert.rejects(openai.models.retrieve('no-such-model'), (error) => error instanceof NotFoundError);

// Videos
let video = await openai.videos.create({ model: VIDEO, prompt: 'a heron' });
for (let polls = 0; polls < 100 && video.status !== 'completed'; polls += 1) {
  await pause(100);
  video = await openai.videos.retrieve(video.id);
}
assert.equal(video.status, 'completed');
const file = Buffer.from(await (await openai.videos.downloadContent(video.id)).arrayBuffer());
assert.equal(file.toString('latin1', 4, 8), 'ftyp');
assert.ok((await openai.videos.list()).data.some(({ id }: { id: string }) => id === video.id));
assert.equal((await openai.videos.delete(video.id)).deleted, true);
// The contract fixes the body of this error; only newer clients find a message in it.
await assert.rejects(openai.videos.retrieve(video.id), { status: 404 });
