import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { toKeyRange } from './sql.ts';

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
