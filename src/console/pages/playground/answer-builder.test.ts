import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerBuilder } from './answer-builder.ts';

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
