import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newTaskId } from '../platform/tokens.ts';
import { HandleOwners } from './attempts.ts';

const owner = (n: number) => ({ id: newTaskId(), attempt: 1 + (n % 3), at: 1_795_000_000_000 + n });

describe('T55: owners of the handles that vendors return', () => {
  it('are returned unchanged to the second claimant of a handle', () => {
    const owners = new HandleOwners();
    const [first, second] = [owner(1), owner(2)];
    assert.equal(owners.claim(1, '{"id":"a"}', first), undefined);
    assert.deepEqual(owners.claim(1, '{"id":"a"}', second), first);
    assert.deepEqual(owners.claim(1, '{"id":"a"}', first), first);
    assert.equal(owners.claim(2, '{"id":"a"}', second), undefined, 'another channel has handles of its own');
    assert.equal(owners.claim(1, '{"id":"b"}', second), undefined);
  });

  it('are evicted oldest first, and never while among the latest thousands', () => {
    const owners = new HandleOwners();
    const given = Array.from({ length: 40_000 }, (_, n) => owner(n));
    for (const [n, each] of given.entries()) assert.equal(owners.claim(7, `handle ${n}`, each), undefined);
    const another = owner(-1);
    for (const [n, each] of [...given.entries()].slice(-4_000).reverse())
      assert.deepEqual(owners.claim(7, `handle ${n}`, another), each);
    assert.equal(owners.claim(7, 'handle 0', another), undefined, 'room is bounded');
  });
});
