import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatRecentPast, spaceNumber } from './format-recent-past.ts';

test('recent times match Intl, and times under a minute read just now', () => {
  assert.deepEqual([formatRecentPast('en', 'minute', 0), formatRecentPast('zh-cn', 'minute', 0)], ['just now', '刚刚']);
  let written = 0;
  for (const language of ['en', 'zh-cn'] as const) {
    const intl = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
    for (const unit of ['minute', 'hour', 'day', 'month', 'year'] as const)
      for (let count = -3; count < 60; count += 1) {
        const text = formatRecentPast(language, unit, count);
        if (text === undefined || count === 0) continue;
        written += 1;
        assert.equal(text, spaceNumber(intl.format(-count, unit)));
      }
  }
  assert.ok(written > 300, 'most are formatted without Intl');
});
