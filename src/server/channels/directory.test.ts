import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../../test/seeded-random.ts';
import { weightedOrder } from './directory.ts';

describe('the order in which channels are tried', () => {
  it('puts a higher priority first, whatever the weights', () => {
    const random = seededRandom(1);
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

  it('puts each channel first in proportion to its weight', () => {
    const random = seededRandom(2);
    const channels = [1, 2, 7].map((weight) => ({ weight, priority: 0 }));
    const first = new Map([1, 2, 7].map((weight) => [weight, 0]));
    for (let i = 0; i < 10_000; i++) {
      const weight = weightedOrder(channels, random)[0]?.weight ?? 0;
      first.set(weight, (first.get(weight) ?? 0) + 1);
    }
    for (const [weight, count] of first) assert.ok(Math.abs(count - weight * 1000) < 200, `${weight}: ${count}`);
  });

  it('puts weight 0 last and omits no channel', () => {
    for (const random of [seededRandom(3), () => 0]) {
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
