import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerBuilder, NO_SETTINGS, parseTools, toChatRequest } from './conversations.ts';

test('a request contains the settings and messages, and no empty answers', () => {
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

test('an answer is assembled from its events: text, thinking under both names, tool calls in parts, usage', () => {
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
