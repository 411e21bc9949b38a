import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '../../../data/admin.ts';
import { EMPTY_PLAN, toPlanBody, toPlanFormValues } from './plan-form-values.ts';

const PER_UNIT = 500_000;
const CARD: Plan = {
  id: 1,
  package_code: 'studio',
  name: 'Studio',
  description: '',
  level: 2,
  price_amount: 29.5,
  purchasable: true,
  daily_quota: 0,
  duration_days: 30,
  refresh_interval_seconds: 18_000,
  system_builtin: false,
  interval_quota: 1_250_000,
  weekly_quota_limit: 10_000_001,
  monthly_quota_limit: 20_000_001,
  status: 2,
  created_time: 1,
  models: ['model-a'],
  price_factor: 1.25,
  channels: [3, 5],
  storage_days: 90,
  storage_gb: null,
  concurrent_tasks: null,
  queued_tasks: null,
  spend_limit: { amount: 3, period: 'week' },
  order_url: '',
};

test('a plan survives the round trip through its form', () => {
  for (const card of [CARD, { ...CARD, refresh_interval_seconds: 0, interval_quota: 0, daily_quota: 7, status: 1 }]) {
    const { id: _id, system_builtin: _builtin, created_time: _created, ...fields } = card;
    assert.deepEqual(toPlanBody(toPlanFormValues(card, PER_UNIT), PER_UNIT), fields);
  }
});

test('a plan renewed daily has no interval, and vice versa', () => {
  const daily = toPlanBody({ ...EMPTY_PLAN, code: ' start ', name: 'Start' }, PER_UNIT);
  assert.deepEqual([daily.refresh_interval_seconds, daily.interval_quota], [0, 0]);
  assert.equal(daily.package_code, 'start');
  const hourly = toPlanBody({ ...EMPTY_PLAN, renewal: 'period', hours: '1.5' }, PER_UNIT);
  assert.deepEqual([hourly.refresh_interval_seconds, hourly.daily_quota], [5400, 0]);
});
