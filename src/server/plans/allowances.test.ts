import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HOUR_MS } from '../../contract/time-units.ts';
import { changeTimeZone, dayAt, fixedSpanAt, usagePace, type Window, windowsAt } from './allowances.ts';

const DAY = 24 * HOUR_MS;
const at = (iso: string): number => Temporal.Instant.from(iso).epochMilliseconds;
const rule = (zone: string, extendedDayStart = 0) => ({ zone, extendedDayStart });
const span = (iso: string, zone: string) => {
  const { startsAt, endsAt } = dayAt(at(iso), rule(zone));
  return [startsAt, endsAt].map((ms) => Temporal.Instant.fromEpochMilliseconds(ms).toString());
};

test('a day is the calendar day of the zone', () => {
  assert.deepEqual(span('2026-11-21T23:59:59.999Z', 'UTC'), ['2026-11-21T00:00:00Z', '2026-11-22T00:00:00Z']);
  assert.deepEqual(span('2026-11-22T00:00:00Z', 'UTC'), ['2026-11-22T00:00:00Z', '2026-11-23T00:00:00Z']);
  assert.deepEqual(span('2026-11-21T15:59:59Z', 'Asia/Shanghai'), ['2026-11-20T16:00:00Z', '2026-11-21T16:00:00Z']);
  assert.deepEqual(span('2026-11-21T16:00:00Z', 'Asia/Shanghai'), ['2026-11-21T16:00:00Z', '2026-11-22T16:00:00Z']);
  assert.deepEqual(span('2026-12-31T23:59:59Z', 'UTC'), ['2026-12-31T00:00:00Z', '2027-01-01T00:00:00Z']);
  assert.deepEqual(span('2028-02-29T12:00:00Z', 'UTC'), ['2028-02-29T00:00:00Z', '2028-03-01T00:00:00Z']);
  assert.deepEqual(span('2027-02-28T12:00:00Z', 'UTC'), ['2027-02-28T00:00:00Z', '2027-03-01T00:00:00Z']);
});

test('days on which clocks change have 23 or 25 hours', () => {
  assert.deepEqual(span('2026-03-29T12:00:00Z', 'Europe/Berlin'), ['2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z']);
  assert.deepEqual(span('2026-10-25T12:00:00Z', 'Europe/Berlin'), ['2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z']);
  // Where clocks skip midnight, the day starts at 01:00.
  assert.deepEqual(span('2018-11-04T12:00:00Z', 'America/Sao_Paulo'), ['2018-11-04T03:00:00Z', '2018-11-05T02:00:00Z']);
});

const zones = fc.constantFrom(
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Shanghai',
  'Pacific/Auckland',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'Pacific/Kiritimati',
);
const times = fc.integer({ min: at('2020-01-01T00:00:00Z'), max: at('2035-01-01T00:00:00Z') });

test('every time lies in exactly one day, and consecutive days leave no gap', () => {
  fc.assert(
    fc.property(times, zones, (now, zone) => {
      const day = dayAt(now, rule(zone));
      assert.ok(day.startsAt <= now && now < day.endsAt);
      assert.deepEqual(dayAt(day.endsAt - 1, rule(zone)), day);
      assert.equal(dayAt(day.endsAt, rule(zone)).startsAt, day.endsAt);
      const hours = (day.endsAt - day.startsAt) / HOUR_MS;
      assert.ok(hours >= 23 && hours <= 25, `${zone} ${hours}`);
    }),
  );
});

test('switching between zones never starts more days than have passed', () => {
  const moves = fc.array(fc.record({ zone: zones, hours: fc.integer({ min: 0, max: 40 }) }), {
    minLength: 1,
    maxLength: 30,
  });
  fc.assert(
    fc.property(times, moves, (start, steps) => {
      let now = start;
      let current = rule('UTC');
      const days = new Set([dayAt(now, current).startsAt]);
      for (const { zone, hours } of steps) {
        now += hours * HOUR_MS;
        days.add(dayAt(now, current).startsAt);
        current = changeTimeZone(current, zone, now);
        const day = dayAt(now, current);
        assert.ok(day.startsAt <= now && now < day.endsAt);
        days.add(day.startsAt);
      }
      // A day with a clock change is an hour short, and one day may already have started at the beginning.
      assert.ok(days.size <= 2 + (now - start) / (23 * HOUR_MS), `${days.size} days in ${(now - start) / HOUR_MS} h`);
    }),
  );
});

