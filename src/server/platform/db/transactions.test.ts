import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, describe, it } from 'node:test';
import { type Kysely, sql } from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import type { Tables } from '../../tables.ts';
import type { Database } from './database.ts';
import { openDatabase } from './open-database.ts';
import { isUniqueViolation } from './sql.ts';

function put(executor: Kysely<Tables>, name: string, value = '') {
  return executor.insertInto('meta').values({ name, value }).execute();
}

async function names(database: Database<Tables>): Promise<string[]> {
  const rows = await database.kysely.selectFrom('meta').select('name').orderBy('name').execute();
  return rows.map((row) => row.name);
}

forEachDatabase((name, open, _freshUrl, emptyUrl) => {
  describe('transaction', () => {
    it('persists its writes and shows them to the next read', async () => {
      const database = await open();
      const result = await database.transaction(async (trx) => {
        await put(trx, 'a');
        await put(trx, 'b');
        return 7;
      });
      assert.equal(result, 7);
      assert.deepEqual(await names(database), ['a', 'b']);
    });

    it('rolls back only itself when it throws, among others in its batch', async () => {
      const database = await open();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 60 }, (_, i) =>
          database.transaction(async (trx) => {
            await put(trx, `job-${String(i).padStart(2, '0')}`);
            if (i % 3 === 0) throw new Error('no');
            if (i % 3 === 1)
              await trx
                .insertInto('meta')
                .values({ name: `also-${i}`, value: '' })
                .execute();
          }),
        ),
      );
      assert.equal(outcomes.filter((outcome) => outcome.status === 'rejected').length, 20);
      const kept = await names(database);
      assert.equal(kept.length, 60);
      assert.ok(!kept.includes('job-00') && kept.includes('job-01') && kept.includes('also-01') === false);
      assert.ok(kept.includes('also-1'));
    });

    it('is rolled back by a failing statement', async () => {
      const database = await open();
      await put(database.kysely, 'taken');
      const failed = database.transaction(async (trx) => {
        await put(trx, 'before');
        await put(trx, 'taken');
      });
      await assert.rejects(failed, isUniqueViolation);
      assert.deepEqual(await names(database), ['taken']);
    });

    it('is not reported as committed when its failed statement was swallowed', async () => {
      const database = await open();
      await put(database.kysely, 'taken');
      const swallowed = database.transaction(async (trx) => {
        await put(trx, 'a');
        await put(trx, 'taken').catch(() => {});
      });
      await assert.rejects(swallowed, /rolled back/);
      const wentOn = database.transaction(async (trx) => {
        await put(trx, 'taken').catch(() => {});
        await put(trx, 'b');
      });
      await assert.rejects(wentOn);
      assert.deepEqual(await names(database), ['taken']);
    });

    it('rejects use of the database and of other transactions in its callback', async () => {
      const database = await open();
      const message = /must not be used inside/;
      await assert.rejects(
        database.transaction(() => put(database.kysely, 'a')),
        message,
      );
      await assert.rejects(
        database.transaction(() => database.transaction((trx) => put(trx, 'a'))),
        message,
      );
      let later: Promise<unknown> = Promise.resolve();
      const ended = Promise.withResolvers<void>();
      await database.transaction(async () => {
        later = ended.promise.then(() => put(database.kysely, 'afterwards'));
      });
      ended.resolve();
      await later;
      assert.deepEqual(await names(database), ['afterwards']);
    });

    it('cannot be used once it has ended', async () => {
      const database = await open();
      const escaped = await database.transaction(async (trx) => ({ trx }));
      await assert.rejects(put(escaped.trx, 'late'));
      assert.deepEqual(await names(database), []);
    });
  });

  describe('writes and reads', () => {
    it('decrement a counter 1,000 times concurrently, never below zero', async () => {
      const database = await open();
      await sql`create table counters (id integer primary key, n bigint not null)`.execute(database.kysely);
      await sql`insert into counters values (1, 400)`.execute(database.kysely);
      const decrement = (executor: Kysely<Tables>) =>
        sql`update counters set n = n - 1 where id = 1 and n >= 1`.execute(executor);
      const results = await Promise.all(
        Array.from({ length: 1_000 }, (_, i) => (i % 2 ? decrement(database.kysely) : database.transaction(decrement))),
      );
      assert.equal(results.filter((result) => result.numAffectedRows === 1n).length, 400);
      const { rows } = await sql`select n from counters`.execute(database.kysely);
      assert.deepEqual(rows, [{ n: 0 }]);
    });

    it('read the last committed state while a transaction is open', async () => {
      const database = await open();
      const read = Promise.withResolvers<string[]>();
      const go = Promise.withResolvers<void>();
      const writing = database.transaction(async (trx) => {
        await put(trx, 'open');
        go.resolve();
        await read.promise;
      });
      await go.promise;
      read.resolve(await names(database));
      assert.deepEqual(await read.promise, []);
      await writing;
      assert.deepEqual(await names(database), ['open']);
    });

    it('distinguish a unique violation from other errors, and can read the conflicting row', async () => {
      const database = await open();
      const twice = await Promise.allSettled([put(database.kysely, 'same'), put(database.kysely, 'same')]);
      const refused = twice.find((outcome) => outcome.status === 'rejected');
      assert.ok(isUniqueViolation(refused?.reason));
      assert.deepEqual(await names(database), ['same']);
      const other = await sql`insert into meta (name) values ('no value')`
        .execute(database.kysely)
        .catch((error) => error);
      assert.ok(other instanceof Error && !isUniqueViolation(other));
    });

    it('return rows from a write', async () => {
      const database = await open();
      const row = await database.kysely
        .insertInto('meta')
        .values({ name: 'a', value: '1' })
        .returning(['name', 'value'])
        .executeTakeFirstOrThrow();
      assert.deepEqual(row, { name: 'a', value: '1' });
      const updated = await database.kysely
        .updateTable('meta')
        .set({ value: '2' })
        .where('name', '=', 'b')
        .executeTakeFirst();
      assert.equal(updated.numUpdatedRows, 0n);
    });

    it('return integers as numbers, and refuse those a number cannot represent', async () => {
      const database = await open();
      await sql`create table numbers (n bigint not null, t text)`.execute(database.kysely);
      await sql`insert into numbers values (${Number.MAX_SAFE_INTEGER}, '5')`.execute(database.kysely);
      const { rows } = await sql`select n, n / 2 as half, n > 1 as big, (select sum(n) from numbers) as total,
        (select count(*) from numbers) as count from numbers`.execute(database.kysely);
      const n = Number.MAX_SAFE_INTEGER;
      assert.deepEqual(rows, [{ n, half: 4503599627370495, big: 1, total: n, count: 1 }]);
      await sql`update numbers set n = n + 1`.execute(database.kysely);
      await assert.rejects(sql`select n from numbers`.execute(database.kysely), /too large/);
    });

    it('sort text by bytes', async () => {
      const database = await open();
      for (const text of ['b', 'B', 'a', 'Ä', '_', '1']) await put(database.kysely, text);
      assert.deepEqual(await names(database), ['1', 'B', '_', 'a', 'b', 'Ä']);
    });
  });

  it('survive kill -9 right after a write was acknowledged', async () => {
    const url = await emptyUrl();
    const child = spawn(process.execPath, [new URL('./write-until-killed.fixture.ts', import.meta.url).pathname, url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let acknowledged = 0;
    for await (const chunk of child.stdout) {
      acknowledged += String(chunk).split('\n').length - 1;
      if (acknowledged >= 20) child.kill('SIGKILL');
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    const database = openDatabase<Tables>(url);
    after(() => database.close());
    const kept = await names(database);
    assert.ok(acknowledged >= 20);
    assert.ok(kept.length >= acknowledged, `${kept.length} of ${acknowledged} rows`);
  });

  it('answers a ping', async () => {
    const database = await open();
    await database.ping();
    assert.equal(database.dialect, name);
  });
});
