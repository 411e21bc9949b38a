import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toDurationText } from './duration-text.ts';

test('every duration has one form', () => {
  const seconds = [0, 0.0004, 0.84, 1, 3.83, 9.96, 45, 89.6, 125, 120, 3_600, 6_000];
  assert.deepEqual(
    seconds.map((each) => toDurationText(each, 'en')),
    ['0 s', '1 ms', '840 ms', '1 s', '3.8 s', '10 s', '45 s', '1 min 30 s', '2 min 5 s', '2 min', '1 h', '1 h 40 min'],
  );
  assert.equal(toDurationText(-3, 'en'), '0 s');
  assert.equal(toDurationText(125, 'zh-cn'), '2 分钟 5 秒');
});
