import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { temporarySqlitePath } from '../../../../test/temporary-sqlite-path.ts';
import { type MetaTables, metaMigrations, migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';

async function open(context: TestContext) {
  const path = temporarySqlitePath();
  const database = openDatabase<MetaTables>(`sqlite:${path}`);
  context.after(() => database.close());
  await migrate(database, metaMigrations);
  const countOf = database.watch?.(['meta']);
  assert.ok(countOf !== undefined);
  return { database, path, countOf };
}

const row = (name: string) => ({ name, value: '' });

describe('changes of watched tables on SQLite', () => {
  it('stay the same while the table is read and others are written', async (context) => {
    const { database, countOf } = await open(context);
    await database.kysely.insertInto('meta').values(row('first')).execute();
    const before = countOf();
    await database.kysely.selectFrom('meta').selectAll().execute();
    await database.transaction((trx) => trx.deleteFrom('scheduled_jobs').execute());
    assert.equal(countOf(), before);
  });

  it('count a write with its commit, so that nothing read before it is taken for newer', async (context) => {
    const { database, countOf } = await open(context);
    const before = countOf();
    await database.transaction(async (trx) => {
      await trx.insertInto('meta').values(row('written')).execute();
      assert.equal(countOf(), before);
    });
    assert.notEqual(countOf(), before);
    const rows = await database.kysely.selectFrom('meta').select('name').where('name', '=', 'written').execute();
    assert.equal(rows.length, 1);
  });

  it('count what another process writes, from the next turn of the event loop on', async (context) => {
    const { path, countOf } = await open(context);
    const before = countOf();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(countOf(), before);
    const other = new DatabaseSync(path);
    other.exec(`insert into meta (name, value) values ('other', '')`);
    other.close();
    await new Promise((resolve) => setImmediate(resolve));
    assert.notEqual(countOf(), before);
  });
});
