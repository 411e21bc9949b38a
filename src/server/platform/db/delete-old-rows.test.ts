import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sql } from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { deleteOldRows } from './sql.ts';

forEachDatabase((_name, open) => {
  it('deletes the oldest rows first, up to the limit, and none that the condition excludes', async () => {
    const { kysely } = await open();
    await sql`create table entries (id integer primary key, made_at integer not null, kept integer not null)`.execute(
      kysely,
    );
    const fill = async () => {
      await sql`delete from entries`.execute(kysely);
      for (let id = 1; id <= 6; id++)
        await sql`insert into entries values (${id}, ${id * 10}, ${id === 2 ? 1 : 0})`.execute(kysely);
    };
    const left = async () => {
      const { rows } = await sql<{ id: number }>`select id from entries order by id`.execute(kysely);
      return rows.map(({ id }) => id);
    };
    const table = { table: 'entries', key: 'id', time: 'made_at' } as const;
    for (const rows of [table, { ...table, keysAscendWithTime: true } as const]) {
      await fill();
      assert.equal(await deleteOldRows(kysely, rows, 40, 2), 2);
      assert.deepEqual(await left(), [3, 4, 5, 6]);
      assert.equal(await deleteOldRows(kysely, rows, 40, 2), 1);
      assert.equal(await deleteOldRows(kysely, rows, 40, 2), 0);
      assert.deepEqual(await left(), [4, 5, 6]);
    }
    await fill();
    assert.equal(await deleteOldRows(kysely, { ...table, only: sql`kept = 0` }, 40, 9), 2);
    assert.deepEqual(await left(), [2, 4, 5, 6]);
  });
});
