import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { COLLECT_MS, formatTimeOfDay, mailTime, parseTimeOfDay } from './mails.ts';

const at = (text: string): number => Date.parse(text);
const NIGHT = { digestAt: null, quietFrom: parseTimeOfDay('22:00'), quietTo: parseTimeOfDay('07:30') };
const ALWAYS = { digestAt: null, quietFrom: null, quietTo: null };

describe('when a notification is mailed', () => {
  it('is a minute later by day, and the end of the quiet hours, which may span midnight', () => {
    const noon = at('2026-11-23T12:00:00Z');
    assert.equal(mailTime(noon, ALWAYS, 'UTC'), noon + COLLECT_MS);
    assert.equal(mailTime(noon, NIGHT, 'UTC'), noon + COLLECT_MS);
    for (const [now, expected] of [
      ['2026-11-23T21:58:59Z', '2026-11-23T21:59:59Z'],
      ['2026-11-23T21:59:00Z', '2026-11-24T07:30:00Z'],
      ['2026-11-23T23:50:00Z', '2026-11-24T07:30:00Z'],
      ['2026-11-24T00:10:00Z', '2026-11-24T07:30:00Z'],
      ['2026-11-24T07:29:00Z', '2026-11-24T07:30:00Z'],
    ] as const)
      assert.equal(mailTime(at(now), NIGHT, 'UTC'), at(expected), now);
  });

  it("respects quiet hours within one day, and hours in the account's time zone", () => {
    const lunch = { digestAt: null, quietFrom: parseTimeOfDay('12:00'), quietTo: parseTimeOfDay('13:00') };
    assert.equal(mailTime(at('2026-11-23T04:30:00Z'), lunch, 'Asia/Shanghai'), at('2026-11-23T05:00:00Z'));
    assert.equal(mailTime(at('2026-11-23T12:30:00Z'), lunch, 'Asia/Shanghai'), at('2026-11-23T12:31:00Z'));
  });

  it('is the next digest, also on days on which clocks change', () => {
    const morning = { digestAt: parseTimeOfDay('08:00'), quietFrom: null, quietTo: null };
    assert.equal(mailTime(at('2026-11-23T07:59:59Z'), morning, 'UTC'), at('2026-11-23T08:00:00Z'));
    assert.equal(mailTime(at('2026-11-23T08:00:00Z'), morning, 'UTC'), at('2026-11-24T08:00:00Z'));
    // 29 March 2026: 02:30 does not exist in Berlin.
    const skipped = { digestAt: parseTimeOfDay('02:30'), quietFrom: null, quietTo: null };
    assert.equal(mailTime(at('2026-03-28T20:00:00Z'), skipped, 'Europe/Berlin'), at('2026-03-29T01:30:00Z'));
  });

  it('formats times of day as they are parsed', () => {
    for (const text of ['00:00', '07:05', '23:59']) assert.equal(formatTimeOfDay(parseTimeOfDay(text)), text);
  });
});
