import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Notice } from '../notifications/notifier.ts';
import { manualClock } from '../platform/clock.ts';
import type { Trx } from '../tables.ts';
import { notifyLowBalance } from './ledger-service.ts';

const NO_TRANSACTION = {} as Trx;

describe('low balance notice', () => {
  /** The notices sent while wallets changed from the first balance of each pair to the second. */
  const noticesOf = async (threshold: number, changes: readonly (readonly [number, number])[]): Promise<Notice[]> => {
    const notices: Notice[] = [];
    const notifier = { notify: async (_trx: Trx, notice: Notice) => void notices.push(notice) };
    const listen = notifyLowBalance(
      notifier,
      manualClock(Date.UTC(1970, 0, 3)),
      () => threshold,
      () => ({
        quotaPerCredit: 10,
        currency: '',
      }),
    );
    for (const [before, after] of changes) await listen(NO_TRANSACTION, 7, { before, after });
    return notices;
  };

  it('is sent when a wallet falls below the threshold', async () => {
    const [notice, ...more] = await noticesOf(100, [[100, 99]]);
    assert.deepEqual(more, []);
    assert.equal(notice?.userId, 7);
    assert.equal(notice.topic, 'quota.low');
    assert.equal(notice.deduplicationKey, 'quota.low:7:2', 'once a day for each wallet');
    assert.match(notice.content.en, /^9\.90 credits left\.$/);
    assert.match(notice.content['zh-CN'], /9\.90 积分/);
  });

  it('is not sent at the threshold, again below the threshold, or far above the threshold', async () => {
    assert.deepEqual(
      await noticesOf(100, [
        [150, 100],
        [99, 98],
        [99, 0],
        [500, 400],
      ]),
      [],
    );
  });

  it('is never sent with the threshold 0', async () => {
    assert.deepEqual(
      await noticesOf(0, [
        [1, 0],
        [0, 0],
      ]),
      [],
    );
  });
});
