import assert from 'node:assert/strict';
import { it } from 'node:test';
import { defined } from './objects.ts';

it('drops undefined members and keeps null, zero and empty text', () => {
  assert.deepEqual(defined({ a: undefined, b: null, c: 0, d: '', e: false }), { b: null, c: 0, d: '', e: false });
});
