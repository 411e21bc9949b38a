import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { auditLedger } from '../../src/server/quota/ledger-audit.ts';
import { openReadOnly } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { middayClock } from '../midday-clock.ts';
import { assertAllowancesConsistent } from '../plans/assert-allowances-consistent.ts';
import { INITIAL_QUOTA, idOf, startVideoService, type VideoService } from './video-fixture.ts';

const VENDORS = [
  { name: 'kling', model: 'kling-v1-6' },
  { name: 'sora', model: 'sora-2' },
] as const;
/** Five seconds of kling-v1-6. */
const PRICE = 5 * 28_000;

interface Own {
  readonly package_code: string;
  readonly allowance_left: number;
  readonly wallet: number;
}

describe('a plan that pays for videos', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    let url: string;
    before(async () => {
      url = await freshUrl();
      service = await startVideoService(
        url,
        { overrides: { clock: middayClock }, sandbox: { clock: middayClock } },
        VENDORS,
      );
      await service.operator.requestData('POST', '/api/admin/package-cards', {
        package_code: 'films',
        name: 'Films',
        level: 1,
        duration_days: 30,
        daily_quota: 2.5 * PRICE,
        models: ['kling-v1-6'],
      });
      const { codes } = await service.operator.requestData<{ codes: string[] }>('POST', '/api/admin/redemption-codes', {
        package_code: 'films',
        count: 1,
      });
      await service.operator.requestData('POST', '/api/user/redeem', { code: codes[0] });
    });
    after(() => service.stop());
    const left = async () => {
      const { allowance_left, wallet } = await service.operator.requestData<Own>('GET', '/api/user/package');
      return [allowance_left / PRICE, (INITIAL_QUOTA - wallet) / PRICE];
    };

    /** Ledger entries of the failed task, the only refunded one. */
    const entries = async () => {
      const database = openReadOnly(url);
      const { kysely } = database;
      const refunded = kysely.selectFrom('ledger').select('ref').where('kind', '=', 'refund');
      const rows = await kysely
        .selectFrom('ledger')
        .select(['kind', 'amount', 'plan_amount'])
        .where('ref', 'in', refunded)
        .orderBy('id')
        .execute();
      await database.close();
      return rows;
    };

    it('charges the allowance first and the wallet for the rest, and refunds a failure', async () => {
      assert.deepEqual(await left(), [2.5, 0]);
      const first = await service.caller.submit({ model: 'kling-v1-6', prompt: 'a paid film' });
      assert.deepEqual(await left(), [1.5, 0]);
      const second = await service.caller.submit({ model: 'kling-v1-6', prompt: 'another paid film' });
      assert.deepEqual(await left(), [0.5, 0]);
      const failing = await service.caller.submit({ model: 'kling-v1-6', prompt: 'no film [fail]' });
      assert.equal((await service.caller.waitUntilEnded(idOf(failing))).status, 'failed');
      assert.deepEqual(await left(), [0.5, 0]);
      assert.deepEqual(await entries(), [
        { kind: 'reserve', amount: -PRICE / 2, plan_amount: -PRICE / 2 },
        { kind: 'refund', amount: PRICE / 2, plan_amount: PRICE / 2 },
      ]);
      const third = await service.caller.submit({ model: 'kling-v1-6', prompt: 'a film paid twice' });
      assert.deepEqual(await left(), [0, 0.5]);
      for (const paid of [first, second, third])
        assert.equal((await service.caller.waitUntilEnded(idOf(paid))).status, 'completed');
      assert.deepEqual(await left(), [0, 0.5]);
      const { used_quota } = await service.operator.quota();
      assert.equal(used_quota, 3 * PRICE);
    });

    it('serves only the models of the plan', async () => {
      for (const path of ['/v1/videos', '/v1/video/generations']) {
        const refused = await service.caller.request('POST', path, { model: 'sora-2', prompt: 'not in the card' });
        assert.deepEqual([refused.status, refused.body.code], [403, 'model_not_allowed']);
      }
      const { body } = await service.caller.request('GET', '/v1/models');
      assert.deepEqual(
        (body.data as unknown as { id: string }[]).map(({ id }) => id),
        ['kling-v1-6'],
      );
      assert.deepEqual(await left(), [0, 0.5]);
    });

    it('keeps the ledger consistent', async () => {
      const database = openReadOnly(url);
      try {
        assert.deepEqual(await auditLedger(database), []);
        await assertAllowancesConsistent(database);
      } finally {
        await database.close();
      }
    });
  });
});
