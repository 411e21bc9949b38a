import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openValkey } from './valkey.ts';

it('takes a password with a lone percent sign', () => {
  for (const password of ['a%b', 'a%zz', 'a%25b'])
    assert.doesNotThrow(() => openValkey(`redis://:${password}@127.0.0.1:1`, () => {}).close(), password);
});
