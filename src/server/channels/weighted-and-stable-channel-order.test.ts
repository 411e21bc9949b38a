import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { weightedOrder } from './weighted-and-stable-channel-order.ts';

/** mulberry32: the same draws in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('the order channels are asked in', () => {
  it('takes a larger priority first, whatever the weights', () => {
    const random = seeded(1);
    const channels = [
      { name: 'low', priority: 0, weight: 1000 },
      { name: 'high', priority: 5, weight: 0 },
      { name: 'middle', priority: 1, weight: 1 },
    ];
    for (let i = 0; i < 100; i++)
      assert.deepEqual(
        weightedOrder(channels, random).map(({ name }) => name),
        ['high', 'middle', 'low'],
      );
  });

  it('puts each first in proportion to its weight', () => {
    const random = seeded(2);
    const channels = [1, 2, 7].map((weight) => ({ weight, priority: 0 }));
    const first = new Map([1, 2, 7].map((weight) => [weight, 0]));
    for (let i = 0; i < 10_000; i++) {
      const weight = weightedOrder(channels, random)[0]?.weight ?? 0;
      first.set(weight, (first.get(weight) ?? 0) + 1);
    }
    for (const [weight, count] of first) assert.ok(Math.abs(count - weight * 1000) < 200, `${weight}: ${count}`);
  });

  it('puts weight 0 last, and leaves no channel out', () => {
    for (const random of [seeded(3), () => 0]) {
      const channels = [0, 1, 0, 3].map((weight, index) => ({ weight, priority: 0, index }));
      const turn = weightedOrder(channels, random);
      assert.deepEqual(
        turn.slice(2).map(({ weight }) => weight),
        [0, 0],
      );
      assert.equal(new Set(turn).size, 4);
    }
  });
});
