import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { constants, type PerformanceNodeEntry, PerformanceObserver } from 'node:perf_hooks';
import { mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { collectYoungGarbage, compactMemory } from './collect-garbage.ts';
import { allowGrowthForLargeBodies, HEAP_GROWTH_PERCENT } from './heap-growth.ts';

const PICTURE_BYTES = 13_000_000;
const PICTURES = 60;
const AT_ONCE = 3;

/** As much as lives in a service, some 30 MB. */
const living = Array.from({ length: 400_000 }, (_, index) => ({ index, text: `${index}` }));

/** How often everything is collected while pictures come, a few at a time, and are given back. */
async function countFullCollections(): Promise<number> {
  let count = 0;
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as PerformanceNodeEntry[])
      if ((entry.detail as { readonly kind: number }).kind === constants.NODE_PERFORMANCE_GC_MAJOR) count++;
  });
  observer.observe({ entryTypes: ['gc'] });
  const underWay: ArrayBuffer[] = [];
  for (let index = 0; index < PICTURES; index++) {
    underWay.push(Buffer.allocUnsafeSlow(PICTURE_BYTES).buffer);
    // Objects that have come of age are what marking is scheduled for.
    collectYoungGarbage();
    if (underWay.length === AT_ONCE) for (const picture of underWay.splice(0)) picture.transfer(0);
    for (let turn = 0; turn < 20; turn++) await nextTurn();
  }
  observer.disconnect();
  return count;
}

test('pictures do not have everything collected again and again, and afterwards the heap is kept small again', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
    // Each full collection sets the limit that leads to the next.
    compactMemory();
    const before = await countFullCollections();
    allowGrowthForLargeBodies();
    compactMemory();
    const allowed = await countFullCollections();
    mock.timers.tick(10_000);
    compactMemory();
    const after = await countFullCollections();
    assert.ok(before > 2 * allowed + 2, `${before} before, ${allowed} while allowed`);
    assert.ok(after > 2 * allowed + 2, `${after} afterwards, ${allowed} while allowed`);
    assert.equal(living.length, 400_000);
  } finally {
    mock.timers.reset();
  }
});

test('the service starts with the same growth', () => {
  const start = readFileSync(`${import.meta.dirname}/../../../bin/server.js`, 'utf8');
  assert.match(start, new RegExp(`setFlagsFromString\\('--heap-growing-percent=${HEAP_GROWTH_PERCENT}'\\)`));
});
