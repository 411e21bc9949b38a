import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isTimeZone, manualClock, zonedTime } from './clock.ts';

it('a manual clock changes only when set', () => {
  const clock = manualClock(1000);
  assert.equal(clock.now(), 1000);
  clock.advance(50);
  assert.equal(clock.now(), 1050);
});

it('knows the zones that times can be calculated in, and no others', () => {
  for (const name of ['UTC', 'Europe/Berlin', 'asia/shanghai', 'Asia/Calcutta', 'EST5EDT', 'Etc/GMT-14'])
    assert.equal(isTimeZone(name), true, name);
  // The engine formats dates in the abbreviations, but calculates none.
  for (const name of ['CST', 'PST', 'JST', 'IST', 'BST', 'SystemV/PST8', '+08:00', 'Mars/Olympus', 'Z', ''])
    assert.equal(isTimeZone(name), false, name);
  for (const name of Intl.supportedValuesOf('timeZone')) assert.equal(isTimeZone(name), true, name);
});

it('counts a stored zone that is none as UTC', () => {
  assert.equal(zonedTime(0, 'Asia/Shanghai').hour, 8);
  for (const name of ['CST', 'Mars/Olympus', '']) assert.equal(zonedTime(0, name).timeZoneId, 'UTC');
});
