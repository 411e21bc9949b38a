import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Enrolled, Roll } from './roll.ts';

describe('Roll', () => {
  it('holds what was added and not removed, in whatever order both come', () => {
    const roll = new Roll<Enrolled>();
    const items = Array.from({ length: 50 }, () => ({ place: -1 }));
    for (const item of items) roll.add(item);
    const gone = items.filter((_, i) => i % 3 === 0 || i > 44);
    for (const item of [...gone, ...gone]) roll.remove(item);
    const left = new Set<Enrolled>(roll);
    assert.equal(left.size, items.length - gone.length);
    for (const item of items) assert.equal(left.has(item), !gone.includes(item));
    for (const item of left) roll.remove(item);
    assert.deepEqual([...roll], []);
  });

  it('can be emptied while it is visited', () => {
    const roll = new Roll<Enrolled>();
    for (let i = 0; i < 5; i++) roll.add({ place: -1 });
    let visits = 0;
    for (const item of roll) {
      visits++;
      roll.remove(item);
    }
    assert.equal(visits, 5);
    assert.deepEqual([...roll], []);
  });
});
