import assert from 'node:assert/strict';
import { it } from 'node:test';
import { defined } from './objects.ts';

it('leaves out what is undefined and keeps null, zero and the empty text', () => {
  assert.deepEqual(defined({ a: undefined, b: null, c: 0, d: '', e: false }), { b: null, c: 0, d: '', e: false });
});
