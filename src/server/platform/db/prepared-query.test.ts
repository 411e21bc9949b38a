import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sql } from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import type { Tables } from '../../tables.ts';
import { prepareInsert, prepareQuery } from './sql.ts';

const put = prepareQuery<Tables, { name: string; value: string }>()((db, p) =>
  db.insertInto('meta').values({ name: p('name'), value: p('value') }),
);
const get = prepareQuery<Tables, { name: string }>()((db, p) =>
  db.selectFrom('meta').select('value').where('name', '=', p('name')),
);
/** A constant between two uses of one parameter, and another parameter in raw SQL. */
const change = prepareQuery<Tables, { from: string; to: string }>()((db, p) =>
  db
    .updateTable('meta')
    .set({ value: sql<string>`${p('to')} || '!'` })
    .where('value', '=', p('from'))
    .where('name', '<>', 'spared')
    .where((eb) => eb.or([eb('value', '=', p('from')), eb('value', '=', 'never')])),
);
const claim = prepareQuery<Tables, { prefix: string; most: number }>()((db, p) =>
  db
    .deleteFrom('meta')
    .where('name', 'in', (eb) =>
      eb
        .selectFrom('meta')
        .select('name')
        .where('name', 'like', p('prefix'))
        .orderBy('name')
        .limit(p('most'))
        .forUpdate()
        .skipLocked(),
    )
    .returning('name'),
);

const addJobs = prepareInsert<Tables, { name: string; holder: string; locked_until: number; due_at: number }>(
  'scheduled_jobs',
  ['name', 'holder', 'locked_until', 'due_at'],
);

forEachDatabase((name, open) => {
  it('stores whole numbers as integers, even though SQLite receives them unconverted', async () => {
    const { kysely } = await open();
    const due = Number.MAX_SAFE_INTEGER;
    await addJobs(
      kysely,
      [7, -7].map((until) => ({ name: `job ${until}`, holder: '5', locked_until: until, due_at: due })),
    );
    const rows = await kysely.selectFrom('scheduled_jobs').select(['locked_until', 'due_at']).orderBy('name').execute();
    assert.deepEqual(
      rows.map((row) => [row.locked_until, row.due_at]),
      [
        [-7, due],
        [7, due],
      ],
    );
    if (name !== 'sqlite') return;
    const types = await sql<{
      kind: string;
    }>`select distinct typeof(locked_until) || typeof(due_at) || typeof(holder) as kind
      from scheduled_jobs`.execute(kysely);
    assert.deepEqual(types.rows, [{ kind: 'integerintegertext' }]);
    const halves = await sql<{ half: number }>`select locked_until / 2 as half from scheduled_jobs`.execute(kysely);
    assert.deepEqual(new Set(halves.rows.map(({ half }) => half)), new Set([-3, 3]));
  });

  it('runs one query many times with different values, inside and outside a transaction', async () => {
    const { kysely, transaction } = await open();
    assert.equal(await put.changes(kysely, { name: 'a', value: '1' }), 1);
    await transaction(async (trx) => {
      assert.equal(await put.changes(trx, { name: 'b', value: '2' }), 1);
      assert.deepEqual(await get.first(trx, { name: 'b' }), { value: '2' });
    });
    assert.deepEqual(await get.all(kysely, { name: 'a' }), [{ value: '1' }]);
    assert.deepEqual(await get.first(kysely, { name: 'b' }), { value: '2' });
    assert.equal(await get.first(kysely, { name: 'c' }), undefined);
  });

  it('refuses a query of a finished transaction', async () => {
    const { transaction } = await open();
    let late: Parameters<typeof get.first>[0] | undefined;
    await transaction(async (trx) => {
      late = trx;
      await put.changes(trx, { name: 'a', value: '1' });
    });
    assert.ok(late);
    const over = late;
    await assert.rejects(() => get.first(over, { name: 'a' }), /committed|ended/);
  });

  it('assigns parameters and constants to their positions, and counts the rows of a conditional write', async () => {
    const { kysely } = await open();
    for (const name of ['a', 'b', 'spared']) await put.changes(kysely, { name, value: 'old' });
    assert.equal(await change.changes(kysely, { from: 'old', to: 'new' }), 2);
    assert.equal(await change.changes(kysely, { from: 'old', to: 'new' }), 0);
    assert.deepEqual(await get.first(kysely, { name: 'a' }), { value: 'new!' });
    assert.deepEqual(await get.first(kysely, { name: 'spared' }), { value: 'old' });
  });

  it('claims rows so that no two claimants get the same row', async () => {
    const { kysely } = await open();
    for (let i = 0; i < 20; i++) await put.changes(kysely, { name: `job-${i}`, value: '' });
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim.all(kysely, { prefix: 'job-%', most: 3 })));
    const claimed = claims.flat().map((row) => row.name);
    assert.equal(new Set(claimed).size, claimed.length);
    assert.ok(claims.every((rows) => rows.length <= 3) && claimed.length > 0);
  });

  it('refuses to compute with a placeholder', async () => {
    const { kysely } = await open();
    const wrong = prepareQuery<Tables, { n: number }>()((db, p) =>
      db
        .selectFrom('meta')
        .selectAll()
        .limit(p('n') + 1),
    );
    await assert.rejects(wrong.all(kysely, { n: 1 }), /"n" has no value yet/);
  });
});
