import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';
import { leftOf } from '../../contract/amounts.ts';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import { isAppError } from '../platform/app-error.ts';
import { manualClock } from '../platform/clock.ts';
import { DatabaseUnavailableError } from '../platform/db/database.ts';
import { NO_ALLOWANCES } from './ledger-service.ts';
import { type SpendSubject, spendWindowOf } from './spend-limits.ts';

const at = (text: string): number => Date.parse(text);
const iso = ({ startsAt, endsAt }: { readonly startsAt: number; readonly endsAt: number }) =>
  [startsAt, endsAt].map((each) => new Date(each).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length));

describe('a spend window', () => {
  it('is a calendar day, a week from Monday or a month in the time zone', () => {
    const saturday = at('2026-11-28T18:00:00Z');
    assert.deepEqual(iso(spendWindowOf('day', saturday, 'UTC')), ['2026-11-28T00:00', '2026-11-29T00:00']);
    assert.deepEqual(iso(spendWindowOf('week', saturday, 'UTC')), ['2026-11-23T00:00', '2026-11-30T00:00']);
    assert.deepEqual(iso(spendWindowOf('month', saturday, 'UTC')), ['2026-11-01T00:00', '2026-12-01T00:00']);
    assert.deepEqual(iso(spendWindowOf('day', saturday, 'Asia/Shanghai')), ['2026-11-28T16:00', '2026-11-29T16:00']);
    const monday = at('2026-11-30T00:00:00Z');
    assert.deepEqual(iso(spendWindowOf('week', monday, 'UTC')), ['2026-11-30T00:00', '2026-12-07T00:00']);
    assert.deepEqual(iso(spendWindowOf('week', monday - 1, 'UTC')), ['2026-11-23T00:00', '2026-11-30T00:00']);
  });

  it('is as long as the day where clocks change', () => {
    const { startsAt, endsAt } = spendWindowOf('day', at('2026-03-29T12:00:00Z'), 'Europe/Berlin');
    assert.equal(endsAt - startsAt, 23 * HOUR_MS);
  });
});

/** Repeats work that found no free connection within five seconds, as on a busy machine; nothing has happened then. */
async function untilConnected<R>(work: () => Promise<R>): Promise<R> {
  for (let tries = 0; ; tries++)
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError) || tries === 20) throw error;
    }
}

