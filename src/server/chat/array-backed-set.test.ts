import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ArrayBackedSet, type ArrayBackedSetMember } from './array-backed-set.ts';

describe('ArrayBackedSet', () => {
  it('holds what was added and not removed, in whatever order both come', () => {
    const set = new ArrayBackedSet<ArrayBackedSetMember>();
    const items = Array.from({ length: 50 }, () => ({ index: -1 }));
    for (const item of items) set.add(item);
    const gone = items.filter((_, i) => i % 3 === 0 || i > 44);
    for (const item of [...gone, ...gone]) set.remove(item);
    const left = new Set<ArrayBackedSetMember>(set);
    assert.equal(left.size, items.length - gone.length);
    for (const item of items) assert.equal(left.has(item), !gone.includes(item));
    for (const item of left) set.remove(item);
    assert.deepEqual([...set], []);
  });

  it('can be emptied while it is visited', () => {
    const set = new ArrayBackedSet<ArrayBackedSetMember>();
    for (let i = 0; i < 5; i++) set.add({ index: -1 });
    let visits = 0;
    for (const item of set) {
      visits++;
      set.remove(item);
    }
    assert.equal(visits, 5);
    assert.deepEqual([...set], []);
  });
});
