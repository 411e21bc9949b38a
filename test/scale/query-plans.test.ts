import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { seedAtScale } from '../../bench/support/seed-at-scale.ts';
import type { LongPage } from '../../src/contract/responses.ts';
import { DAY_MS } from '../../src/contract/time-units.ts';
import { AccountStore } from '../../src/server/accounts/account-store.ts';
import { AuditStore } from '../../src/server/accounts/audit-log.ts';
import { LoginHistoryStore } from '../../src/server/accounts/login-service.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { LedgerReportStore } from '../../src/server/quota/ledger-reports.ts';
import { RequestStore } from '../../src/server/request-log/request-log.ts';
import type { Tables } from '../../src/server/tables.ts';
import { ChannelTaskLimitStore } from '../../src/server/video/attempts.ts';
import { PollStore } from '../../src/server/video/poll-scheduler.ts';
import { TaskAdminStore } from '../../src/server/video/task-reports.ts';
import { MAX_SEARCHED_TASKS, TaskStore } from '../../src/server/video/task-store.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { planQueries } from './query-plans.ts';

const NOW = Date.UTC(2026, 10, 20);
const FIRST: LongPage = { page: 1, pageSize: 50, offset: 0, after: undefined };
const THIRD: LongPage = { ...FIRST, page: 3, offset: 100 };
/** The account with a tenth of all rows. */
const HEAVY = 1_000;
const TASKS = 24_000;
/**
 * PostgreSQL may filter if that is cheaper than another index, and then reads somewhat more rows. A search reads as
 * many keys.
 */
const MAX_ROWS_READ = MAX_SEARCHED_TASKS;
const CLOCK = { now: () => NOW };

type Run = (database: Database<Tables>, page: LongPage) => Promise<unknown>;

const ownVideos =
  (filter: Parameters<TaskStore['page']>[0]): Run =>
  (database, page) =>
    new TaskStore(database).page({ userId: HEAVY, ...filter }, page);
const allVideos =
  (filter: Parameters<TaskAdminStore['page']>[0]): Run =>
  (database, page) =>
    new TaskAdminStore(database).page(filter, page);
const ledger =
  (filter: Parameters<LedgerReportStore['entries']>[0]): Run =>
  (database, page) =>
    new LedgerReportStore(database).entries(filter, page);
const audit =
  (filter: Parameters<AuditStore['list']>[0]): Run =>
  (database, page) =>
    new AuditStore(database, CLOCK).list(filter, page);
const logins =
  (filter: Parameters<LoginHistoryStore['list']>[0]): Run =>
  (database, page) =>
    new LoginHistoryStore(database).list(filter, page);
const accounts =
  (filter: Parameters<AccountStore['list']>[0]): Run =>
  (database, page) =>
    new AccountStore(database).list(filter, page);
const requests =
  (filter: Parameters<RequestStore['list']>[0]): Run =>
  (database, { after }) =>
    new RequestStore(database).list(filter, after === undefined ? undefined : { createdAt: NOW, seq: after }, 100);

/**
 * Each list with its sort order and the index that serves it on SQLite; undefined: the table's own order, newest first.
 * `short`: a handful of rows, which are sorted.
 */
const LISTS: readonly (readonly [string, Run, RegExp | undefined, 'short'?])[] = [
  ['own videos', ownVideos({}), /tasks_by_user/],
  ['own videos that failed', ownVideos({ status: 'FAILURE' }), /tasks_failed_by_user/],
  ['own videos by words', ownVideos({ searchTerms: ['heron', '77'] }), /tasks_by_user/],
  ['all videos', allVideos({}), undefined],
  ['all videos of an account', allVideos({ userId: HEAVY }), /tasks_by_user/],
  ['all videos of a channel', allVideos({ channelId: 3 }), /tasks_by_channel/],
  ['all videos of a model', allVideos({ model: 'sora-2' }), /tasks_by_model/],
  ['all videos that failed', allVideos({ status: 'FAILURE' }), /tasks_failed/],
  ['all unfinished videos', allVideos({ unfinished: true }), /tasks_unfinished/],
  ['all videos that have not started', allVideos({ status: 'NOT_START' }), /tasks_unfinished/],
  ['all submitted videos', allVideos({ status: 'SUBMITTED' }), /tasks_unfinished/],
  ['all videos of a month', allVideos({ from: NOW - 60 * DAY_MS, to: NOW - 30 * DAY_MS }), undefined],
  ['the ledger', ledger({}), undefined],
  ['the ledger of an account', ledger({ userId: HEAVY }), /ledger_by_user/],
  ['the grants of an account', ledger({ userId: HEAVY, kind: 'grant' }), /ledger_rare_by_user/],
  ['the refunds of an account', ledger({ userId: HEAVY, kind: 'refund' }), /ledger_rare_by_user/],
  ['the settlements', ledger({ kind: 'settle' }), undefined],
  ['the refunds', ledger({ kind: 'refund' }), /ledger_rare_by_kind/],
  ['the entries of a task', ledger({ ref: 'task_s77' }), /ledger_once/, 'short'],
  ['the audit log', audit({}), undefined],
  ['the audit log of an actor', audit({ actorId: 1 }), /audit_log_by_actor|PRIMARY|pkey/],
  ['the audit log of a target', audit({ target: 'user:7' }), /audit_log_by_target/],
  ['the audit log of an organization', audit({ organizationId: 7 }), /audit_log_by_organization/],
  ['the audit log of an action', audit({ action: 'user.update' }), /audit_log_by_action/],
  ['logins', logins({}), undefined],
  ['logins to accounts of users', logins({ roles: ['user'] }), undefined],
  ['logins to an account', logins({ userId: HEAVY }), /login_history_by_user/],
  ['failed logins', logins({ failed: true }), /login_history_failed/],
  ['failed logins to an account', logins({ userId: HEAVY, failed: true }), /login_history_by_user/],
  ['accounts', accounts({}), undefined],
  ['administrators', accounts({ role: 'admin' }), /accounts_by_role/],
  ['disabled accounts', accounts({ status: 2 }), /accounts_by_status/],
  ['requests of an account', requests({ userId: HEAVY }), /requests_by_user/],
  ['requests', requests({}), undefined],
  ['requests of an hour', requests({ from: NOW - 7_200_000, to: NOW - 3_600_000 }), undefined],
];

