import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger, type Trx } from '../../../test/ledger-fixture.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { openLog } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { auditLedger, LedgerAuditService, LedgerCheckpointStore } from './ledger-audit.ts';
import { LedgerCompaction, LedgerCompactionStore } from './ledger-compaction.ts';

describe('ledger audit', () => {
  const JANUARY = Date.UTC(2026, 0, 10);
  const RETENTION_DAYS = 100;

  function openAudit(database: Database<Tables>) {
    const clock = manualClock(JANUARY);
    const ledger = openLedger(database, undefined, clock);
    const reported: string[] = [];
    const checkpoints = new LedgerCheckpointStore(database);
    const compaction = new LedgerCompaction({
      store: new LedgerCompactionStore(database),
      clock,
      retentionDays: () => RETENTION_DAYS,
    });
    const services = {
      compaction,
      events: { write: async (_trx: Trx, { type }: { readonly type: string }) => void reported.push(type) },
      clock,
      log: openLog('silent'),
    };
    const audit = new LedgerAuditService({ ...services, store: checkpoints });
    const use = async (prefix: string, userId: number, count: number) => {
      for (let made = 0; made < count; made += 1) {
        await ledger.reserve(`${prefix}${made}`, userId, 10);
        if (made % 3 === 2) await ledger.refund(`${prefix}${made}`);
        else await ledger.settle(`${prefix}${made}`, 7);
      }
    };
    const entries = (userId: number) =>
      database.kysely.selectFrom('ledger').selectAll().where('user_id', '=', userId).orderBy('id').execute();
    return { reported, clock, ledger, checkpoints, compaction, audit, use, entries, services };
  }

  describe('ledger audit', () => {
    forEachDatabase((_name, open) => {
      it('reads each entry once, and reports wallet changes without an entry', async () => {
        const database = await open();
        const { reported, ledger, audit, checkpoints, use } = openAudit(database);
        for (const user of [1, 2, 3]) await ledger.open(user, 1_000);
        await use('a', 1, 4);
        assert.equal((await audit.run('incremental'))?.ok, true);
        const { position } = await checkpoints.current();
        assert.equal(position, await checkpoints.newestEntry());
        await use('b', 2, 2);
        await ledger.reserve('open', 3, 5);
        assert.equal((await audit.run('incremental'))?.ok, true);
        assert.ok((await checkpoints.current()).position > position);

        await database.kysely.updateTable('wallets').set({ balance: 0 }).where('user_id', '=', 2).execute();
        await use('c', 1, 1);
        assert.equal((await audit.run('incremental'))?.ok, true, 'account 2 has no new entry');
        const full = await audit.run('full');
        assert.deepEqual(full?.findings, [
          { rule: 'balance is the sum of its entries', at: '2', expected: 986, found: 0 },
        ]);
        assert.deepEqual(reported, ['ledger.mismatch'], 'administrators are told');
        assert.equal((await audit.run('incremental'))?.ok, false, 'wrong until a full audit finds nothing');
        await database.kysely.updateTable('wallets').set({ balance: 986 }).where('user_id', '=', 2).execute();
        assert.equal((await audit.run('full'))?.ok, true);
        assert.equal(audit.lastResult?.findings.length, 0);
      });

      it('reports a changed entry it had already read in the full audit, naming the broken rule', async () => {
        const database = await open();
        const { ledger, audit, use } = openAudit(database);
        await ledger.open(1, 1_000);
        await use('a', 1, 2);
        await ledger.reserve('open', 1, 5);
        await audit.run('full');
        const { kysely } = database;
        await kysely
          .updateTable('ledger')
          .set({ charged: 8 })
          .where('ref', '=', 'a0')
          .where('kind', '=', 'settle')
          .execute();
        await kysely.deleteFrom('ledger').where('ref', '=', 'a1').where('kind', '=', 'settle').execute();
        await kysely.updateTable('reservations').set({ amount: 6 }).execute();
        await kysely
          .insertInto('ledger')
          .values({ ...STRAY, user_id: 99 })
          .execute();
        const rules = new Set((await audit.run('full'))?.findings.map(({ rule }) => rule));
        assert.deepEqual([...rules].sort(), [...new Set((await auditLedger(database)).map(({ rule }) => rule))].sort());
        assert.deepEqual([...rules].sort(), [
          'a reservation is open or ended once',
          'an open reservation holds what was taken',
          'balance is the sum of its entries',
          'entries belong to a wallet',
          'requests is the number of settlements',
          'used is the sum of what was charged',
          'what was taken is charged or given back',
        ]);
      });

      it('finds nothing during concurrent use of the ledger', async () => {
        const database = await open();
        const { ledger, audit, use } = openAudit(database);
        const users = [1, 2, 3, 4];
        for (const user of users) await ledger.open(user, 100_000);
        let isOver = false;
        const using = Promise.all(
          users.map(async (user) => {
            for (let round = 0; !isOver; round += 1) await use(`${user} ${round} `, user, 3);
          }),
        );
        for (const kind of ['incremental', 'full', 'incremental', 'full'] as const)
          assert.deepEqual((await audit.run(kind))?.findings, [], kind);
        assert.deepEqual((await audit.check()).findings, []);
        isOver = true;
        await using;
        assert.equal((await audit.run('full'))?.ok, true);
        assert.deepEqual(await auditLedger(database), []);
      });

      it('finds nothing when a full audit of another process ends during a check', async () => {
        const database = await open();
        const { audit, ledger, reported, use, services } = openAudit(database);
        for (const user of [1, 2]) await ledger.open(user, 1_000);
        await use('a', 1, 3);
        await use('b', 2, 3);
        assert.equal((await audit.run('full'))?.ok, true);
        class OvertakenStore extends LedgerCheckpointStore {
          #isOvertaken = false;
          override async endOfBatch(after: number, size: number): Promise<number | undefined> {
            if (!this.#isOvertaken) {
              this.#isOvertaken = true;
              assert.equal((await audit.run('full'))?.ok, true);
            }
            return super.endOfBatch(after, size);
          }
        }
        const check = await new LedgerAuditService({ ...services, store: new OvertakenStore(database) }).check();
        assert.deepEqual([check.ok, check.findings], [true, []]);
        assert.deepEqual(reported, []);
        assert.equal((await audit.check()).ok, true);
      });

      it('restarts an interrupted full audit from the beginning', async () => {
        const database = await open();
        const { ledger, audit, use } = openAudit(database);
        await ledger.open(1, 1_000);
        await use('a', 1, 3);
        assert.equal(await audit.run('full', AbortSignal.abort()), undefined);
        assert.equal((await audit.run('full'))?.ok, true);
        const generations = await database.kysely.selectFrom('ledger_generations').selectAll().execute();
        assert.equal(generations.length, 1);
      });
    });
  });

  describe('ledger compaction', () => {
    forEachDatabase((_name, open) => {
      it('leaves one closing entry per account and month and keeps every sum', async () => {
        const database = await open();
        const { clock, ledger, audit, compaction, use, entries } = openAudit(database);
        await ledger.open(1, 10_000);
        await ledger.open(2, 10_000);
        await use('january', 1, 6);
        await use('other', 2, 3);
        await ledger.reserve('still open', 1, 10);
        clock.advance(31 * DAY_MS);
        await use('february', 1, 3);
        await ledger.reserve('begun in february', 1, 10);
        clock.advance(28 * DAY_MS);
        await ledger.settle('begun in february', 4);
        await use('march', 1, 3);
        const sums = async () =>
          database.kysely
            .selectFrom('ledger')
            .select(({ fn }) => ['user_id', fn.sum('amount').as('amount'), fn.sum('charged').as('charged')])
            .groupBy('user_id')
            .orderBy('user_id')
            .execute();
        const before = await sums();
        assert.equal(await compaction.compact(), 0, 'nothing the audit has not read');
        await audit.run('full');
        assert.equal(await compaction.compact(), 0, 'nothing that is young');

        const openRefs = ['still open', 'begun in february'];
        const closed = (await entries(1)).filter(({ ref }) => !openRefs.includes(ref));
        const neighbours = [
          closed.findLast(({ created_at }) => created_at < Date.UTC(2026, 1))?.id,
          closed.find(({ created_at }) => created_at >= Date.UTC(2026, 1))?.id,
        ];
        // In mid-June, a hundred days reach back into March, so January and February are complete.
        clock.advance(100 * DAY_MS);
        assert.ok((await compaction.compact()) > 0);
        const kept = await entries(1);
        assert.deepEqual(
          kept.filter(({ kind }) => kind === 'closing').map(({ ref, settlements }) => [ref, settlements]),
          [
            ['closing:1:2026-01', 4],
            ['closing:1:2026-02', 2],
          ],
        );
        assert.deepEqual(
          kept
            .filter(({ created_at, kind }) => created_at < Date.UTC(2026, 2) && kind !== 'closing')
            .map(({ ref }) => ref),
          openRefs,
        );
        const closings = kept.filter(({ kind }) => kind === 'closing').map(({ id }) => id);
        assert.deepEqual(closings, neighbours, 'two months share a page of each index');
        assert.deepEqual(
          (await entries(2)).map(({ ref }) => ref),
          ['closing:2:2026-01'],
        );
        assert.deepEqual(await sums(), before);
        assert.deepEqual(await auditLedger(database), []);
        assert.deepEqual((await audit.run('incremental'))?.findings, []);
        assert.deepEqual((await audit.run('full'))?.findings, []);

        await ledger.settle('still open', 10);
        clock.advance(60 * DAY_MS);
        await audit.run('incremental');
        await compaction.compact();
        assert.deepEqual((await audit.run('full'))?.findings, [], 'months that were closed before take more');
        assert.deepEqual(await auditLedger(database), []);
      });
    });
  });

  const STRAY = {
    kind: 'grant',
    amount: 0,
    plan_amount: 0,
    charged: 0,
    ref: 'stray',
    token_id: null,
    model: null,
    note: null,
    created_at: 0,
  };
});

