import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatRequestTime } from './page-routes.ts';

describe('the request time on the approval page', () => {
  it('is relative and absolute, in UTC', () => {
    const at = Date.UTC(2026, 10, 21, 12);
    assert.equal(formatRequestTime(at, at + 59_999, 'en'), 'this minute (Nov 21, 2026, 12:00 PM UTC)');
    assert.match(formatRequestTime(at, at + 60_000, 'en'), /^1 minute ago/);
    assert.match(formatRequestTime(at, at + 150_000, 'en'), /^2 minutes ago/);
    assert.equal(formatRequestTime(at, at, 'zh-CN'), '此刻（2026年11月21日 12:00 UTC）');
    assert.match(formatRequestTime(at, at - 150_000, 'en'), /^this minute/, 'clocks that differ');
  });
});
