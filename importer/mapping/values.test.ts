import assert from 'node:assert/strict';
import { it } from 'node:test';
import { textOf } from './values.ts';

it('reads text that any database can store', () => {
  const row = { email: ' a\u0000b@example.com ', name: 'x\ud800', other: null };
  assert.deepEqual(
    ['email', 'name', 'other', 'missing'].map((column) => textOf(row, column)),
    ['ab@example.com', 'x\ufffd', '', ''],
  );
});
