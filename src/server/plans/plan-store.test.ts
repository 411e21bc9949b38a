import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS } from '../../contract/time-units.ts';
import { placementOf, type Subscription, timelineAt } from './plan-store.ts';

test('when a subscription expires, the queued one with the highest level starts at that moment', () => {
  const holding = (id: number, level: number, state: 'active' | 'waiting', days: number): Subscription => ({
    id,
    plan_id: id,
    level,
    state,
    duration_days: days,
    starts_at: 0,
    expires_at: state === 'active' ? days * DAY_MS : 0,
  });
  const all = [holding(1, 3, 'active', 10), holding(2, 1, 'waiting', 5), holding(3, 2, 'waiting', 5)];
  const ids = (now: number) => {
    const { current, waiting, ended } = timelineAt(all, now);
    return [current?.id, waiting.map(({ id }) => id), ended.map(({ id }) => id)];
  };
  assert.deepEqual(ids(10 * DAY_MS - 1), [1, [3, 2], []]);
  assert.deepEqual(ids(10 * DAY_MS), [3, [2], [1]]);
  assert.deepEqual(ids(15 * DAY_MS), [2, [], [1, 3]]);
  assert.deepEqual(ids(20 * DAY_MS), [undefined, [], [1, 3, 2]]);
  assert.equal(timelineAt(all, 17 * DAY_MS).current?.expires_at, 20 * DAY_MS);
  assert.deepEqual(
    timelineAt(all, 0).waiting.map(({ starts_at }) => starts_at / DAY_MS),
    [10, 15],
  );
});

test('a higher level replaces, the same level extends, a lower level is queued', () => {
  assert.equal(placementOf(undefined, 0), 'active');
  assert.equal(placementOf(2, 3), 'active');
  assert.equal(placementOf(2, 2), 'extended');
  assert.equal(placementOf(2, 1), 'waiting');
});
