import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerBuilder } from './answer-builder.ts';
import { chatSamples } from './chat-code-samples.ts';
import { parseTools, toChatRequest } from './chat-request-body.ts';
import { NO_SETTINGS } from './stored-conversations.ts';

test('an answer is put together from its events: text, thinking in both spellings, tools in pieces, usage', () => {
  const builder = new AnswerBuilder('m');
  for (const delta of [
    { reasoning_content: 'First ' },
    { reasoning: 'this.' },
    { content: 'Hel' },
    { content: 'lo' },
    { tool_calls: [{ index: 1, function: { name: 'b', arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { name: 'a', arguments: '{"x"' } }] },
    { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
  ])
    builder.add({ choices: [{ delta }] });
  builder.add({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 7 } });
  const { text, thinking, toolCalls, inputTokens, outputTokens, requestId } = builder.toTurn({ requestId: 'r' });
  assert.deepEqual([text, thinking, inputTokens, outputTokens, requestId], ['Hello', 'First this.', 3, 7, 'r']);
  assert.deepEqual(toolCalls, [
    { name: 'a', arguments: '{"x":1}' },
    { name: 'b', arguments: '' },
  ]);
});

test('a request has what was set and said, and no empty answers', () => {
  const request = toChatRequest(
    { ...NO_SETTINGS, model: 'm', system: 'Be brief.', temperature: 0, tools: '[{"a":1}]' },
    [
      { role: 'user', text: 'Look', images: ['data:image/png;base64,AA'] },
      { role: 'assistant', text: '', error: 'gone' },
      { role: 'user', text: 'Again' },
    ],
  );
  assert.deepEqual(request, {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
        ],
      },
      { role: 'user', content: 'Again' },
    ],
    temperature: 0,
    tools: [{ a: 1 }],
  });
  for (const junk of ['{}', 'x', '"a"']) assert.throws(() => parseTools(junk), SyntaxError);
});

test('the code of a call is quoted for each language', () => {
  const body = { model: 'm', messages: [{ role: 'user' as const, content: `It's "$x" \\ true` }], stream: true };
  const { curl, Python, TypeScript } = chatSamples(body, 'http://127.0.0.1:1');
  assert.ok(curl.includes(`It'\\''s`) && curl.includes('http://127.0.0.1:1/v1/chat/completions'));
  assert.ok(Python.includes('stream=True') && Python.includes('\\\\ true"'));
  assert.ok(TypeScript.includes(JSON.stringify(body.messages[0]?.content)));
});
