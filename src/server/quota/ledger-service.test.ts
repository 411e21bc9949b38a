import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';
import type { Allowances } from './ledger.ts';
import { auditLedger } from './ledger-audit.ts';

/**
 * One plan per account with a single period. The database does not hold its state, so tests undo it by hand after a
 * rollback.
 */
class Plans implements Allowances {
  left = new Map<number, number>();
  async findTerms(_trx: unknown, requests: readonly unknown[]) {
    return requests.map(() => ({ hasAllowance: true, spendLimit: undefined }));
  }
  async findSpendLimit() {
    return undefined;
  }
  async take(_trx: unknown, { userId, amount }: { userId: number; amount: number }) {
    const taken = Math.min(amount, this.left.get(userId) ?? 0);
    this.left.set(userId, (this.left.get(userId) ?? 0) - taken);
    return { taken, slot: String(userId) };
  }
  async giveBack(_trx: unknown, slot: string, amount: number): Promise<number> {
    this.left.set(Number(slot), (this.left.get(Number(slot)) ?? 0) + amount);
    return amount;
  }
  async permittedModels(): Promise<undefined> {}
}

/** Reference model: the ledger in twenty lines of plain arithmetic, without tables or SQL. */
class Model {
  wallet: number;
  plan: number;
  used = 0;
  requests = 0;
  limit: number | undefined;
  tokenUsed = 0;
  readonly open = new Map<string, { amount: number; plan: number; token: boolean }>();

  constructor(wallet: number, plan: number) {
    this.wallet = wallet;
    this.plan = plan;
  }

  reserve(ref: string, amount: number, token: boolean): string | undefined {
    const plan = Math.min(amount, this.plan);
    const exceedsLimit = token && this.limit !== undefined && this.tokenUsed + amount > this.limit;
    if (exceedsLimit && amount > 0) return 'quota_not_enough';
    if (amount - plan > this.wallet) return 'quota_not_enough';
    this.plan -= plan;
    this.wallet -= amount - plan;
    if (token && this.limit !== undefined) this.tokenUsed += amount;
    this.open.set(ref, { amount, plan, token });
    return undefined;
  }

  end(ref: string, cost: number, settles: boolean): number | undefined {
    const reservation = this.open.get(ref);
    if (reservation === undefined) return undefined;
    this.open.delete(ref);
    const reserved = Math.min(cost, reservation.amount);
    const extra = cost - reserved;
    const planExtra = Math.min(extra, this.plan);
    const walletExtra = Math.min(extra - planExtra, this.wallet);
    const charged = reserved + planExtra + walletExtra;
    const fromPlan = Math.min(reserved, reservation.plan);
    this.plan += reservation.plan - fromPlan - planExtra;
    this.wallet += reservation.amount - reservation.plan - (reserved - fromPlan) - walletExtra;
    if (reservation.token && this.limit !== undefined) this.tokenUsed += charged - reservation.amount;
    if (settles) {
      this.used += charged;
      this.requests++;
    }
    return charged;
  }

  grant(amount: number): string | undefined {
    if (this.wallet + amount < 0) return 'quota_not_enough';
    this.wallet += amount;
    return undefined;
  }

  limitTo(limit: number | undefined): void {
    if (limit === undefined || this.limit === undefined)
      this.tokenUsed =
        limit === undefined
          ? 0
          : [...this.open.values()]
              .filter((reservation) => reservation.token)
              .reduce((sum, { amount }) => sum + amount, 0);
    this.limit = limit;
  }
}

const amount = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 0, max: 60 }) },
  { weight: 1, arbitrary: fc.constant(2 ** 40) },
);
const ref = fc.integer({ min: 0, max: 7 });
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('reserve' as const), ref, amount, token: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('settle' as const), ref, amount }) },
  fc.record({ does: fc.constant('refund' as const), ref }),
  fc.record({ does: fc.constant('grant' as const), amount: fc.integer({ min: -80, max: 80 }) }),
  fc.record({ does: fc.constant('limit' as const), limit: fc.option(fc.integer({ min: 0, max: 120 })) }),
);

