import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_SETTINGS, parseTools, toChatRequest } from './conversations.ts';

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
