import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeParameters } from './describe-parameters.ts';

test('simple parameters are listed, those of the metadata too; inputs and what the page shows elsewhere are not', () => {
  assert.deepEqual(
    describeParameters({
      model: 'kling-v3',
      prompt: 'a boat',
      seconds: '5',
      image: 'https://example.com/a.png',
      inputs: [{ type: 'image' }],
      metadata: { negative_prompt: 'people', watermark: false, first: `data:image/png;base64,${'A'.repeat(500)}` },
    }),
    [
      ['negative_prompt', 'people'],
      ['watermark', false],
      ['seconds', '5'],
    ],
  );
  assert.deepEqual(describeParameters(null), []);
});