describe('spend limits', () => {
  forEachDatabase((_name, open) => {
    const TOKEN: SpendSubject = { kind: 'token', id: 5 };
    const ACCOUNT: SpendSubject = { kind: 'account', id: 1 };
    const start = async () => {
      const clock = manualClock(at('2026-11-28T18:00:00Z'));
      const database = await open();
      const ledger = openLedger(database, undefined, clock);
      await ledger.open(1, 10_000);
      await ledger.open(2, 10_000);
      const spent = async (subject: SpendSubject) =>
        [...(await ledger.quota.spendLimits([subject])).values()][0]?.spent;
      return { clock, database, ledger, spent };
    };

    it('are kept by a window that was begun in another time zone, until it ends', async () => {
      const { clock, database, ledger } = await start();
      const inZone = (zone: string) => openLedger(database, undefined, clock, zone);
      const [utc, tokyo] = [inZone('UTC'), inZone('Asia/Tokyo')];
      for (const period of ['day', 'week', 'month'] as const) {
        const subject: SpendSubject = { kind: 'token', id: { day: 5, week: 6, month: 7 }[period] };
        await ledger.spendLimit(subject, { amount: 100, period });
        clock.advance(at('2026-11-28T18:00:00Z') - clock.now());
        const [first] = [...(await utc.quota.spendLimits([subject])).values()];
        assert.equal(await utc.reserve(`${period}-a`, 1, 100, subject.id), undefined);
        for (const other of [tokyo, inZone('America/Los_Angeles'), tokyo])
          assert.equal(await other.reserve(`${period}-b`, 1, 1, subject.id), 'quota_not_enough', period);
        const [kept] = [...(await tokyo.quota.spendLimits([subject])).values()];
        assert.deepEqual(kept, { ...first, spent: 100 });
        clock.advance((first?.renewsAt ?? 0) - clock.now());
        assert.equal(await tokyo.reserve(`${period}-c`, 1, 100, subject.id), undefined, 'the next window');
        assert.equal(await tokyo.reserve(`${period}-d`, 1, 1, subject.id), 'quota_not_enough');
        assert.equal(await tokyo.settle(`${period}-a`, 40), 40, 'counts in its own window');
        assert.equal(await tokyo.reserve(`${period}-d`, 1, 1, subject.id), 'quota_not_enough');
      }
    });

    it('do not take over a window of another period', async () => {
      const { ledger } = await start();
      await ledger.spendLimit(TOKEN, { amount: 100, period: 'day' });
      assert.equal(await ledger.reserve('a', 1, 100, 5), undefined);
      await ledger.spendLimit(TOKEN, { amount: 150, period: 'month' });
      assert.equal(await ledger.reserve('b', 1, 150, 5), undefined);
      assert.equal(await ledger.reserve('c', 1, 1, 5), 'quota_not_enough');
    });

    it('count reservations at once, and what settlements return', async () => {
      const { ledger, spent } = await start();
      await ledger.spendLimit(TOKEN, { amount: 100, period: 'day' });
      assert.equal(await ledger.reserve('a', 1, 101, 5), 'quota_not_enough');
      assert.equal(await ledger.reserve('a', 1, 60, 5), undefined);
      assert.equal(await ledger.reserve('b', 1, 41, 5), 'quota_not_enough');
      assert.equal(await ledger.reserve('b', 1, 40, 5), undefined);
      assert.equal(await spent(TOKEN), 100);
      assert.equal(await ledger.settle('a', 10), 10);
      assert.equal(await spent(TOKEN), 50);
      assert.equal(await ledger.refund('b'), true);
      assert.equal(await spent(TOKEN), 10);
      assert.equal(await ledger.reserve('c', 1, 90, 5), undefined);
      assert.equal(await ledger.settle('c', 120), 120, 'the work is done');
      assert.equal(await spent(TOKEN), 130);
      assert.equal(await ledger.reserve('d', 1, 1, 5), 'quota_not_enough');
      assert.equal(await ledger.reserve('free', 1, 0, 5), undefined);
      assert.equal(await ledger.reserve('d', 1, 1_000, 6), undefined, 'another token');
      assert.equal(await ledger.reserve('e', 1, 1_000), undefined, 'no token');
      assert.equal((await ledger.quota.wallet(1)).balance, 10_000 - 130 - 2_000);
    });

    it('hold for members of an organization: 200 parallel reservations exceed neither a member’s limit nor another one', async () => {
      const { database, ledger, spent } = await start();
      const members = [11, 12, 13, 14];
      const memberOf = (id: number): SpendSubject => ({ kind: 'member', id, organizationId: 1 });
      for (const id of members) await ledger.spendLimit(memberOf(id), { amount: 100, period: 'month' });
      await ledger.spendLimit(ACCOUNT, { amount: 350, period: 'day' });
      const reserve = (ref: string, actorId: number) =>
        ledger.run((trx) => ledger.quota.reserve(trx, { ref, userId: 1, actorId, model: 'film', amount: 7 }));
      const outcomes = await Promise.all(
        Array.from({ length: 200 }, (_, index) => reserve(`m${index}`, members[index % 4] ?? 0)),
      );
      const taken = outcomes.filter((outcome) => outcome === undefined).length;
      assert.equal(taken, 350 / 7);
      const each = await Promise.all(members.map((id) => spent(memberOf(id))));
      assert.ok(
        each.every((amount) => (amount ?? 0) <= 98),
        String(each),
      );
      assert.equal(
        each.reduce<number>((sum, amount) => sum + (amount ?? 0), 0),
        350,
      );
      assert.equal(await spent(ACCOUNT), 350);
      assert.equal(await spent({ kind: 'member', id: 11, organizationId: 2 }), undefined, 'of that organization only');
      const { actors } = await database.kysely
        .selectFrom('ledger')
        .select((row) => row.fn.countAll<number>().as('actors'))
        .where('actor_id', 'in', members)
        .where('kind', '=', 'reserve')
        .executeTakeFirstOrThrow();
      assert.equal(Number(actors), taken);
    });

    it('renew with their period, to which a reservation belongs by its own time', async () => {
      const { clock, ledger, spent } = await start();
      await ledger.spendLimit(ACCOUNT, { amount: 100, period: 'day' });
      await ledger.reserve('old', 1, 100);
      assert.equal(await ledger.reserve('new', 1, 1), 'quota_not_enough');
      clock.advance(6 * HOUR_MS);
      assert.equal(await ledger.reserve('new', 1, 100), undefined);
      await ledger.refund('old');
      assert.equal(await spent(ACCOUNT), 100, 'its day is over');
      assert.equal(await ledger.reserve('more', 1, 1), 'quota_not_enough');
      clock.advance(DAY_MS);
      assert.equal(await spent(ACCOUNT), 0);
    });

    it('name the limit and the time of renewal', async () => {
      const { database, ledger } = await start();
      await ledger.spendLimit(TOKEN, { amount: 1_000_000, period: 'week' });
      const reserve = database.transaction((trx) =>
        ledger.quota.reserve(trx, { ref: 'a', userId: 1, tokenId: 5, model: 'film', amount: 1_500_000 }),
      );
      const error = await reserve.catch((reason: unknown) => reason);
      assert.ok(isAppError(error, 'quota_not_enough'));
      const { params } = error.options;
      assert.equal(params?.renews, '2026-11-30T00:00:00.000Z');
      assert.deepEqual(
        [params.limit, params.period, params.needed].map((each) => (each as { en: string }).en),
        ['2.00 credits', 'week', '3.00 credits'],
      );
    });

    it('count nothing that was reserved without them, and may be changed and lifted', async () => {
      const { ledger, spent } = await start();
      await ledger.reserve('before', 1, 80, 5);
      await ledger.spendLimit(TOKEN, { amount: 100, period: 'month' });
      await ledger.settle('before', 20);
      assert.equal(await spent(TOKEN), 0);
      await ledger.reserve('a', 1, 100, 5);
      await ledger.spendLimit(TOKEN, { amount: 150, period: 'month' });
      assert.equal(await ledger.reserve('b', 1, 51, 5), 'quota_not_enough');
      assert.equal(await ledger.reserve('b', 1, 50, 5), undefined);
      await ledger.spendLimit(TOKEN, undefined);
      assert.equal(await ledger.reserve('c', 1, 5_000, 5), undefined);
      assert.equal(await spent(TOKEN), undefined);
    });

    it('of a plan hold for accounts without their own', async () => {
      const database = await open();
      const findTerms = async (_trx: unknown, requests: readonly unknown[]) =>
        requests.map(() => ({ hasAllowance: false, spendLimit: { amount: 50, period: 'month' as const } }));
      const findSpendLimit = async () => ({ amount: 50, period: 'month' as const });
      const ledger = openLedger(database, { ...NO_ALLOWANCES, findTerms, findSpendLimit });
      await ledger.open(1, 1_000);
      const left = async () => [...(await ledger.quota.spendLimits([ACCOUNT])).values()].map(leftOf);
      assert.equal(await ledger.reserve('a', 1, 40), undefined);
      assert.deepEqual(await left(), [10]);
      assert.equal(await ledger.reserve('b', 1, 11), 'quota_not_enough');
      await ledger.spendLimit(ACCOUNT, { amount: 60, period: 'month' });
      assert.equal(await ledger.reserve('b', 1, 11), undefined, 'its own limit takes precedence');
      assert.deepEqual(await left(), [9]);
    });

    it('are told to the reservation, also when it is refused', async () => {
      const { database, ledger } = await start();
      await ledger.spendLimit(TOKEN, { amount: 100, period: 'day' });
      await ledger.spendLimit(ACCOUNT, { amount: 1_000, period: 'week' });
      const reported: number[][] = [];
      const reserve = (ref: string, amount: number) =>
        database.transaction((trx) =>
          ledger.quota.reserve(trx, {
            ...{ ref, userId: 1, tokenId: 5, model: 'film', amount },
            onSpendLimits: (limits) => reported.push(limits.map(leftOf).toSorted((one, other) => one - other)),
          }),
        );
      await reserve('a', 30);
      await assert.rejects(reserve('b', 71));
      assert.deepEqual(reported[0], [70, 970]);
      assert.equal(reported[1]?.[0], 70);
    });

    it('T73: grant exactly what fits under 200 parallel calls', async () => {
      const { ledger, spent } = await start();
      await ledger.spendLimit(TOKEN, { amount: 1_000, period: 'month' });
      const outcomes = await Promise.all(
        Array.from({ length: 200 }, (_, index) => untilConnected(() => ledger.reserve(`p${index}`, 1, 9, 5))),
      );
      assert.equal(await spent(TOKEN), 999);
      const granted = outcomes.flatMap((outcome, index) => (outcome === undefined ? [`p${index}`] : []));
      assert.equal(granted.length, 111);
      await Promise.all(granted.map((ref) => untilConnected(() => ledger.refund(ref))));
      assert.equal(await spent(TOKEN), 0);
    });

    it('T73: are exact when many reserve and settle at once', async () => {
      const { database, ledger, spent } = await start();
      await ledger.spendLimit(TOKEN, { amount: 100, period: 'day' });
      await ledger.spendLimit(ACCOUNT, { amount: 150, period: 'week' });
      const outcomes = await Promise.all([
        ...Array.from({ length: 30 }, (_, i) => ledger.reserve(`five-${i}`, 1, 7, 5)),
        ...Array.from({ length: 30 }, (_, i) => ledger.reserve(`six-${i}`, 1, 7, 6)),
      ]);
      const granted = outcomes.map((outcome) => outcome === undefined);
      const byToken = granted.slice(0, 30).filter(Boolean).length;
      const all = granted.filter(Boolean).length;
      assert.equal(all, 21, 'of the account: 150 / 7');
      assert.ok(byToken <= 14, 'of the token: 100 / 7');
      assert.deepEqual([await spent(TOKEN), await spent(ACCOUNT)], [byToken * 7, all * 7]);
      const open = await database.kysely.selectFrom('reservations').select('ref').execute();
      await Promise.all(
        open.map(({ ref }, i) =>
          i % 3 === 0 ? ledger.refund(ref) : i % 3 === 1 ? ledger.settle(ref, 2) : ledger.settle(ref, 9),
        ),
      );
      const { used } = await ledger.quota.wallet(1);
      assert.equal(await spent(ACCOUNT), used);
    });

    it('settle and reserve in one transaction', async () => {
      const { database, ledger, spent } = await start();
      await ledger.spendLimit(TOKEN, { amount: 100, period: 'day' });
      await ledger.reserve('a', 1, 100, 5);
      const reservation = { userId: 1, tokenId: 5, model: 'film', amount: 90 };
      await database.transaction((trx) =>
        ledger.quota.charge(trx, {
          settlements: [{ ref: 'a', cost: 10 }],
          reservations: [{ ...reservation, ref: 'b' }],
        }),
      );
      assert.equal(await spent(TOKEN), 100);
    });
  });
});