describe('token limits', () => {
  const USER = 1;

  describe('token limit', () => {
    forEachDatabase((_name, open) => {
      const start = async () => {
        const database = await open();
        const ledger = openLedger(database);
        await ledger.open(USER, 1_000_000);
        let token = 0;
        return {
          database,
          ledger,
          nextToken: () => ++token,
          limitOf: async (id: number) => (await ledger.quota.tokenLimits([id])).get(id),
        };
      };
      type Started = Awaited<ReturnType<typeof start>>;

      /** Starts `second` when `first` has done its work but has not committed yet. Returns the results of both. */
      const overlap = async <F, S>({ ledger }: Started, first: (trx: Trx) => Promise<F>, second: () => Promise<S>) => {
        const worked = Promise.withResolvers<void>();
        const committed = ledger.run(async (trx) => {
          const result = await first(trx);
          worked.resolve();
          // Long enough for the second transaction to finish if no lock held it back.
          await setTimeout(100);
          return result;
        });
        await worked.promise;
        const [one, two] = await Promise.all([committed, second()]);
        return [one, two] as const;
      };
      const reservation = (tokenId: number, amount: number) => ({
        ref: `task_${tokenId}`,
        userId: USER,
        model: 'film',
        amount,
        tokenId,
      });

      it('includes a reservation that was in flight when the limit was set', async () => {
        const started = await start();
        const { ledger } = started;
        const token = started.nextToken();
        await overlap(
          started,
          (trx) => ledger.quota.reserve(trx, reservation(token, 60)),
          () => ledger.limit(token, 100),
        );
        assert.deepEqual(await started.limitOf(token), { limit: 100, used: 60 });
        assert.equal(await ledger.reserve('task_more', USER, 50, token), 'quota_not_enough');
        await ledger.settle(`task_${token}`, 40);
        assert.deepEqual(await started.limitOf(token), { limit: 100, used: 40 });
      });

      it('includes the cost of a reservation that was being settled when the limit was set, and nothing after a refund', async () => {
        const started = await start();
        const { ledger } = started;
        for (const end of [10, undefined]) {
          const token = started.nextToken();
          await ledger.reserve(`task_${token}`, USER, 60, token);
          await overlap(
            started,
            async (trx) =>
              end === undefined
                ? ledger.quota.refund(trx, `task_${token}`)
                : ledger.quota.settle(trx, `task_${token}`, end),
            () => ledger.limit(token, 100),
          );
          assert.deepEqual(await started.limitOf(token), { limit: 100, used: 0 });
        }
      });

      it('applies to reservations opened and closed while the limit is being set', async () => {
        const started = await start();
        const { ledger } = started;
        const token = started.nextToken();
        const setting = (trx: Trx) => ledger.quota.setTokenLimit(trx, token, 100);
        const [, refused] = await overlap(started, setting, () => ledger.reserve('task_large', USER, 101, token));
        assert.equal(refused, 'quota_not_enough');
        await ledger.limit(token, undefined);
        await ledger.reserve('task_ending', USER, 60, token);
        const [, charged] = await overlap(started, setting, () => ledger.settle('task_ending', 10));
        assert.equal(charged, 10);
        assert.deepEqual(await started.limitOf(token), { limit: 100, used: 10 });
      });

      it('refuses no request while the limit is being lifted', async () => {
        const started = await start();
        const { ledger } = started;
        const token = started.nextToken();
        await ledger.limit(token, 10);
        const [, outcome] = await overlap(
          started,
          (trx) => ledger.quota.setTokenLimit(trx, token, undefined),
          () => ledger.reserve('task_free', USER, 50, token),
        );
        assert.equal(outcome, undefined);
      });

      it('stays consistent under any interleaving of reservations, settlements and limit changes', async () => {
        const started = await start();
        const { ledger, database } = started;
        const tokens = Array.from({ length: 12 }, started.nextToken);
        const refs = tokens.flatMap((token) => [0, 1, 2, 3].map((index) => ({ token, ref: `task_${token}_${index}` })));
        await Promise.all([
          ...refs.map(({ token, ref }) => ledger.reserve(ref, USER, 10, token)),
          ...tokens.map((token) => ledger.limit(token, 1_000)),
        ]);
        for (const token of tokens) assert.deepEqual(await started.limitOf(token), { limit: 1_000, used: 40 });
        for (const token of tokens.slice(6)) await ledger.limit(token, undefined);
        await Promise.all([
          ...refs.map(({ ref }) => ledger.settle(ref, 4)),
          ...tokens.slice(6).map((token) => ledger.limit(token, 1_000)),
        ]);
        for (const token of tokens) {
          const used = (await started.limitOf(token))?.used ?? -1;
          assert.ok(token <= 6 ? used === 16 : used >= 0 && used <= 16 && used % 4 === 0, `${token}: ${used}`);
        }
        assert.deepEqual(await auditLedger(database), []);
      });
    });
  });
});