describe('lists of growing tables', () => {
  forEachDatabase((name, open) => {
    let database: Database<Tables>;
    before(async () => {
      // On a busy machine seeding takes longer than the service allows a statement.
      database = await open({ statementTimeoutMs: 60_000 });
      const seed = { tasks: TASKS, accounts: 400, unfinished: 200, firstUser: HEAVY, now: NOW };
      await seedAtScale(database, seed);
    });

    for (const [what, run, index, length] of LISTS)
      it(`${what}: first page, third page, and after a row, both newest and oldest first`, async () => {
        const oldestFirst = [FIRST, THIRD, { ...FIRST, after: 5_000 }].map((page) => ({ ...page, oldestFirst: true }));
        for (const page of [FIRST, THIRD, { ...FIRST, after: 5_000 }, ...oldestFirst]) {
          const plans = (await planQueries(database, (recorded) => run(recorded, page))).filter(({ sql }) =>
            sql.includes('order by'),
          );
          assert.ok(plans.length > 0);
          for (const plan of plans) {
            assert.ok(plan.rowsRead <= MAX_ROWS_READ, `reads ${plan.rowsRead} rows: ${plan.sql}`);
            if (name === 'postgres' || index === undefined) continue;
            assert.deepEqual(plan.scanned, [], `reads all rows: ${plan.sql}`);
            assert.equal(plan.sorts, length === 'short', `sorts: ${plan.sql}`);
            assert.ok(
              plan.indexes.some((each) => index.test(each)),
              `uses ${plan.indexes.join()}: ${plan.sql}`,
            );
          }
        }
      });

    it('finds whether a vendor account has a free slot by an index of its unfinished videos', async () => {
      const account = { id: 3, credentialId: 1, maxConcurrentTasks: 1_000 };
      const plans = await planQueries(database, (recorded) => new ChannelTaskLimitStore(recorded).withRoom([account]));
      assert.equal(plans.length, 1);
      const [plan] = plans;
      assert.ok(plan !== undefined && plan.rowsRead <= 1_000);
      assert.deepEqual(plan.scanned, []);
      if (name === 'sqlite') assert.deepEqual(plan.indexes, ['tasks_unfinished_by_channel']);
    });

    it("reads an account's requests within an hour by its index, between the keys of that hour", async () => {
      const run = requests({ userId: HEAVY, from: NOW - 7_200_000, to: NOW - 3_600_000 });
      const plans = await planQueries(database, (recorded) => run(recorded, FIRST));
      const [ofAccount, ...others] = plans.filter(({ sql }) => /user_id/.test(sql));
      assert.ok(ofAccount !== undefined && others.length === 0);
      assert.ok(ofAccount.rowsRead <= MAX_ROWS_READ);
      if (name === 'postgres') return;
      assert.ok(ofAccount.indexes.includes('requests_by_user'), ofAccount.indexes.join());
      assert.equal(ofAccount.sorts, false);
      assert.ok(plans.length < 2 * 20, `${plans.length} statements`);
    });

    it('finds due tasks by their index', async () => {
      const plans = await planQueries(database, (recorded) => new PollStore(recorded).claimDue(NOW + 20, 60_000, 500));
      assert.ok(plans.some(({ indexes }) => indexes.includes('tasks_due')));
    });

    it('reads the same rows by `next` as by page numbers, to the end', async () => {
      const store = new LedgerReportStore(database);
      const filter = { userId: HEAVY + 1, kind: 'settle' as const };
      const byNext: number[] = [];
      let after: number | undefined;
      do {
        const page = await store.entries(filter, { ...FIRST, pageSize: 7, after });
        byNext.push(...page.rows.map(({ id }) => id));
        after = page.next;
      } while (after !== undefined);
      const byNumber: number[] = [];
      for (let page = 1; page <= 20; page++) {
        const { rows } = await store.entries(filter, { page, pageSize: 7, offset: 7 * (page - 1), after: undefined });
        byNumber.push(...rows.map(({ id }) => id));
      }
      assert.deepEqual(byNext, byNumber);
      assert.deepEqual(
        byNext,
        byNext.toSorted((one, other) => other - one),
      );
      assert.equal(byNext.length, (await store.entries(filter, FIRST)).total);
    });

    it('counts up to ten thousand and reports when there are more', async () => {
      const all = await new LedgerReportStore(database).entries({}, FIRST);
      assert.deepEqual([all.total, all.totalIsMinimum], [10_000, true]);
      const few = await new LedgerReportStore(database).entries({ userId: HEAVY + 1 }, FIRST);
      assert.deepEqual([few.total > 100, few.totalIsMinimum], [true, false]);
    });
  });
});
