import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HOUR_MS } from '../../contract/time-units.ts';
import { CsrfProtection, formatRequestTime } from './page-routes.ts';

describe('CSRF values of the page forms', () => {
  const guard = new CsrfProtection(Buffer.alloc(32, 1));
  const binding = { browser: 'b', session: 's', subject: 'BCDFGHJK' };
  const value = guard.issue('approve', binding, 0);

  it('are accepted for an hour, for their own action and binding', () => {
    assert.equal(guard.check(value, 'approve', binding, HOUR_MS - 1), true);
    assert.equal(guard.check(value, 'approve', binding, HOUR_MS), false);
    assert.equal(guard.check(value, 'deny', binding, 0), false);
    assert.equal(guard.check(value, 'approve', { ...binding, browser: 'x' }, 0), false);
    assert.equal(guard.check(value, 'approve', { ...binding, session: undefined }, 0), false);
    assert.equal(guard.check(value, 'approve', { ...binding, subject: 'x' }, 0), false);
  });

  it('cannot be extended or forged', () => {
    const [, signature] = value.split('.');
    assert.equal(guard.check(`${9 * HOUR_MS}.${signature}`, 'approve', binding, 0), false);
    assert.equal(new CsrfProtection(Buffer.alloc(32, 2)).check(value, 'approve', binding, 0), false);
    for (const junk of ['', '.', value.slice(0, -1), `${9 * HOUR_MS}.`])
      assert.equal(guard.check(junk, 'approve', binding, 0), false);
  });
});

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
