import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import fc from 'fast-check';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import type { Database } from '../platform/db/database.ts';
import { openLog } from '../platform/log.ts';
import { RequestLog } from '../request-log/request-log.ts';
import { callToRequestRow, RequestStore } from '../request-log/request-store.ts';
import type { Tables } from '../tables.ts';
import { CallChargeStore, PostgresCallCharges } from './call-charges.ts';
import type { CallDetail, CallWork, ClosedCall } from './ledger.ts';
import { LedgerService } from './ledger-service.ts';
import { LedgerStore } from './ledger-store.ts';

const NOW = Date.UTC(2026, 10, 23, 12);
const clock = { now: () => NOW };
const DETAIL: CallDetail = {
  kind: 'chat',
  servedModel: 'upstream-model',
  channelId: 7,
  status: 'ok',
  errorCode: '',
  cachedTokens: 2,
  seconds: 0,
  durationMs: 12.6,
  firstTokenMs: null,
  stream: false,
  client: 'it\'s "me"',
  price: '{"input_per_million":1}',
  facts: '{}',
};
const WALLET = 1_000;
const KEY_LIMIT = 300;
/** Accounts 1 to 3, each with an unlimited token, a limited token, and no token. */
const payerOf = (account: number, token: number) => ({
  userId: account,
  tokenId: token === 0 ? undefined : account * 10 + token,
});

