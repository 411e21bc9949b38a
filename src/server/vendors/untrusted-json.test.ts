import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../platform/json.ts';
import { billedSeconds, billedUnits } from './adapter.ts';
import { asCode, asId, asPercent, asUnixSeconds, asUrl, firstUrl, isForeignId } from './untrusted-json.ts';

test('an id keeps all its digits and characters', () => {
  const { id } = parseJson('{"id": 12345678901234567891}', { longIntegersAsText: true }) as { id: unknown };
  assert.equal(asId(id), '12345678901234567891');
  assert.equal(asId(318402915563201), '318402915563201');
  assert.equal(asId(` ${'x'.repeat(600)}\n`), 'x'.repeat(600));
  for (const value of [null, undefined, '', ' ', 'a b', 1.5, 2 ** 60, {}, 'x'.repeat(5_000)])
    assert.equal(asId(value), undefined);
});

test('null and empty values do not refer to another object', () => {
  for (const value of [undefined, null, '', '7', 7]) assert.equal(isForeignId(value, '7'), false);
  for (const value of ['8', 8, {}, []]) assert.equal(isForeignId(value, '7'), true);
});

test('a code is a number or its text', () => {
  assert.deepEqual([0, '0', ' 1102 ', 'success'].map(asCode), ['0', '0', '1102', 'success']);
  assert.deepEqual([null, undefined, '', {}, true].map(asCode), Array(5).fill(undefined));
});

test('a URL is trimmed, and gets https if it has no scheme', () => {
  const url = 'https://cdn.vendor.com/a.mp4?sig=x';
  for (const value of [url, `\n ${url} \r\n`, 'cdn.vendor.com/a.mp4?sig=x', '//cdn.vendor.com/a.mp4?sig=x'])
    assert.equal(asUrl(value), url);
  for (const value of ['x', '', 'a.mp4', '/a/b.mp4', 'ftp://a.b/c', 'javascript:alert(1)', 'no url.com/x', null, 7])
    assert.equal(asUrl(value), undefined, String(value));
});

test('of several results the first with a URL counts', () => {
  const url = 'https://cdn.vendor.com/a.mp4';
  assert.equal(firstUrl([{ url: '' }, { url: null }, { url }, { url: 'https://b.com/' }]), url);
  assert.equal(firstUrl(['', url]), url);
  assert.equal(firstUrl({ video_url: url }, ['url', 'video_url']), url);
  assert.equal(firstUrl([]), undefined);
  assert.equal(firstUrl(null), undefined);
});

test('progress is a whole number from 0 to 100', () => {
  const cases: [unknown, number | undefined][] = [
    ...([
      ['45%', 45],
      ['45', 45],
      [45.9, 45],
      [0.45, 45],
      ['0.4', 40],
      ['0.5%', 0],
      [0.07, 7],
    ] as [unknown, number][]),
    ...([
      [105, 100],
      [-1, 0],
      [0, 0],
      [1, 1],
      [null, undefined],
      ['soon', undefined],
    ] as [unknown, number][]),
  ];
  for (const [value, percent] of cases) assert.equal(asPercent(value), percent, String(value));
});

test('units of time are recognised by magnitude', () => {
  for (const value of [1795844300123, 1795844300, '1795844300123', ' 1795844300 ', 1795844300.9, 1795844300123456])
    assert.equal(asUnixSeconds(value), 1795844300, String(value));
  assert.equal(asUnixSeconds('2026-11-28T06:18:20.123Z'), Date.parse('2026-11-28T06:18:20Z') / 1_000);
  for (const value of [null, undefined, 0, -1, '', 'soon', {}, Number.NaN])
    assert.equal(asUnixSeconds(value), undefined);
});

test('a usage of zero is treated as missing', () => {
  assert.deepEqual(billedUnits(0, '0', null, '2.5'), { units: 2.5 });
  assert.deepEqual(billedSeconds(0, 4.1), { seconds: 5 });
  for (const value of [0, '0', '0.00', null, undefined, -1, 'x', 0.0000001])
    assert.equal(billedUnits(value), undefined);
});
