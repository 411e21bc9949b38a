import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sql } from 'kysely';
import { forEachDatabase } from '../../../../test/databases.ts';
import { type Database, openDatabase } from './database.ts';
import { dialectFor } from './dialect.ts';
import { type Migration, migrate } from './migrate.ts';

interface ThingTables {
  things: { seq: number; name: string };
}

function createThings(onRun: () => void = () => {}): Migration {
  return {
    id: '0001-things',
    up: async (trx, dialect) => {
      onRun();
      await trx.schema
        .createTable('things')
        .addColumn('seq', dialect.int64, dialect.autoIncrement)
        .addColumn('name', dialect.text, (column) => column.notNull())
        .addColumn('picture', dialect.blob)
        .execute();
      await trx.insertInto('things').values({ name: 'first' }).execute();
    },
  };
}

async function things(database: Database<ThingTables>) {
  return await database.kysely.selectFrom('things').select(['seq', 'name']).orderBy('seq').execute();
}

forEachDatabase((name, _open, freshUrl) => {
  it('runs each entry once, however often it is asked', async () => {
    const database = openDatabase<ThingTables>(await freshUrl());
    let runs = 0;
    const list = [createThings(() => runs++)];
    assert.deepEqual(await migrate(database, list), ['0001-things']);
    assert.deepEqual(await migrate(database, list), []);
    assert.equal(runs, 1);
    assert.deepEqual(await things(database), [{ seq: 1, name: 'first' }]);
    await database.close();
  });

  it('runs each entry once when several processes start together', async () => {
    const url = await freshUrl();
    const replicas = Array.from({ length: 5 }, () => openDatabase<ThingTables>(url));
    let runs = 0;
    const applied = await Promise.all(replicas.map((database) => migrate(database, [createThings(() => runs++)])));
    assert.deepEqual(applied.flat(), ['0001-things']);
    assert.equal(runs, 1);
    await Promise.all(replicas.map((database) => database.close()));
  });

  it('leaves nothing of an entry that fails, keeps the ones before it, and can go on from there', async () => {
    const database = openDatabase<ThingTables>(await freshUrl());
    const addColour = (fails: boolean): Migration => ({
      id: '0002-colour',
      up: async (trx) => {
        await sql`alter table things add column colour text not null default 'red'`.execute(trx);
        await trx.insertInto('things').values({ name: 'half' }).execute();
        if (fails) throw new Error('half way');
      },
    });
    await assert.rejects(migrate(database, [createThings(), addColour(true)]), /half way/);
    assert.deepEqual(await things(database), [{ seq: 1, name: 'first' }]);
    assert.deepEqual(await migrate(database, [createThings(), addColour(false)]), ['0002-colour']);
    const { rows } = await sql`select name, colour from things order by seq`.execute(database.kysely);
    assert.deepEqual(rows, [
      { name: 'first', colour: 'red' },
      { name: 'half', colour: 'red' },
    ]);
    await database.close();
  });

  it('lets an older release start on a newer schema, and refuses two entries of one name', async () => {
    const database = openDatabase<ThingTables>(await freshUrl());
    await migrate(database, [createThings()]);
    assert.deepEqual(await migrate(database, []), []);
    await assert.rejects(migrate(database, [createThings(), createThings()]), /two migrations are called 0001-things/);
    assert.equal(dialectFor(database.dialect).name, name);
    await database.close();
  });
});
