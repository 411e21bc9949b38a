import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { deleteOldRows, toKeyRange } from './sql.ts';

describe('delete old rows', () => {
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
});

describe('key range', () => {
  const ENTRIES = { table: 'entries', key: 'id', time: 'made_at' } as const;

  forEachDatabase((name, open) => {
    it('a period maps to the key range of its rows, despite gaps and equal times', async () => {
      const { kysely } = await open();
      await sql`create table entries (id integer primary key, made_at integer not null)`.execute(kysely);
      if (name === 'postgres') {
        assert.deepEqual(await toKeyRange(kysely, ENTRIES, { from: 1, to: 2 }), {}, 'an index finds them');
        return;
      }
      const step = fc.record({ key: fc.integer({ min: 1, max: 9 }), time: fc.nat({ max: 3 }) });
      const bound = fc.option(fc.nat({ max: 60 }), { nil: undefined });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 30 }), bound, bound, async (steps, from, to) => {
          await sql`delete from entries`.execute(kysely);
          const rows: { id: number; time: number }[] = [];
          for (const { key, time } of steps) {
            const last = rows.at(-1) ?? { id: 0, time: 0 };
            rows.push({ id: last.id + key, time: last.time + time });
          }
          const values = rows.map(({ id, time }) => sql`(${id}, ${time})`);
          if (values.length > 0) await sql`insert into entries values ${sql.join(values)}`.execute(kysely);
          const range = await toKeyRange(kysely, ENTRIES, { from, to });
          assert.deepEqual(
            [range.first === undefined, range.before === undefined],
            [from === undefined, to === undefined],
          );
          const { first = 0, before = Number.MAX_SAFE_INTEGER } = range;
          assert.deepEqual(
            rows.filter(({ id }) => id >= first && id < before),
            rows.filter(({ time }) => time >= (from ?? 0) && time < (to ?? Number.MAX_SAFE_INTEGER)),
          );
        }),
        { numRuns: 100 },
      );
    });
  });
});
