import assert from 'node:assert/strict';
import { it } from 'node:test';
import { manualClock } from '../platform/clock.ts';
import { createRateLimits } from '../platform/limits/rate-limits.ts';
import { openLog } from '../platform/log.ts';
import { ShareAccess, type ShareRow, type ShareStore } from './shares.ts';
import type { TaskStore } from './task-store.ts';

const share = { id: 7, password_hash: 'right' } as ShareRow;

const open = (): ShareAccess => {
  const clock = manualClock(0);
  return new ShareAccess({
    store: {} as TaskStore,
    shares: {} as ShareStore,
    passwords: { verify: async (password, hash) => password === hash },
    rateLimits: createRateLimits({ clock }),
    masterKey: Buffer.alloc(32),
    clock,
    log: openLog('silent'),
  });
};
const isRefused = { code: 'rate_limit_exceeded' };

it('T98: password guesses from many networks lock out no viewer', async () => {
  const access = open();
  for (let network = 0; network < 100; network++)
    for (let guess = 0; guess < 10; guess++)
      assert.equal(await access.unlock(share, `guess ${guess}`, `203.0.113.${network}`), undefined);
  await assert.rejects(access.unlock(share, 'right', '203.0.113.1'), isRefused);
  assert.ok(await access.unlock(share, 'right', '198.51.100.1'));
});

it('T98: the networks of one IPv6 site share a count', async () => {
  const access = open();
  for (let network = 0; network < 40; network++)
    assert.equal(await access.unlock(share, 'wrong', `2001:db8:1:${network}::1`), undefined);
  await assert.rejects(access.unlock(share, 'right', '2001:db8:1:ffff::1'), isRefused);
  assert.ok(await access.unlock(share, 'right', '2001:db8:2::1'));
});

it('T98: correct passwords count against their own limit, not against that of guesses', async () => {
  const access = open();
  for (let index = 0; index < 60; index++) assert.ok(await access.unlock(share, 'right', '198.51.100.1'));
  await assert.rejects(access.unlock(share, 'right', '198.51.100.1'), isRefused);
  assert.ok(await access.unlock(share, 'right', '198.51.100.2'));
});
