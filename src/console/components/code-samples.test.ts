import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatSamples } from './code-samples.ts';

test('code samples of a call are quoted for each language', () => {
  const body = { model: 'm', messages: [{ role: 'user' as const, content: `It's "$x" \\ true` }], stream: true };
  const { curl, Python, TypeScript } = chatSamples(body, 'http://127.0.0.1:1');
  assert.ok(curl.includes(`It'\\''s`) && curl.includes('http://127.0.0.1:1/v1/chat/completions'));
  assert.ok(Python.includes('stream=True') && Python.includes('\\\\ true"'));
  assert.ok(TypeScript.includes(JSON.stringify(body.messages[0]?.content)));
});
