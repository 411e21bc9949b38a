import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import type { Database } from '../platform/db/database.ts';
import { openLog } from '../platform/log.ts';
import { RequestLog, RequestStore } from '../request-log/request-log.ts';
import type { Tables } from '../tables.ts';
import { type CallDetail, type Charges, LedgerStore, type Reservation, type Settlement } from './ledger.ts';
import { LedgerService } from './ledger-service.ts';

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
/** Small enough that some batches are refused. */
const REFILL = 100;
const ACCOUNTS = [1, 2, 3];
/** Each account has an unlimited token, a limited token, and no token. */
const payerOf = (account: number, token: number) => ({
  userId: account,
  tokenId: token === 0 ? undefined : account * 10 + token,
});

const byRef = <T extends { ref: string }>(rows: T[]) => rows.sort((a, b) => (a.ref < b.ref ? -1 : 1));

/** All rows that charges change. */
async function rowsOf({ kysely }: Database<Tables>) {
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

forEachDatabase((_name, open) => {
  async function ledgerWithAccounts() {
    const database = await open();
    const requests = new RequestLog({ database, store: new RequestStore(database), clock, log: openLog('silent') });
    const counts = { settle: 0, refund: 0 };
    const onSettled = (kind: 'settle' | 'refund', count: number): void => {
      counts[kind] += count;
    };
    const store = new LedgerStore(database);
    const ledger = new LedgerService({ store, clock, onSettled, onClosed: requests.addClosed });
    await database.transaction(async (trx) => {
      for (const user of ACCOUNTS) await ledger.openWallet(trx, user, WALLET);
      for (const user of ACCOUNTS) await ledger.setTokenLimit(trx, user * 10 + 2, KEY_LIMIT);
    });
    /** @returns the charged amounts, or undefined if the ledger refused */
    const charge = (charges: Charges) =>
      database.transaction((trx) => ledger.charge(trx, charges)).catch(() => undefined);
    /** Grants every account some quota, and leaves its limited token as much. */
    const refill = async (ref: string): Promise<void> => {
      const tokens = await ledger.tokenLimits(ACCOUNTS.map((user) => user * 10 + 2));
      await database.transaction(async (trx) => {
        for (const user of ACCOUNTS) await ledger.grant(trx, { userId: user, amount: REFILL, ref: `${ref}:${user}` });
        for (const [token, { used }] of tokens) await ledger.setTokenLimit(trx, token, used + REFILL);
      });
    };
    return { database, counts, charge, refill };
  }

  const reservation = (ref: string, account: number, token: number, amount: number): Reservation => ({
    ref,
    ...payerOf(account, token),
    model: 'm',
    amount,
  });
  const settlement = (ref: string, cost: number | undefined): Settlement => ({
    ref,
    cost,
    usage: { promptTokens: 3, completionTokens: 4 },
    detail: DETAIL,
  });

  it('charges of many accounts do together what they do one by one, or nothing', async () => {
    const [together, alone] = [await ledgerWithAccounts(), await ledgerWithAccounts()];
    let round = 0;
    const counts = { shared: 0, refused: 0 };
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
        for (const each of [together, alone]) await each.refill(`grant:${round}`);
        round++;
        const open = new Map<string, Settlement & { readonly reserved: number }>();
        for (const batch of [...all, []]) {
          const reservations = batch.map(({ account, token, amount }) =>
            reservation(`req_${round++}`, account, token, amount),
          );
          // Within an account, returns come first, then reservations, then costs beyond a reservation.
          const [beyond, covered] = [[], []] as [Settlement[], Settlement[]];
          for (const each of open.values()) ((each.cost ?? 0) > each.reserved ? beyond : covered).push(each);
          const settlements = [...covered, ...beyond];
          const singly: Charges[] = [
            ...covered.map((each) => ({ settlements: [each] })),
            ...reservations.map((each) => ({ reservations: [each] })),
            ...beyond.map((each) => ({ settlements: [each] })),
          ];
          const charged = await together.charge({ settlements, reservations });
          counts[charged === undefined ? 'refused' : 'shared']++;
          open.clear();
          for (const charges of singly) {
            const one = await alone.charge(charges);
            if (charged === undefined) assert.deepEqual(await together.charge(charges), one);
            else if (charges.settlements === undefined) assert.ok(one, 'what is accepted together is accepted alone');
            else assert.equal(one?.[0], charged[settlements.indexOf(charges.settlements[0] as Settlement)]);
          }
          for (const [index, { cost, endsTwice }] of batch.entries()) {
            const { ref, amount } = reservations[index] as Reservation;
            open.set(ref, { ...settlement(ref, cost), reserved: amount });
            if (endsTwice) open.set(`${ref} again`, { ...settlement(ref, cost), reserved: amount });
          }
        }
        assert.deepEqual(await rowsOf(together.database), await rowsOf(alone.database));
        assert.deepEqual(together.counts, alone.counts);
        await assertLedgerConsistent(together.database);
      }),
      { numRuns: Number(process.env.CHARGE_RUNS ?? '20') },
    );
    assert.ok(counts.shared > 10 && counts.refused > 0, JSON.stringify(counts));
  });

  it('quota released by a settlement can be reserved in the same transaction', async () => {
    const { database, charge } = await ledgerWithAccounts();
    assert.deepEqual(await charge({ reservations: [reservation('all', 1, 2, KEY_LIMIT)] }), []);
    const next = [reservation('next', 1, 2, 250), reservation('rest', 1, 1, 700)];
    assert.equal(await charge({ reservations: next }), undefined, 'the limit is used up');
    assert.deepEqual(await charge({ settlements: [settlement('all', 50)], reservations: next }), [50]);
    const tooMuch = [reservation('more', 1, 1, 1)];
    assert.equal(await charge({ settlements: [settlement('all', 0)], reservations: tooMuch }), undefined);
    assert.deepEqual(await charge({ settlements: [settlement('rest', 699)], reservations: tooMuch }), [699]);
    assert.deepEqual(await charge({ settlements: [settlement('next', undefined), settlement('more', 1)] }), [0, 1]);
    await assertLedgerConsistent(database);
  });
});
