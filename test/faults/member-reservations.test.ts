import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HOUR_MS } from '../../src/contract/time-units.ts';
import { manualClock } from '../../src/server/platform/clock.ts';
import type { SpendSubject } from '../../src/server/quota/spend-limits.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { openLedger } from '../ledger-fixture.ts';
import { seededRandom } from '../seeded-random.ts';

/** Reservations of all members; 50,000 in `npm run hammer`. */
const RESERVATIONS = Number(process.env.MEMBER_RESERVATIONS ?? '600');
const MEMBERS = 20;
const PARALLEL = 200;
const ORGANIZATION = 1;
const MEMBER_LIMIT = 900;
const WALLET = 12_000;
const ORGANIZATION_LIMIT = 11_000;

/**
 * Twenty members reserve, settle and refund in parallel, by the ledgers of two processes. At no time may the sum of what
 * is reserved and charged exceed the wallet, the limit of the organization or that of a member.
 */
describe('reservations of the members of an organization', () => {
  forEachDatabase((_name, open) => {
    it('exceed neither the wallet nor any limit', { timeout: 280_000 }, async () => {
      const clock = manualClock(Date.parse('2026-11-28T18:00:00Z'));
      const database = await open();
      const ledgers = [openLedger(database, undefined, clock), openLedger(database, undefined, clock)] as const;
      const [{ quota, open: openWallet, spendLimit }] = ledgers;
      const random = seededRandom(7);
      const memberOf = (id: number): SpendSubject => ({ kind: 'member', id, organizationId: ORGANIZATION });
      await openWallet(ORGANIZATION, WALLET);
      await spendLimit({ kind: 'account', id: ORGANIZATION }, { amount: ORGANIZATION_LIMIT, period: 'month' });
      for (let id = 1; id <= MEMBERS; id++) await spendLimit(memberOf(id), { amount: MEMBER_LIMIT, period: 'day' });

      const spentOf = async (subject: SpendSubject): Promise<number> =>
        [...(await quota.spendLimits([subject])).values()][0]?.spent ?? 0;
      const assertWithinLimits = async (): Promise<void> => {
        assert.ok((await quota.wallet(ORGANIZATION)).balance >= 0);
        assert.ok((await spentOf({ kind: 'account', id: ORGANIZATION })) <= ORGANIZATION_LIMIT);
        for (let id = 1; id <= MEMBERS; id++) assert.ok((await spentOf(memberOf(id))) <= MEMBER_LIMIT);
      };
      const outcomes = new Map<string, number>();
      const count = (outcome: string): void => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);

      async function callOnce(index: number): Promise<void> {
        const { run, quota: ledger, refund, settle } = ledgers[index % 2] ?? ledgers[0];
        const actorId = 1 + (index % MEMBERS);
        const amount = 1 + Math.floor(random() * 40);
        const ref = `r${index}`;
        const refused = await run((trx) =>
          ledger.reserve(trx, { ref, userId: ORGANIZATION, actorId, model: 'film', amount }),
        );
        count(String(refused ?? 'reserved'));
        if (refused !== undefined) return;
        if (random() < 0.6) await refund(ref);
        else await settle(ref, Math.floor(random() * (amount + 1)));
      }

      for (let start = 0; start < RESERVATIONS; start += PARALLEL) {
        const size = Math.min(PARALLEL, RESERVATIONS - start);
        await Promise.all(Array.from({ length: size }, (_, index) => callOnce(start + index)));
        await assertWithinLimits();
        // A new day renews the limits of the members, not that of the organization.
        if (start % (PARALLEL * 10) === 0) clock.advance(HOUR_MS);
      }
      const total = [...outcomes.values()].reduce((sum, each) => sum + each, 0);
      assert.equal(total, RESERVATIONS);
      assert.ok((outcomes.get('reserved') ?? 0) > 0);
      const { charged } = await database.kysely
        .selectFrom('ledger')
        .select((row) => row.fn.sum<number>('charged').as('charged'))
        .where('user_id', '=', ORGANIZATION)
        .executeTakeFirstOrThrow();
      const { balance } = await quota.wallet(ORGANIZATION);
      assert.equal(balance, WALLET - Number(charged), 'every reservation was closed');
    });
  });
});