forEachDatabase((name, open) => {
  if (name !== 'postgres') return;

  async function ledgerWithAccounts(noticeBelow = 0) {
    const database = await open();
    const log = openLog('silent');
    const requests = new RequestLog({ database, store: new RequestStore(database), clock, log });
    const counts = { settle: 0, refund: 0 };
    const onSettled = (kind: 'settle' | 'refund', count: number): void => {
      counts[kind] += count;
    };
    const toLogRow = (closed: ClosedCall, now: number) => callToRequestRow(closed, now);
    const callCharges = new PostgresCallCharges({
      store: new CallChargeStore(database),
      clock,
      noticeBelow: () => noticeBelow,
      onSettled,
      toLogRow,
    });
    const store = new LedgerStore(database);
    const ledger = new LedgerService({ store, clock, onSettled, onClosed: requests.addClosed, callCharges });
    await database.transaction(async (trx) => {
      for (const user of [1, 2, 3]) {
        await ledger.openWallet(trx, user, WALLET);
        await ledger.setTokenLimit(trx, user * 10 + 2, KEY_LIMIT);
      }
    });
    return { database, ledger, counts };
  }
  type Accounts = Awaited<ReturnType<typeof ledgerWithAccounts>>;

  const reserve = (ref: string, account: number, token: number, amount: number): CallWork => ({
    reservation: { ref, ...payerOf(account, token), model: 'm', amount },
  });
  const end = (ref: string, account: number, token: number, cost: number | undefined): CallWork => ({
    settlement: { ref, cost, usage: { promptTokens: 3, completionTokens: 4 }, detail: DETAIL },
    payer: payerOf(account, token),
  });

  /**
   * Runs the work in a transaction of its own.
   * @returns whether the work was done
   */
  const transact = ({ database, ledger }: Accounts, work: CallWork): Promise<boolean> =>
    database
      .transaction((trx) =>
        'reservation' in work
          ? ledger.reserveAll(trx, [work.reservation])
          : ledger.settleAll(trx, [work.settlement]).then(() => undefined),
      )
      .then(
        () => true,
        () => false,
      );

  /** Grants every account some quota, and raises the limit of its limited token by the same amount. */
  async function refill({ database, ledger }: Accounts, ref: string): Promise<void> {
    const used = await ledger.tokenLimits([12, 22, 32]);
    await database.transaction(async (trx) => {
      for (const user of [1, 2, 3]) {
        await ledger.grant(trx, { userId: user, amount: 400, ref: `${ref}:${user}` });
        const token = user * 10 + 2;
        await ledger.setTokenLimit(trx, token, (used.get(token)?.used ?? 0) + KEY_LIMIT);
      }
    });
  }

  /** All rows that model calls change. */
  async function rowsOf({ kysely }: Database<Tables>) {
    const byRef = <T extends { ref: string }>(rows: T[]) => rows.sort((a, b) => (a.ref < b.ref ? -1 : 1));
    const entries = await kysely.selectFrom('ledger').selectAll().execute();
    const requests = await kysely.selectFrom('requests').selectAll().execute();
    return {
      wallets: await kysely.selectFrom('wallets').selectAll().orderBy('user_id').execute(),
      limits: await kysely.selectFrom('token_limits').selectAll().orderBy('token_id').execute(),
      reservations: byRef(await kysely.selectFrom('reservations').selectAll().execute()),
      ledger: byRef(entries.map(({ id: _, ...entry }) => ({ ...entry, ref: `${entry.ref} ${entry.kind}` }))),
      usage: await kysely.selectFrom('usage_daily').selectAll().orderBy('user_id').orderBy('token_id').execute(),
      requests: byRef(requests.map(({ seq: _, ...row }) => row)),
    };
  }

  let together: Accounts;
  let apart: Accounts;
  before(async () => {
    together = await ledgerWithAccounts();
    apart = await ledgerWithAccounts();
  });

  it('does exactly what individual transactions would do, or nothing', async () => {
    let round = 0;
    let [asked, did] = [0, 0];
    const call = fc.record({
      account: fc.integer({ min: 1, max: 3 }),
      token: fc.integer({ min: 0, max: 2 }),
      amount: fc.integer({ min: 0, max: 120 }),
      cost: fc.option(fc.integer({ min: 0, max: 130 }), { nil: undefined }),
      endsTwice: fc.boolean(),
    });
    const batches = fc.array(fc.array(call, { maxLength: 12 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(batches, async (all) => {
        let open: CallWork[] = [];
        for (const each of [together, apart]) await refill(each, `grant:${round}`);
        round++;
        for (const batch of all) {
          const fresh: CallWork[] = [];
          const next: CallWork[] = [];
          for (const { account, token, amount, cost, endsTwice } of batch) {
            const ref = `req_${round++}`;
            fresh.push(reserve(ref, account, token, amount));
            next.push(end(ref, account, token, cost));
            if (endsTwice) next.push(end(ref, account, token, 1));
          }
          const works = [...open, ...fresh];
          const outcomes = await together.ledger.chargeCalls(works, 10);
          asked += outcomes.length;
          did += outcomes.filter((outcome) => outcome === 'done').length;
          const left = works.filter((_, index) => outcomes[index] !== 'done');
          const refused = new Set<CallWork>();
          for (const work of left) if (!(await transact(together, work))) refused.add(work);
          // Work the statement did comes first, as it did in the statement; settlements before reservations.
          const done = works.filter((work) => !left.includes(work));
          for (const work of [...done, ...left]) {
            const wasDone = await transact(apart, work);
            assert.equal(wasDone, !refused.has(work), JSON.stringify(work));
          }
          const refusedRefs = new Set([...refused].map((work) => 'reservation' in work && work.reservation.ref));
          open = next.filter((work) => 'settlement' in work && !refusedRefs.has(work.settlement.ref));
        }
        const rest = await together.ledger.chargeCalls(open, 0);
        for (const [index, work] of open.entries()) if (rest[index] !== 'done') await transact(together, work);
        for (const work of open) await transact(apart, work);
        assert.deepEqual(await rowsOf(together.database), await rowsOf(apart.database));
        assert.deepEqual(together.counts, apart.counts);
        await assertLedgerConsistent(together.database);
      }),
      { numRuns: Number(process.env.CHARGE_RUNS ?? '40') },
    );
    assert.ok(did > asked / 3 && did < asked, `${did} of ${asked}`);
  });

  it('leaves calls that depend on a wallet, a limit or a plan undone, and does the rest', async () => {
    const { database, ledger } = await ledgerWithAccounts(500);
    await database.kysely
      .insertInto('subscriptions')
      .values({
        user_id: 3,
        plan_id: 1,
        state: 'active',
        duration_days: 1,
        starts_at: NOW,
        expires_at: NOW + 1,
        expiry_notified: 0,
        source: '',
        created_at: NOW,
      })
      .execute();
    const outcomes = (work: readonly CallWork[]) => ledger.chargeCalls(work, 10);
    assert.deepEqual(
      await outcomes([
        reserve('wallet', 1, 1, WALLET + 1),
        reserve('limit', 2, 2, KEY_LIMIT + 1),
        reserve('beside', 2, 1, 10),
        reserve('plan', 3, 1, 10),
      ]),
      ['apart', 'apart', 'done', 'apart'],
    );
    assert.deepEqual(await outcomes([reserve('notice', 2, 1, 600)]), ['apart'], 'its owner is to be notified');
    assert.deepEqual(
      await outcomes([end('beside', 2, 1, 11), end('unknown', 2, 1, 1)]),
      ['apart', 'done'],
      'more than was reserved is not simple, and what is closed is done',
    );
    const withoutDetail = { settlement: { ref: 'beside', cost: 1 }, payer: payerOf(2, 1) };
    assert.deepEqual(await outcomes([withoutDetail]), ['apart']);
    assert.deepEqual(await outcomes([end('beside', 2, 1, 9), end('beside', 2, 1, 10)]), ['done', 'apart']);
    assert.deepEqual(await outcomes([end('beside', 2, 1, 10)]), ['done']);
    assert.equal((await ledger.wallet(2)).used, 9, 'the first end counts');
    assert.deepEqual(await outcomes([]), []);
    await assertLedgerConsistent(database);
  });

  it('waits for a locked account, skips it after the time limit, and waits without limit where requested', async () => {
    const { database, ledger } = await ledgerWithAccounts();
    const held = Promise.withResolvers<void>();
    const isHeld = Promise.withResolvers<void>();
    const holding = database.transaction(async (trx) => {
      await ledger.lockBalance(trx, 1);
      isHeld.resolve();
      await held.promise;
    });
    await isHeld.promise;
    const work = [reserve('held', 1, 1, 10), reserve('free', 2, 1, 10)];
    assert.deepEqual(await ledger.chargeCalls(work, 10), ['busy', 'done']);
    let isDone = false;
    const waiting = ledger.chargeCalls([reserve('held', 1, 1, 10)], 0).finally(() => {
      isDone = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(isDone, false);
    held.resolve();
    await holding;
    assert.deepEqual(await waiting, ['done']);
    const locked = Promise.withResolvers<void>();
    const shortly = database.transaction(async (trx) => {
      await ledger.lockBalance(trx, 1);
      locked.resolve();
      await new Promise((resolve) => setTimeout(resolve, 50));
    });
    await locked.promise;
    assert.deepEqual(await ledger.chargeCalls([end('held', 1, 1, 1), end('free', 2, 1, 1)], 60_000), ['done', 'done']);
    await shortly;
    await assertLedgerConsistent(database);
  });

  it('counts a call once towards a limit that is set concurrently', async () => {
    const { database, ledger } = await ledgerWithAccounts();
    const token = 11;
    for (let round = 0; round < 20; round++) {
      const ref = `req_${round}`;
      await Promise.all([
        ledger.chargeCalls([reserve(ref, 1, 1, 10)], round % 2 === 0 ? 0 : 10).then(async ([outcome]) => {
          if (outcome !== 'done')
            await transact({ database, ledger, counts: { settle: 0, refund: 0 } }, reserve(ref, 1, 1, 10));
        }),
        database.transaction((trx) => ledger.setTokenLimit(trx, token, 100)),
      ]);
      assert.equal((await ledger.tokenLimits([token])).get(token)?.used, 10);
      assert.deepEqual(await ledger.chargeCalls([end(ref, 1, 1, 0)], 0), ['done']);
      assert.equal((await ledger.tokenLimits([token])).get(token)?.used, 0);
      await database.transaction((trx) => ledger.setTokenLimit(trx, token, undefined));
    }
    await assertLedgerConsistent(database);
  });
});
