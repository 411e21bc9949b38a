import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayCountOf, formatDay, rangeBefore, relativeChange, toDayRange, toGroupCosts } from './group-costs.ts';

test('groups are summed and compared with the preceding range, including groups that only appear there', () => {
  const row = (model: string, quota: number) => ({ model, quota, requests: 1, prompt_tokens: 2, completion_tokens: 3 });
  const groups = toGroupCosts([row('a', 10), row('b', 60), row('a', 30)], [row('a', 20), row('c', 5)], 'model');
  assert.deepEqual(
    groups.map(({ key, quota, quotaBefore, share, change, requests, tokens }) =>
      [key, quota, quotaBefore, share, change, requests, tokens].join(),
    ),
    ['b,60,0,0.6,,1,5', 'a,40,20,0.4,1,2,10', 'c,0,5,0,-1,0,0'],
  );
  assert.deepEqual(toGroupCosts([], [], 'channel'), []);
  assert.equal(relativeChange(15, 10), 0.5);
});

const now = Date.UTC(2026, 10, 23, 1);
const days = (range: { fromDay: number; toDay: number }) => [formatDay(range.fromDay), formatDay(range.toDay)];

test('a URL names the last N days or two days, and no day in the future', () => {
  assert.deepEqual(days(toDayRange({}, now)), ['2026-10-25', '2026-11-23']);
  assert.deepEqual(days(toDayRange({ days: '7' }, now)), ['2026-11-17', '2026-11-23']);
  assert.deepEqual(days(toDayRange({ from: '2026-11-01', to: '2026-11-10' }, now)), ['2026-11-01', '2026-11-10']);
  assert.deepEqual(days(toDayRange({ from: '2026-11-01', to: '2027-01-01' }, now)), ['2026-11-01', '2026-11-23']);
  assert.deepEqual(days(toDayRange({ from: '2026-11-20', to: '2026-11-10' }, now)), ['2026-11-10', '2026-11-10']);
  assert.equal(dayCountOf(toDayRange({ from: '1999-01-01' }, now)), 366);
  for (const junk of ['11/01/2026', '2026-13-01', '', '0', 'x'])
    assert.deepEqual(days(toDayRange({ from: junk, days: junk }, now)), ['2026-10-25', '2026-11-23']);
});

test('the preceding range has as many days and ends the day before', () => {
  assert.deepEqual(days(rangeBefore(toDayRange({ from: '2026-11-01', to: '2026-11-10' }, now))), [
    '2026-10-22',
    '2026-10-31',
  ]);
});
