import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRetryAfter } from './outbound.ts';

const now = Date.parse('Sat, 21 Nov 2026 11:00:00 GMT');
const read = (text: string, more: Readonly<Record<string, string>> = {}) =>
  parseRetryAfter({ 'retry-after': text, ...more }, now);

test('Retry-After is seconds or a date, compared with the clock of its sender', () => {
  assert.equal(read('7'), 7_000);
  assert.equal(read(' 0 '), 0);
  assert.equal(read('1.2'), 1_200);
  assert.equal(read('Sat, 21 Nov 2026 11:00:30 GMT'), 30_000);
  assert.equal(read('Sat, 21 Nov 2026 10:00:00 GMT'), 0);
  assert.equal(read('Sat, 21 Nov 2026 11:00:30 GMT', { date: 'Sat, 21 Nov 2026 11:00:10 GMT' }), 20_000);
  assert.equal(read('9', { 'retry-after-ms': '4200' }), 4_200);
});

test('an invalid Retry-After is ignored', () => {
  for (const text of ['', '-1', 'soon', '1e9', '99999999999999999999', 'Sat, never'])
    assert.equal(read(text), undefined, text);
  assert.equal(parseRetryAfter({}, now), undefined);
});
