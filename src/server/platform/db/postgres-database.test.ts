import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sql, type Transaction } from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { untilLocksAwaited } from '../../../../test/until-locks-awaited.ts';
import type { Tables } from '../../tables.ts';
import { DatabaseUnavailableError } from './database.ts';
import { openDatabase } from './open-database.ts';
import { prepareQuery } from './prepared-query.ts';

forEachDatabase((name, open, freshUrl) => {
  if (name !== 'postgres') return;

  it('repeats a transaction that was chosen as a deadlock victim', async () => {
    const database = await open();
    for (const row of ['a', 'b']) await database.kysely.insertInto('meta').values({ name: row, value: '' }).execute();
    const bothHoldOne = Promise.withResolvers<void>();
    let holding = 0;
    let runs = 0;
    const touch = (trx: Transaction<Tables>, row: string) =>
      sql`update meta set value = value || 'x' where name = ${row}`.execute(trx);
    const crosswise = (first: string, second: string) =>
      database.transaction(async (trx) => {
        runs++;
        await touch(trx, first);
        if (++holding === 2) bothHoldOne.resolve();
        await bothHoldOne.promise;
        await touch(trx, second);
      });
    await Promise.all([crosswise('a', 'b'), crosswise('b', 'a')]);
    assert.equal(runs, 3);
    const rows = await database.kysely.selectFrom('meta').select('value').execute();
    assert.deepEqual(rows, [{ value: 'xx' }, { value: 'xx' }]);
  });

  it('repeats a single statement that was chosen as a deadlock victim', async () => {
    const url = await freshUrl();
    const [database, reader] = [openDatabase<Tables>(url), openDatabase<Tables>(url)];
    for (const table of ['one', 'other']) await sql`create table ${sql.table(table)} (id int)`.execute(reader.kysely);
    const both = sql<{ count: number }>`select count(*) as count from one, other`;
    let read: Promise<unknown> | undefined;
    for (let isVictim = false; !isVictim; )
      isVictim = await database
        .transaction(async (trx) => {
          // The first waiter also checks for a deadlock first and is chosen as the victim; the other session never
          // checks.
          await sql`set local deadlock_timeout = '1min'`.execute(trx);
          await sql`lock table other in access exclusive mode`.execute(trx);
          read = both.execute(reader.kysely).then(({ rows }) => rows);
          await untilLocksAwaited(trx, 1);
          await sql`lock table one in access exclusive mode`.execute(trx);
        })
        .then(
          () => true,
          () => false,
        );
    assert.deepEqual(await read, [{ count: 0 }]);
    await Promise.all([database.close(), reader.close()]);
  });

  it('replans a named query after its table has changed, inside and outside a transaction', async () => {
    const database = await open({ poolMax: 1 });
    const all = prepareQuery<Tables, Record<never, never>>()((db) => db.selectFrom('meta').selectAll());
    await database.kysely.insertInto('meta').values({ name: 'a', value: 'x' }).execute();
    const ask = () => all.all(database.kysely, {});
    const askInside = () => database.transaction((trx) => all.all(trx, {}));
    for (const [column, read] of [
      ['one', ask],
      ['two', askInside],
    ] as const) {
      await read();
      const before = await sql<{ name: string }>`select name from pg_prepared_statements`.execute(database.kysely);
      assert.equal(before.rows.filter(({ name }) => name.startsWith('rg_')).length, 1);
      await sql`alter table meta add column ${sql.ref(column)} text`.execute(database.kysely);
      assert.deepEqual(Object.keys((await read())[0] ?? {}).at(-1), column);
    }
  });

  it('throws DatabaseUnavailableError after three attempts', async () => {
    const database = await open();
    let runs = 0;
    const lost = database.transaction(async (trx) => {
      runs++;
      await sql`do $$ begin raise exception 'again' using errcode = '40001'; end $$`.execute(trx);
    });
    await assert.rejects(lost, DatabaseUnavailableError);
    assert.equal(runs, 3);
  });

  it('throws DatabaseUnavailableError for an unreachable server, a timeout and a broken connection', async () => {
    const nowhere = openDatabase<Tables>('postgres://127.0.0.1:1/nothing');
    await assert.rejects(nowhere.ping(), DatabaseUnavailableError);
    await assert.rejects(
      nowhere.transaction(async () => {}),
      DatabaseUnavailableError,
    );
    await nowhere.close();

    const database = await open({ statementTimeoutMs: 100, poolMax: 1 });
    await assert.rejects(sql`select pg_sleep(5)`.execute(database.kysely), DatabaseUnavailableError);
    const cut = database.transaction(async (trx) => {
      await trx.insertInto('meta').values({ name: 'cut', value: '' }).execute();
      await sql`select pg_terminate_backend(pg_backend_pid())`.execute(trx);
    });
    await assert.rejects(cut, DatabaseUnavailableError);
    assert.deepEqual(await database.kysely.selectFrom('meta').selectAll().execute(), []);
  });
});
