import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Kysely, sql } from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { untilLocksAwaited } from '../../../../test/until-locks-awaited.ts';
import type { Tables } from '../../tables.ts';
import { MonthlyPartitions } from './monthly-partitions.ts';

const NOV = Date.UTC(2026, 10, 20);
const LATER = Date.UTC(2027, 0, 5);

describe('monthly partitions', () => {
  forEachDatabase((name, open) => {
    // SQLite has no partitions; it returns pages of deleted rows to the disk instead.
    if (name === 'sqlite') return;

    async function setUp() {
      const database = await open();
      const { kysely } = database;
      const add = (createdAt: number, writer: Kysely<Tables> = kysely) =>
        sql`insert into requests (ref, user_id, token_id, channel_id, kind, model, served_model, status, error_code, input_tokens,
            cached_tokens, output_tokens, seconds, quota, reserved, duration_ms, stream, client, price, facts, created_at)
          values (${`task_${createdAt}`}, 1, 0, 0, 'video', 'm', 'm', 'ok', '', 0, 0, 0, 0, 1, 1, 1, 0, '', '', '', ${createdAt})`.execute(
          writer,
        );
      const parts = async () => {
        const { rows } = await sql<{ part: string; n: number }>`
          select tableoid::regclass::text as part, count(*)::int as n from requests group by 1 order by 1`.execute(
          kysely,
        );
        return Object.fromEntries(rows.map(({ part, n }) => [part, n]));
      };
      return { database, add, parts, partitions: new MonthlyPartitions(database, 'requests') };
    }

    it('are created ahead of time, once, by whichever process comes first', async () => {
      const { database, partitions, add, parts } = await setUp();
      assert.equal(await partitions.countAhead(NOV), -1);
      const other = new MonthlyPartitions(database, 'requests');
      await Promise.all([partitions.add(NOV, LATER), other.add(NOV, LATER)]);
      assert.deepEqual([await partitions.countAhead(NOV), await partitions.countAhead(LATER)], [2, 0]);
      assert.equal(await partitions.add(NOV, LATER), 0);
      await add(NOV);
      await add(Date.UTC(2026, 11, 1) - 1);
      await add(Date.UTC(2026, 11, 1));
      assert.deepEqual(await parts(), { requests_2026_11: 2, requests_2026_12: 1 });
    });

    it('adopt rows written before they were created', async () => {
      const { partitions, add, parts } = await setUp();
      await add(NOV);
      await add(LATER);
      assert.deepEqual(await parts(), { requests_rest: 2 });
      await partitions.add(NOV, NOV);
      assert.deepEqual(await parts(), { requests_2026_11: 1, requests_rest: 1 });
    });

    it('are dropped as a whole once the entire month is old enough', async () => {
      const { partitions, add, parts } = await setUp();
      await partitions.add(NOV, LATER);
      for (const at of [NOV, LATER]) await add(at);
      assert.equal(await partitions.dropBefore(Date.UTC(2026, 11, 1) - 1), 0);
      assert.equal(await partitions.dropBefore(Date.UTC(2026, 11, 1)), 1);
      assert.deepEqual(await parts(), { requests_2027_01: 1 });
    });

    it('are created despite a concurrent write to the month, and blocked writers retry', async () => {
      const { database, partitions, add, parts } = await setUp();
      const [written, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const early = database.transaction(async (trx) => {
        await add(NOV, trx);
        written.resolve();
        await waiting.promise;
      });
      await written.promise;
      const adding = partitions.add(NOV, NOV);
      await untilLocksAwaited(database.kysely, 1);
      const late = [add(NOV + 1), database.transaction((trx) => add(NOV + 2, trx))];
      await untilLocksAwaited(database.kysely, 3);
      waiting.resolve();
      await Promise.all([early, adding, ...late]);
      assert.deepEqual(await parts(), { requests_2026_11: 3 });
    });

    it('are created and dropped while others write, and no row is lost', async () => {
      const { partitions, add, parts } = await setUp();
      const month = (index: number) => Date.UTC(2027, index, 10);
      const writing = Promise.all(Array.from({ length: 60 }, (_, index) => add(month(index % 6) + index)));
      await partitions.add(month(0), month(5));
      await writing;
      const counted = await parts();
      assert.equal(
        Object.values(counted).reduce((sum, n) => sum + n, 0),
        60,
      );
    });
  });
});
