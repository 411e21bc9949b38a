import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashToken } from '../platform/tokens.ts';
import { verifyClientSecret } from './clients.ts';

describe('the secret of a client', () => {
  const row = (secret: string, enabled: 0 | 1 = 1) => ({ secret_hash: hashToken(secret), enabled, name: 'C' }) as never;

  it('may be any of its active ones, while the client is enabled', () => {
    const rows = [row('one'), row('two')];
    assert.deepEqual(verifyClientSecret('c', 'one', rows), { id: 'c', name: 'C' });
    assert.deepEqual(verifyClientSecret('c', 'two', rows), { id: 'c', name: 'C' });
    assert.equal(verifyClientSecret('c', 'three', rows), undefined);
    assert.equal(verifyClientSecret('c', 'one', []), undefined);
    assert.equal(verifyClientSecret('c', 'one', [row('one', 0)]), undefined);
  });
});