describe('the ledger', () => {
  forEachDatabase((_name, open) => {
    it('matches a model of plain arithmetic at every step, and passes its audit', async () => {
      const database = await open();
      const plans = new Plans();
      const ledger = openLedger(database, plans);
      let user = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 0, max: 100 }),
          fc.integer({ min: 0, max: 50 }),
          // The default size produces lists of a few steps, in which a settlement rarely meets its reservation.
          fc.array(step, { maxLength: 25, size: 'max' }),
          async (wallet, plan, steps) => {
            const userId = ++user;
            const tokenId = userId;
            const model = new Model(wallet, plan);
            await ledger.open(userId, wallet);
            plans.left.set(userId, plan);
            const used = new Set<string>();
            for (const [index, each] of steps.entries()) {
              const name = 'ref' in each ? `task_${userId}_${each.ref}` : `grant:${userId}:${index}`;
              const planBefore = plans.left.get(userId) ?? 0;
              if (each.does === 'reserve') {
                if (used.has(name)) continue;
                const outcome: unknown = await ledger.reserve(
                  name,
                  userId,
                  each.amount,
                  each.token ? tokenId : undefined,
                );
                assert.equal(outcome, model.reserve(name, each.amount, each.token));
                if (outcome === undefined) used.add(name);
                else plans.left.set(userId, planBefore);
              } else if (each.does === 'settle') {
                assert.equal(await ledger.settle(name, each.amount), model.end(name, each.amount, true));
              } else if (each.does === 'refund') {
                assert.equal(await ledger.refund(name), model.end(name, 0, false) !== undefined);
              } else if (each.does === 'grant') {
                assert.equal(await ledger.grant(userId, each.amount, name), model.grant(each.amount));
              } else {
                await ledger.limit(tokenId, each.limit ?? undefined);
                model.limitTo(each.limit ?? undefined);
              }
              assert.deepEqual(await ledger.quota.wallet(userId), {
                balance: model.wallet,
                used: model.used,
                requests: model.requests,
              });
            }
            assert.equal(plans.left.get(userId), model.plan);
            const limit = (await ledger.quota.tokenLimits([tokenId])).get(tokenId);
            assert.deepEqual(
              limit,
              model.limit === undefined ? undefined : { limit: model.limit, used: model.tokenUsed },
            );
          },
        ),
        { numRuns: 60 },
      );
      assert.deepEqual(await auditLedger(database), []);
    });

    it('gives the same result for a batch as for single calls', async () => {
      const database = await open();
      const plans = new Plans();
      const ledger = openLedger(database, plans);
      const { quota, run } = ledger;
      let user = 0;
      /** Two identical accounts: work is applied to one in batches and to the other step by step. */
      const makeTwin = async (wallet: number, plan: number, limit: number | null) => {
        const userId = ++user;
        await ledger.open(userId, wallet);
        plans.left.set(userId, plan);
        if (limit !== null) await ledger.limit(userId, limit);
        return {
          userId,
          reservation: (index: number, amount: number) => {
            const ref = `task_${userId}_${index}`;
            return {
              ref,
              userId,
              model: 'film',
              amount,
              ...(index % 3 > 0 && { tokenId: userId }),
            };
          },
          state: async () => ({
            wallet: await quota.wallet(userId),
            plan: plans.left.get(userId),
            limit: (await quota.tokenLimits([userId])).get(userId),
            entries: (
              await database.kysely
                .selectFrom('ledger')
                .select(['ref', 'kind', 'amount', 'plan_amount', 'charged', 'model'])
                .where('user_id', '=', userId)
                .execute()
            )
              .map((entry) => JSON.stringify({ ...entry, ref: entry.ref.replace(String(userId), '') }))
              .sort(),
            usage: await database.kysely
              .selectFrom('usage_daily')
              .select(['model', 'requests', 'quota', 'prompt_tokens', 'completion_tokens'])
              .where('user_id', '=', userId)
              .orderBy('model')
              .orderBy('token_id')
              .execute(),
          }),
        };
      };
      const small = fc.integer({ min: 0, max: 60 });
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 0, max: 1_500 }),
          fc.integer({ min: 0, max: 200 }),
          fc.option(fc.integer({ min: 0, max: 1_500 })),
          fc.array(fc.record({ amount: small, cost: fc.option(small) }), { minLength: 1, maxLength: 45 }),
          async (wallet, plan, limit, calls) => {
            const together = await makeTwin(wallet, plan, limit);
            const alone = await makeTwin(wallet, plan, limit);
            const outcome = await run((trx) =>
              quota.charge(trx, {
                reservations: calls.map(({ amount }, index) => together.reservation(index, amount)),
              }),
            );
            if (typeof outcome === 'string') {
              const sum = calls.reduce((total, { amount }) => total + amount, 0);
              assert.ok(
                sum > wallet + plan || (limit !== null && sum > limit),
                'refused only where not all of it is there',
              );
              assert.equal((await quota.wallet(together.userId)).balance, wallet);
              return;
            }
            for (const [index, { amount }] of calls.entries())
              assert.equal(await run((trx) => quota.reserve(trx, alone.reservation(index, amount))), undefined);
            assert.deepEqual(await together.state(), await alone.state());
            const ends = calls.map(({ amount, cost }, index) => ({
              index,
              beyond: (cost ?? 0) > amount,
              ...(cost === null ? {} : { cost, use: { promptTokens: index, completionTokens: cost } }),
            }));
            ends.sort((one, other) => Number(one.beyond) - Number(other.beyond));
            const charged = await run((trx) =>
              quota.charge(trx, {
                settlements: [...ends, ...ends].map((end) => ({ ...end, ref: `task_${together.userId}_${end.index}` })),
              }),
            );
            const singly: unknown[] = [];
            for (const end of ends) {
              const [one] = await database.transaction((trx) =>
                quota.charge(trx, { settlements: [{ ...end, ref: `task_${alone.userId}_${end.index}` }] }),
              );
              singly.push(one);
            }
            assert.deepEqual(charged, [...singly, ...ends.map(() => undefined)]);
            assert.deepEqual(await together.state(), await alone.state());
          },
        ),
        { numRuns: 60 },
      );
      assert.deepEqual(await auditLedger(database), []);
    });

    it('accepts exactly as many of 200 concurrent reservations as the balance covers', async () => {
      const database = await open();
      const ledger = openLedger(database);
      for (const [userId, affordable] of [
        [1, 0],
        [2, 1],
        [3, 37],
        [4, 200],
      ] as const) {
        await ledger.open(userId, affordable * 10 + 9);
        const outcomes = await Promise.all(
          Array.from({ length: 200 }, (_, i) => ledger.reserve(`task_${userId}_${i}`, userId, 10)),
        );
        assert.equal(outcomes.filter((outcome) => outcome === undefined).length, affordable);
        assert.equal(outcomes.filter((outcome) => outcome === 'quota_not_enough').length, 200 - affordable);
        assert.equal((await ledger.quota.wallet(userId)).balance, 9);
      }
      assert.deepEqual(await auditLedger(database), []);
    });

    it('enforces the limit of a token under concurrent requests', async () => {
      const database = await open();
      const ledger = openLedger(database);
      await ledger.open(1, 1_000_000);
      await ledger.limit(5, 105);
      const outcomes = await Promise.all(Array.from({ length: 60 }, (_, i) => ledger.reserve(`task_${i}`, 1, 10, 5)));
      assert.equal(outcomes.filter((outcome) => outcome === undefined).length, 10);
      assert.equal(outcomes.filter((outcome) => outcome === 'quota_not_enough').length, 50);
      assert.deepEqual((await ledger.quota.tokenLimits([5])).get(5), { limit: 105, used: 100 });
      assert.equal((await ledger.quota.wallet(1)).balance, 1_000_000 - 100, 'a refused one took nothing');
      assert.deepEqual(await auditLedger(database), []);
    });

    it('T75: closes a reservation once, however many code paths close it concurrently', async () => {
      const database = await open();
      const ledger = openLedger(database);
      await ledger.open(1, 10_000);
      const refs = Array.from({ length: 60 }, (_, i) => `task_${i}`);
      for (const each of refs) await ledger.reserve(each, 1, 100);
      const ends = await Promise.all(
        refs.map((each, i) =>
          Promise.all([
            ledger.refund(each),
            ledger.refund(each),
            i % 2 === 0 ? ledger.settle(each, 30) : ledger.refund(each),
          ]),
        ),
      );
      let charged = 0;
      for (const [i, outcomes] of ends.entries()) {
        assert.equal(outcomes.filter((outcome) => outcome === true || typeof outcome === 'number').length, 1, `${i}`);
        charged += outcomes.filter((outcome) => typeof outcome === 'number').reduce((sum, each) => sum + each, 0);
      }
      assert.deepEqual(await ledger.quota.wallet(1), {
        balance: 10_000 - charged,
        used: charged,
        requests: charged / 30,
      });
      assert.deepEqual(await auditLedger(database), []);
    });

    it('T77: stays consistent under concurrent reservations, settlements, grants and limit changes', async () => {
      const database = await open();
      const ledger = openLedger(database);
      await ledger.open(1, 3_000);
      await ledger.open(2, 3_000);
      await ledger.limit(9, 2_000);
      await Promise.all(
        Array.from({ length: 150 }, async (_, i) => {
          const userId = (i % 2) + 1;
          const name = `task_${i}`;
          const outcome: unknown = await ledger.reserve(name, userId, 10 + (i % 7) * 10, i % 3 === 0 ? 9 : undefined);
          if (i % 10 === 0) await ledger.grant(userId, i % 20 === 0 ? -50 : 40, `grant:${i}`);
          if (outcome === undefined) {
            if (i % 5 === 0) await Promise.all([ledger.settle(name, 500), ledger.refund(name)]);
            else if (i % 5 < 4) await ledger.settle(name, i % 4 === 0 ? 200 : 5);
          }
        }),
      );
      assert.deepEqual(await auditLedger(database), []);
      for (const userId of [1, 2]) assert.ok((await ledger.quota.wallet(userId)).balance >= 0);
    });

    it('grants once per cause, and never beyond the safe integer range', async () => {
      const database = await open();
      const ledger = openLedger(database);
      await ledger.open(1, 0);
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => ledger.grant(1, 5, 'code:7')));
      assert.equal(outcomes.filter((outcome) => outcome === undefined).length, 1);
      assert.equal(outcomes.filter((outcome) => outcome === 'already_exists').length, 19);
      assert.equal(await ledger.grant(1, 9_000_000_000_000_000, 'much'), 'invalid_request');
      assert.equal(await ledger.grant(1, -6, 'back'), 'quota_not_enough');
      assert.equal((await ledger.quota.wallet(1)).balance, 5);
      for (const junk of [0.5, -1, Number.NaN, 2 ** 53, Infinity]) {
        await assert.rejects(ledger.reserve('junk', 1, junk), TypeError);
        await assert.rejects(ledger.settle('junk', junk), TypeError);
        if (junk !== -1) await assert.rejects(ledger.grant(1, junk, 'junk'), TypeError);
      }
      assert.deepEqual(await auditLedger(database), []);
    });

    it('reports every kind of inconsistency in a ledger', async () => {
      const database = await open();
      const ledger = openLedger(database);
      await ledger.open(1, 1_000);
      for (const each of ['a', 'b', 'c', 'd']) await ledger.reserve(`task_${each}`, 1, 100);
      await ledger.settle('task_a', 60);
      await ledger.refund('task_b');
      assert.deepEqual(await auditLedger(database), []);
      const { kysely } = database;
      await kysely.updateTable('wallets').set({ balance: 5, used: 1, requests: 9 }).execute();
      await kysely.updateTable('usage_daily').set({ quota: 7 }).execute();
      await kysely.updateTable('reservations').set({ amount: 101 }).where('ref', '=', 'task_c').execute();
      await kysely.deleteFrom('reservations').where('ref', '=', 'task_d').execute();
      await kysely
        .updateTable('ledger')
        .set({ charged: 61 })
        .where('ref', '=', 'task_a')
        .where('kind', '=', 'settle')
        .execute();
      await kysely.insertInto('token_limits').values({ token_id: 3, quota_limit: 1, used: -1 }).execute();
      const rules = new Set((await auditLedger(database)).map(({ rule }) => rule));
      assert.deepEqual([...rules].sort(), [
        'a reservation is open or ended once',
        'a token counts its open reservations',
        'an open reservation holds what was taken',
        'balance is the sum of its entries',
        'daily use is the sum of what was charged',
        'requests is the number of settlements',
        'used is the sum of what was charged',
        'what was taken is charged or given back',
      ]);
    });
  });
});
