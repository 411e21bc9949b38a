import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evenlySpacedTicks, toChartSeries } from './usage-chart-data.ts';

const nowMs = Date.UTC(2026, 10, 21, 13);

test('every day has a row, including empty ones, with figures on the right day', () => {
  const rows = [
    { day: '2026-11-20', model: 'a', requests: 2, quota: 10 },
    { day: '2026-11-21', model: 'b', requests: 1, quota: 90 },
    { day: '2026-01-01', model: 'b', requests: 1, quota: 5 },
  ];
  assert.deepEqual(toChartSeries(rows, 'quota', { days: 3, nowMs, others: 'others' }), {
    models: ['b', 'a'],
    days: [
      { day: '2026-11-19', b: 0, a: 0 },
      { day: '2026-11-20', b: 0, a: 10 },
      { day: '2026-11-21', b: 90, a: 0 },
    ],
  });
});

test('models beyond the limit are combined', () => {
  const rows = Array.from({ length: 9 }, (_, index) => ({
    day: '2026-11-21',
    model: `m${index}`,
    requests: index + 1,
    quota: 0,
  }));
  const { models, days } = toChartSeries(rows, 'requests', { days: 1, nowMs, others: 'others', maxModels: 3 });
  assert.deepEqual(models, ['m8', 'm7', 'others']);
  assert.deepEqual(days, [{ day: '2026-11-21', m8: 9, m7: 8, others: 28 }]);
});

test('axis ticks are evenly spaced and include the last day', () => {
  const days = Array.from({ length: 30 }, (_, index) => String(index));
  assert.deepEqual(evenlySpacedTicks(days), ['4', '9', '14', '19', '24', '29']);
  assert.deepEqual(evenlySpacedTicks(days.slice(0, 7)), ['0', '1', '2', '3', '4', '5', '6']);
  assert.deepEqual(evenlySpacedTicks([]), []);
});
