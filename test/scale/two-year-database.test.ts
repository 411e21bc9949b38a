import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sql } from 'kysely';
import { DAY_MS } from '../../src/contract/time-units.ts';
import { type ManualClock, manualClock } from '../../src/server/platform/clock.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { type CallDetail, LedgerStore } from '../../src/server/quota/ledger.ts';
import { LedgerService } from '../../src/server/quota/ledger-service.ts';
import { RequestLog, RequestStore } from '../../src/server/request-log/request-log.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService, type TestService } from '../test-service.ts';

const WEEKS = 104;
/** Twice a week, with the calls of three and a half days. */
const STEP_MS = 3.5 * DAY_MS;
/** Enough for the rows that stay for good to be few beside those that come and go. */
const CALLS_A_STEP = 120;
const ACCOUNTS = 2;
const RESERVED = 50;
const COST = 30;
const FUNDS = 1_000_000_000;
const DAYS = { RETENTION_REQUESTS_DAYS: '30', RETENTION_LEDGER_DAYS: '60', RETENTION_AUDIT_DAYS: '60' };

const DETAIL: CallDetail = {
  kind: 'chat',
  servedModel: 'chat',
  channelId: 1,
  status: 'ok',
  errorCode: '',
  cachedTokens: 0,
  seconds: 0,
  durationMs: 800,
  firstTokenMs: null,
  stream: false,
  client: 'test',
  price: '',
  facts: '',
};

/** The writes of some days of model calls, through the service's own ledger and request log. */
function openLoad({ app: { database } }: TestService, clock: ManualClock) {
  const log = new RequestLog({ database, store: new RequestStore(database), clock, log: openLog('silent') });
  const ledger = new LedgerService({ store: new LedgerStore(database), clock, onClosed: log.addClosed });
  const users = Array.from({ length: ACCOUNTS }, (_, index) => 500 + index);
  return {
    users,
    openWallets: () =>
      database.transaction(async (trx) => {
        for (const user of users) await ledger.openWallet(trx, user, FUNDS);
      }),
    async run(step: number): Promise<void> {
      const refs = Array.from(
        { length: CALLS_A_STEP },
        (_, call) => `req_${String(step * CALLS_A_STEP + call).padStart(8, '0')}`,
      );
      await database.transaction((trx) =>
        ledger.charge(trx, {
          reservations: refs.map((ref, call) => ({
            ref,
            userId: users[call % ACCOUNTS] ?? 0,
            model: 'chat',
            amount: RESERVED,
          })),
        }),
      );
      await database.transaction((trx) =>
        ledger.charge(trx, { settlements: refs.map((ref) => ({ ref, cost: COST, detail: DETAIL })) }),
      );
    },
  };
}

describe('two years of steady load', () => {
  forEachDatabase((name, _open, freshUrl) => {
    const clock = manualClock(Date.UTC(2026, 10, 20));
    let service: TestService;
    before(async () => {
      service = await startTestService(await freshUrl(), DAYS, { clock });
    });
    after(() => service.stop());

    const sizeOf = async (): Promise<number> => {
      const { kysely } = service.app.database;
      // Autovacuum's work in the course of a day.
      if (name === 'postgres') await sql`vacuum`.execute(kysely);
      const size =
        name === 'sqlite'
          ? sql<{ bytes: number }>`select page_count * page_size as bytes from pragma_page_count, pragma_page_size`
          : sql<{ bytes: number }>`select sum(pg_total_relation_size(oid))::bigint as bytes from pg_class
              where relkind in ('r', 'p') and relname ~ '^(ledger|requests|reservations|usage_daily|wallets|audit_log|events)'`;
      return Number((await size.execute(kysely)).rows[0]?.bytes);
    };

    it('ends with the size it had after a year, exact balances and exactly the rows that are kept', async () => {
      const load = openLoad(service, clock);
      await load.openWallets();
      const sizes: number[] = [];
      for (let week = 0; week < WEEKS; week++) {
        for (const half of [0, 1]) {
          clock.advance(STEP_MS);
          await load.run(week * 2 + half);
        }
        await service.app.runDueJobs();
        if (week % 13 === 12) sizes.push(await sizeOf());
      }
      const { kysely } = service.app.database;
      // Daily figures and closing entries stay: some hundred rows per account and year.
      const [year, end] = [sizes[3] ?? 0, sizes.at(-1) ?? 0];
      assert.ok(end <= 1.1 * year, `the size went from ${year} to ${end} bytes: ${sizes.join()}`);

      const calls = (WEEKS * 2 * CALLS_A_STEP) / ACCOUNTS;
      const wallets = await kysely.selectFrom('wallets').selectAll().where('user_id', 'in', load.users).execute();
      for (const { balance, used, requests } of wallets)
        assert.deepEqual([balance, used, requests], [FUNDS - calls * COST, calls * COST, calls]);
      await assertLedgerConsistent(service.app.database);

      const count = async (table: 'requests' | 'ledger') =>
        Number((await kysely.selectFrom(table).select(sql<number>`count(*)`.as('n')).executeTakeFirstOrThrow()).n);
      const kept = (await count('requests')) / CALLS_A_STEP;
      // PostgreSQL drops whole months: it keeps the current one, the previous one, and up to a week of the one before
      // that until the next run.
      const most = name === 'sqlite' ? 9 : (31 + 31 + 31) / 3.5;
      assert.ok(kept >= 8 && kept <= most, `the calls of ${kept} steps, and 30 days are 8.6`);
      if (name === 'postgres') {
        const { rows } = await sql<{ name: string }>`
          select relname as name from pg_class join pg_inherits on oid = inhrelid where inhparent = 'requests'::regclass`.execute(
          kysely,
        );
        const months = rows.filter((row) => row.name !== 'requests_rest');
        assert.ok(months.length >= 4 && months.length <= 6, `parts: ${months.map((row) => row.name).join()}`);
        const rest = await sql<{ n: number }>`select count(*) as n from requests_rest`.execute(kysely);
        assert.equal(Number(rest.rows[0]?.n), 0, 'each call was put into its month');
      }
      const closing = await kysely.selectFrom('ledger').selectAll().where('kind', '=', 'closing').execute();
      assert.ok(
        closing.length >= 20 * ACCOUNTS && closing.length <= 24 * ACCOUNTS,
        `${closing.length} closing entries`,
      );
      const whole = (await count('ledger')) - closing.length;
      assert.ok(whole <= 2 * CALLS_A_STEP * ((60 + 31 + 7) / 3.5), `${whole} entries that are not folded`);
    });
  });
});
