import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { type CallFacts, type Price, priceCall } from '../../src/contract/pricing.ts';
import { sumOfReceipt } from '../../src/contract/request-log.ts';
import { LedgerStore } from '../../src/server/quota/ledger.ts';
import { LedgerReportStore } from '../../src/server/quota/ledger-reports.ts';
import { LedgerService } from '../../src/server/quota/ledger-service.ts';
import { ReceiptService } from '../../src/server/request-log/receipts.ts';
import { callToRequestRow, RequestStore } from '../../src/server/request-log/request-log.ts';
import { forEachDatabase } from '../for-each-database.ts';

/**
 * RECEIPT_DATABASE_CASES=1000000, which can be passed to `npm run hammer`, runs a million; the suite runs some
 * hundreds.
 */
const CASES = Number(process.env.RECEIPT_DATABASE_CASES ?? 320);
/** Reserved, settled and read together, so that a million cases take minutes. */
const BATCH = Math.min(CASES, 500);
/** Receipts of every batch that are read as a caller does, one query after another. */
const READ_ALONE = 8;

interface Case {
  readonly price: Price;
  readonly facts: CallFacts;
}

const rate = fc.nat({ max: 50_000_000 });
const chat: fc.Arbitrary<Case> = fc.record({
  price: fc.record(
    { input_per_million: rate, output_per_million: rate, cached_input_per_million: rate, per_call: fc.nat({ max: 9 }) },
    { requiredKeys: ['input_per_million'] },
  ),
  facts: fc.record({
    input_tokens: fc.nat({ max: 300_000 }),
    output_tokens: fc.nat({ max: 9_000 }),
    cached_input: fc.nat({ max: 9_000 }),
  }),
});
const video: fc.Arbitrary<Case> = fc.record({
  price: fc.constantFrom<Price>(
    { lines: [{ per_unit: 3.285714, max_units_per_second: 21_736, max_units: 906 }], settle_by: 'vendor' },
    { lines: [{ per_unit: 70_000, max_units_per_second: 0.3 }], settle_by: 'vendor' },
    { per_call: 7, per_second: 333, multipliers: { mode: { pro: 1.67 } } },
  ),
  facts: fc.record({
    seconds: fc.integer({ min: 1, max: 30 }),
    mode: fc.constantFrom('std', 'pro'),
    units: fc.integer({ min: 0, max: 200_000 }).map((tenths) => tenths / 10),
  }),
});

forEachDatabase((_name, open) => {
  const openQuota = async () => {
    const database = await open();
    const [store, usage] = [new RequestStore(database), new LedgerReportStore(database)];
    const quota = new LedgerService({
      store: new LedgerStore(database),
      clock: { now: () => Date.now() },
      onClosed: (trx, closed, now) =>
        store.insert(
          trx,
          closed.map((each) => callToRequestRow(each, now)),
        ),
    });
    return { database, store, usage, quota };
  };
  const tasks = { receiptTask: async () => undefined };
  const findAuthors = async () => () => ({ submitted_by: '', organization: '' });

  it(`a receipt's lines, the ledger and the charge agree in ${CASES} random cases`, async () => {
    const { database, store, usage, quota } = await openQuota();
    const alone = new ReceiptService({ store, ledger: usage, tasks, findAuthors });
    /** The same service over the rows of many references, which two queries have loaded. */
    const readTogether = async (userId: number, refs: readonly string[]): Promise<ReceiptService> => {
      const { kysely } = database;
      const rows = await kysely.selectFrom('requests').selectAll().where('user_id', '=', userId).execute();
      const entries = await kysely.selectFrom('ledger').selectAll().where('ref', 'in', refs).orderBy('id').execute();
      const [rowOf, trailOf] = [new Map(rows.map((row) => [row.ref, row])), Map.groupBy(entries, ({ ref }) => ref)];
      return new ReceiptService({
        store: { findByRef: async (ref) => rowOf.get(ref), findByRequestId: async () => undefined },
        ledger: { entriesOf: async (ref) => trailOf.get(ref) ?? [] },
        tasks,
        findAuthors,
      });
    };
    for (let done = 0; done < CASES; done += BATCH) {
      // A wallet per batch: a million cases cost more than one balance can hold.
      const userId = 1 + done / BATCH;
      await database.transaction((trx) => quota.openWallet(trx, userId, 9_000_000_000_000));
      const batch = fc
        .sample(fc.oneof(chat, video), BATCH)
        .map((each, index) => ({ ...each, ref: `req_${done + index}`, cost: priceCall(each.price, each.facts).quota }));
      await database.transaction((trx) =>
        quota.charge(trx, {
          reservations: batch.map(({ ref, cost }) => ({ ref, userId, tokenId: 1, model: 'm', amount: cost + 5 })),
        }),
      );
      await database.transaction((trx) =>
        quota.charge(trx, {
          settlements: batch.map(({ ref, cost, price, facts }) => ({
            ref,
            cost,
            usage: { promptTokens: 0, completionTokens: 0 },
            detail: { ...DETAIL, price: JSON.stringify(price), facts: JSON.stringify(facts) },
          })),
        }),
      );
      const together = await readTogether(
        userId,
        batch.map(({ ref }) => ref),
      );
      for (const [index, { ref, cost }] of batch.entries()) {
        const receipt = await together.find(ref, userId);
        if (index < READ_ALONE) assert.deepEqual(await alone.find(ref, userId), receipt);
        assert.ok(receipt, ref);
        assert.deepEqual([receipt.charged, sumOfReceipt(receipt.lines)], [cost, cost], JSON.stringify(receipt));
        assert.equal(
          receipt.ledger.reduce((sum, entry) => sum - entry.quota, 0),
          cost,
        );
        assert.deepEqual([receipt.reserved, receipt.refunded], [cost + 5, 5]);
      }
    }
  });

  it('includes the entry that closed a call while its receipt was read', async () => {
    const { database, usage, quota } = await openQuota();
    await database.transaction((trx) => quota.openWallet(trx, 1, 1_000));
    await database.transaction((trx) =>
      quota.charge(trx, { reservations: [{ ref: 'req_1', userId: 1, tokenId: 1, model: 'm', amount: 10 }] }),
    );
    const usageOfCall = { promptTokens: 0, completionTokens: 0 };
    const receipts = new ReceiptService({
      store: {
        async findByRef(ref) {
          await database.transaction((trx) =>
            quota.charge(trx, {
              settlements: [{ ref, cost: 7, usage: usageOfCall, detail: { ...DETAIL, price: '', facts: '' } }],
            }),
          );
          return database.kysely.selectFrom('requests').selectAll().where('ref', '=', ref).executeTakeFirst();
        },
        findByRequestId: async () => undefined,
      },
      ledger: usage,
      tasks,
      findAuthors,
    });
    const receipt = await receipts.find('req_1', 1);
    assert.ok(receipt);
    assert.deepEqual([receipt.outcome, receipt.charged, receipt.refunded], ['charged', 7, 3]);
    assert.deepEqual(
      receipt.ledger.map(({ kind, quota }) => [kind, quota]),
      [
        ['reserve', -10],
        ['settle', 3],
      ],
    );
  });
});

const DETAIL = {
  kind: 'chat',
  servedModel: 'm',
  channelId: 1,
  status: 'ok',
  errorCode: '',
  cachedTokens: 0,
  seconds: 0,
  durationMs: 5,
  firstTokenMs: null,
  stream: false,
  client: '',
} as const;
