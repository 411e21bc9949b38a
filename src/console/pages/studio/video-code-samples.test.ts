import assert from 'node:assert/strict';
import { test } from 'node:test';
import { videoCodeSamples } from './video-code-samples.ts';

const BODY = { model: 'm', prompt: 'true "story"', metadata: { sound: true, seed: null } };

test('the Python sample uses Python literals for JSON values, and leaves texts unchanged', () => {
  const text = videoCodeSamples(BODY, 'https://gate.example').Python;
  assert.match(text, /"sound": True,\n\s+"seed": None/);
  assert.match(text, /"prompt": "true \\"story\\""/);
});

test('the Node sample submits the request, waits for the result and saves the file', async (context) => {
  const calls: string[] = [];
  const answers = [{ id: 'v1', status: 'failed' }];
  context.mock.method(globalThis, 'fetch', (url: string, init: { method?: string; body?: string }) => {
    calls.push(`${init.method ?? 'GET'} ${url}`);
    return Promise.resolve({ json: () => answers[0], arrayBuffer: () => new ArrayBuffer(0) });
  });
  // The last line writes a file; everything before it runs as shown.
  const lines = videoCodeSamples(BODY, 'https://gate.example')['Node.js'].split('\n').slice(1, -1);
  const run = new Function(`return (async () => {${lines.join('\n')}})()`) as () => Promise<void>;
  await run();
  assert.deepEqual(calls, ['POST https://gate.example/v1/videos', 'GET https://gate.example/v1/videos/v1/content']);
});
