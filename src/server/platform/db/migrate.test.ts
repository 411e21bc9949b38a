import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sql } from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { untilLocksAwaited } from '../../../../test/until-locks-awaited.ts';
import { type Database, DatabaseUnavailableError } from './database.ts';
import { addIndex, type Migration, migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';
import { dialectFor } from './sql.ts';

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
        .addColumn('image', dialect.blob)
        .execute();
      await trx.insertInto('things').values({ name: 'first' }).execute();
    },
  };
}

const addColour: Migration = {
  id: '0002-colour',
  up: async (trx) => {
    await sql`alter table things add column colour text not null default 'red'`.execute(trx);
  },
};

async function things(database: Database<ThingTables>) {
  return await database.kysely.selectFrom('things').select(['seq', 'name']).orderBy('seq').execute();
}

const opened: Database<ThingTables>[] = [];
function openAnother(url: string): Database<ThingTables> {
  const database = openDatabase<ThingTables>(url);
  opened.push(database);
  return database;
}

/** A write by a process that is not part of the migration. */
async function insertFromOutside(url: string, name: string): Promise<void> {
  const database = openDatabase<ThingTables>(url);
  await database.kysely.insertInto('things').values({ seq: 20, name }).execute();
  await database.close();
}

forEachDatabase((name, _open, _freshUrl, emptyUrl) => {
  it('runs each entry once, however often it is called', async () => {
    const database = openDatabase<ThingTables>(await emptyUrl());
    let runs = 0;
    const list = [createThings(() => runs++)];
    assert.deepEqual(await migrate(database, list), ['0001-things']);
    assert.deepEqual(await migrate(database, list), []);
    assert.equal(runs, 1);
    assert.deepEqual(await things(database), [{ seq: 1, name: 'first' }]);
    await database.close();
  });

  it('runs each entry once when several processes start together', async () => {
    const url = await emptyUrl();
    const replicas = Array.from({ length: 5 }, () => openDatabase<ThingTables>(url));
    let runs = 0;
    const applied = await Promise.all(replicas.map((database) => migrate(database, [createThings(() => runs++)])));
    assert.deepEqual(applied.flat(), ['0001-things']);
    assert.equal(runs, 1);
    await Promise.all(replicas.map((database) => database.close()));
  });

  it('rolls back a failing entry, keeps the ones before it, and can resume from there', async () => {
    const database = openDatabase<ThingTables>(await emptyUrl());
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

  it('adds an index while others write to the table, and again after an interruption', async () => {
    const url = await emptyUrl();
    const [database, writer] = [openDatabase<ThingTables>(url, { poolMax: 1 }), openDatabase<ThingTables>(url)];
    const byName: Migration = {
      id: '0002-things-by-name',
      outsideTransaction: true,
      up: addIndex({ name: 'things_by_name', table: 'things', columns: ['name'], unique: true }),
    };
    await migrate(database, [createThings()]);
    // Two rows with the same name: the index cannot be unique, and PostgreSQL leaves an invalid one behind.
    await writer.kysely.insertInto('things').values({ seq: 10, name: 'first' }).execute();
    await assert.rejects(migrate(database, [createThings(), byName]));
    await writer.kysely.deleteFrom('things').where('seq', '=', 10).execute();

    const built = await writer.transaction(async (trx) => {
      await trx.insertInto('things').values({ seq: 11, name: 'open' }).execute();
      const building = migrate(database, [createThings(), byName]);
      // The table stays unlocked for others while the index build waits for this transaction.
      if (name === 'postgres') await insertFromOutside(url, 'beside');
      return { building };
    });
    assert.deepEqual(await built.building, ['0002-things-by-name']);
    await assert.rejects(writer.kysely.insertInto('things').values({ seq: 12, name: 'open' }).execute());
    await Promise.all([database.close(), writer.close()]);
  });

  it('waits for a lock with a short timeout and retries, so that others do not queue behind it for long', async () => {
    if (name === 'sqlite') return;
    const url = await emptyUrl();
    const [database, reader] = [openDatabase<ThingTables>(url), openDatabase<ThingTables>(url)];
    await migrate(database, [createThings()]);
    let migrating: Promise<readonly string[]> | undefined;
    await reader.transaction(async (trx) => {
      await trx.selectFrom('things').selectAll().execute();
      migrating = migrate(database, [createThings(), addColour]);
      await untilLocksAwaited(trx, 1);
      // The step waits for this transaction, and backs off before this read in a third session times out.
      assert.equal((await things(openAnother(url))).length, 1);
    });
    assert.deepEqual(await migrating, ['0002-colour']);
    await Promise.all([database.close(), reader.close(), ...opened.splice(0).map((each) => each.close())]);
  });

  it('names the step whose table another session keeps locked, and runs it once the table is unlocked', async () => {
    if (name === 'sqlite') return;
    const url = await emptyUrl();
    const [database, reader] = [openDatabase<ThingTables>(url), openDatabase<ThingTables>(url)];
    await migrate(database, [createThings()]);
    const steps = [createThings(), addColour];
    await reader.transaction(async (trx) => {
      await trx.selectFrom('things').selectAll().execute();
      await assert.rejects(migrate(database, steps, { timeoutMs: 20, retries: 2 }), (error: Error) => {
        assert.ok(error instanceof DatabaseUnavailableError);
        assert.match(error.message, /"0002-colour" did not get its tables in 3 tries of 0.02 s: end the transactions/);
        return true;
      });
    });
    assert.deepEqual(await migrate(database, steps), ['0002-colour']);
    await Promise.all([database.close(), reader.close()]);
  });

  it('lets an older release start on a newer schema, and refuses two entries with the same name', async () => {
    const database = openDatabase<ThingTables>(await emptyUrl());
    await migrate(database, [createThings()]);
    assert.deepEqual(await migrate(database, []), []);
    await assert.rejects(migrate(database, [createThings(), createThings()]), /two migrations are called 0001-things/);
    assert.equal(dialectFor(database.dialect).name, name);
    await database.close();
  });
});