test('spans of a fixed length are counted from activation', () => {
  const from = at('2026-11-21T10:17:03Z');
  const five = 5 * HOUR_MS;
  for (const [offset, index] of [
    [0, 0],
    [five - 1, 0],
    [five, 1],
    [five + 1, 1],
    [2 * five - 1, 1],
  ] as const)
    assert.deepEqual(fixedSpanAt(from + offset, from, five), {
      startsAt: from + index * five,
      endsAt: from + (index + 1) * five,
    });
  fc.assert(
    fc.property(times, times, fc.integer({ min: 1, max: 366 * DAY }), (now, begun, length) => {
      const { startsAt, endsAt } = fixedSpanAt(now, begun, length);
      assert.ok(startsAt <= now && now < endsAt && endsAt - startsAt === length && (startsAt - begun) % length === 0);
    }),
  );
});

const HELD = { activatedAt: 0, expiresAt: Number.POSITIVE_INFINITY };

test('a one-day plan gets its daily quota once, whenever it starts; longer plans refresh at midnight', () => {
  const card = {
    daily_quota: 10,
    refresh_interval_seconds: 0,
    interval_quota: 0,
    weekly_quota_limit: 0,
    monthly_quota_limit: 0,
  };
  const activatedAt = at('2026-11-21T18:00:00Z');
  const startOf = (iso: string, days: number, zone = 'UTC') =>
    windowsAt(at(iso), card, { activatedAt, expiresAt: activatedAt + days * DAY }, rule(zone))[0]?.startsAt;
  for (const iso of ['2026-11-21T18:00:00Z', '2026-11-21T23:59:00Z', '2026-11-22T00:00:00Z', '2026-11-22T17:59:00Z'])
    for (const zone of ['UTC', 'Asia/Shanghai']) assert.equal(startOf(iso, 1, zone), activatedAt, iso);
  // After an extension, the usage of its first day still counts.
  assert.equal(startOf('2026-11-21T20:00:00Z', 2), activatedAt);
  assert.equal(startOf('2026-11-22T00:00:00Z', 2), at('2026-11-22T00:00:00Z'));
  assert.equal(startOf('2026-11-23T12:00:00Z', 30), at('2026-11-23T00:00:00Z'));
});

test('a plan has a day or an interval, plus a week and a month if capped', () => {
  const card = {
    daily_quota: 10,
    refresh_interval_seconds: 0,
    interval_quota: 7,
    weekly_quota_limit: 0,
    monthly_quota_limit: 0,
  };
  const kinds = (change: Partial<typeof card>) =>
    windowsAt(at('2026-11-21T12:00:00Z'), { ...card, ...change }, HELD, rule('UTC')).map(({ kind, limit }) => [
      kind,
      limit,
    ]);
  assert.deepEqual(kinds({}), [['day', 10]]);
  assert.deepEqual(kinds({ refresh_interval_seconds: 60 }), [['interval', 7]]);
  assert.deepEqual(kinds({ weekly_quota_limit: 30 }), [
    ['day', 10],
    ['week', 30],
  ]);
  assert.deepEqual(kinds({ weekly_quota_limit: 30, monthly_quota_limit: 90 }), [
    ['day', 10],
    ['week', 30],
    ['month', 90],
  ]);
});

test('the pace predicts when a window runs out, if before its refresh', () => {
  const window: Window = { kind: 'day', limit: 100, startsAt: 0, endsAt: DAY };
  assert.deepEqual(usagePace(window, 50, 6 * HOUR_MS), { usedPerHour: 8, runsOutAt: 12 * HOUR_MS });
  assert.deepEqual(usagePace(window, 20, 6 * HOUR_MS), { usedPerHour: 3, runsOutAt: 0 });
  assert.deepEqual(usagePace(window, 0, 6 * HOUR_MS), { usedPerHour: 0, runsOutAt: 0 });
  assert.deepEqual(usagePace(window, 100, 6 * HOUR_MS).runsOutAt, 6 * HOUR_MS);
  assert.equal(usagePace(window, 3, HOUR_MS / 60).runsOutAt, 0, 'one small call in the first minute is no pace');
  assert.equal(usagePace(window, 20, HOUR_MS / 60).runsOutAt, 0, 'a burst in the first minute is no pace');
  assert.equal(usagePace(window, 40, HOUR_MS).runsOutAt, 10 * HOUR_MS, 'much at once lasts for hours all the same');
  const halfHour = { ...window, endsAt: DAY / 48 };
  assert.equal(
    usagePace(halfHour, 50, HOUR_MS / 60).runsOutAt,
    0,
    'half an hour before the refresh, a burst is no pace',
  );
});
