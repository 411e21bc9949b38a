import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { sql } from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { temporarySqlitePath } from '../../../../test/temporary-sqlite-path.ts';
import { migrations, type Tables } from '../../tables.ts';
import type { Database } from '../db/database.ts';
import { migrate } from '../db/migrate.ts';
import { openDatabase } from '../db/open-database.ts';
import { assertEmptyTarget, copyTables, PostgresTarget, SEEDED_TABLES } from './copy-database.ts';
import { SqliteSource, sqlitePathOf } from './sqlite-backup.ts';

/** Texts that a careless format would change. */
const HOSTILE_TEXTS = [
  'tab\tline\nreturn\rback\\slash',
  '\\N',
  '\\.',
  '',
  '"quotes" \'and\' ;--',
  '漢字 🎬 é',
  ' spaces ',
];
const HOSTILE_NUMBERS = [Number.MAX_SAFE_INTEGER, 0, 1];
const HOSTILE_DOUBLES = [1e-7, 0.1, 1e21];

type Row = Record<string, unknown>;
interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
}

/** Adds two rows to every table: one with every column filled, and one with as many nulls as permitted. */
function fillEveryTable(path: string, flags: ReadonlySet<string>): void {
  const database = new DatabaseSync(path);
  const tables = database
    .prepare(`select name, sql from sqlite_master where type = 'table' and name not like 'sqlite%'`)
    .all() as { name: string; sql: string }[];
  let number = 1;
  for (const { name } of tables.filter((table) => table.name !== 'schema_migrations')) {
    const columns = database.prepare(`pragma table_info("${name}")`).all() as unknown as Column[];
    for (const withNulls of [false, true]) {
      const values = columns.map(({ name: column, type, notnull, pk }, index) => {
        number += 1;
        if (withNulls && notnull === 0 && pk === 0) return null;
        if (/blob/i.test(type)) return Buffer.from([0, 92, 120, 255, number % 256]);
        if (/double/i.test(type)) return HOSTILE_DOUBLES[number % HOSTILE_DOUBLES.length] ?? 0;
        if (flags.has(`${name}.${column}`)) return withNulls ? 1 : 0;
        // Differs per row, because any column may be a key.
        if (/int/i.test(type)) return pk > 0 || withNulls ? 1_000_000 + number : (HOSTILE_NUMBERS[index % 3] ?? 0);
        return `${HOSTILE_TEXTS[number % HOSTILE_TEXTS.length]}${number}`;
      });
      const marks = columns.map(() => '?').join(', ');
      database
        .prepare(`insert into "${name}" (${columns.map((each) => `"${each.name}"`)}) values (${marks})`)
        .run(...values);
    }
  }
  database.close();
}

/** Columns that hold 0 or 1 and have 32 bits in PostgreSQL, as `table.column`. */
async function flagsOf(url: string): Promise<ReadonlySet<string>> {
  const database = openDatabase<Tables>(url);
  const { rows } = await sql<{ name: string }>`
    select table_name || '.' || column_name as name from information_schema.columns
    where table_schema = current_schema() and data_type = 'integer'`.execute(database.kysely);
  await database.close();
  return new Set(rows.map((row) => row.name));
}

async function tablesOf(database: Database<Tables>): Promise<string[]> {
  const tables = await database.kysely.introspection.getTables();
  return (
    tables
      .filter(({ isView, name }) => !isView && name !== 'schema_migrations')
      .map(({ name }) => name)
      // Partitions, which exist only on PostgreSQL.
      .filter((name) => !/_(rest|\d{4}_\d{2})$/.test(name))
      .sort()
  );
}

async function rowsOf(database: Database<Tables>, table: string): Promise<string[]> {
  const { rows } = await sql<Row>`select * from ${sql.table(table)}`.execute(database.kysely);
  const toPlain = (value: unknown): unknown => (value instanceof Uint8Array ? [...value] : value);
  return rows
    .map((row) => {
      const cells = Object.entries(row).map(([column, value]) => [column, toPlain(value)] as const);
      return JSON.stringify(cells.sort(([one], [other]) => (one < other ? -1 : 1)));
    })
    .sort();
}

async function makeSource(): Promise<{ path: string; url: string }> {
  const path = temporarySqlitePath();
  const database = openDatabase<Tables>(`sqlite:${path}`);
  await migrate(database, migrations);
  await database.close();
  return { path, url: `sqlite:${path}` };
}

async function copy(path: string, url: string): Promise<readonly { table: string; rows: number }[]> {
  const source = new SqliteSource(path);
  const target = await PostgresTarget.open(url);
  try {
    await assertEmptyTarget(target);
    return await copyTables(source, target, { verify: true, onProgress: () => {} });
  } finally {
    await target.close();
    source.close();
  }
}

describe('copy of a database', () => {
  forEachDatabase((name, open, _freshUrl, emptyUrl) => {
    if (name === 'sqlite') return;
    const freshTarget = async (): Promise<string> => {
      const url = await emptyUrl();
      const database = openDatabase<Tables>(url);
      await migrate(database, migrations);
      await database.close();
      return url;
    };

    it('contains every row of every table and column', async () => {
      const { path, url } = await makeSource();
      const targetUrl = await freshTarget();
      fillEveryTable(path, await flagsOf(targetUrl));
      const copied = await copy(path, targetUrl);
      const [original, made] = [openDatabase<Tables>(url), openDatabase<Tables>(targetUrl)];
      try {
        const tables = await tablesOf(original);
        assert.deepEqual(await tablesOf(made), tables);
        assert.deepEqual(copied.map(({ table }) => table).sort(), tables);
        for (const table of tables) {
          const expected = await rowsOf(original, table);
          assert.ok(expected.length >= 2, `${table} has rows to compare`);
          assert.deepEqual(await rowsOf(made, table), expected, table);
        }
      } finally {
        await original.close();
        await made.close();
      }
    });

    it('numbers new rows above every number ever assigned', async () => {
      const { path, url } = await makeSource();
      const database = openDatabase<Tables>(url);
      const note = { note: '', created_by: 1, created_at: 1 };
      for (let made = 0; made < 3; made += 1)
        await database.kysely.insertInto('redemption_batches').values(note).execute();
      await database.kysely.deleteFrom('redemption_batches').where('id', '>', 1).execute();
      await database.close();
      const targetUrl = await freshTarget();
      await copy(path, targetUrl);
      const made = openDatabase<Tables>(targetUrl);
      try {
        const next = await made.kysely
          .insertInto('redemption_batches')
          .values(note)
          .returning('id')
          .executeTakeFirstOrThrow();
        assert.equal(next.id, 4);
        const first = await made.kysely
          .insertInto('tickets')
          .values({ ...EMPTY_TICKET, created_at: 1, updated_at: 1 })
          .returning('id')
          .executeTakeFirstOrThrow();
        assert.equal(first.id, 1, 'a table that never had a row begins at 1');
      } finally {
        await made.close();
      }
    });

    it('is all or nothing: after a failure the target is empty, and the next attempt succeeds', async () => {
      const { path } = await makeSource();
      const change = (statement: string) => {
        const database = new DatabaseSync(path);
        database.exec(statement);
        database.close();
      };
      change(`insert into meta values ('early', 'fine'); insert into seeded_models values ('bad' || char(0))`);
      const targetUrl = await freshTarget();
      await assert.rejects(copy(path, targetUrl), /Cannot copy the row of seeded_models .*U\+0000/);
      change('delete from seeded_models');
      const copied = await copy(path, targetUrl);
      assert.equal(copied.find(({ table }) => table === 'meta')?.rows, 1);
    });

    it('refuses a target with rows, and one that belongs to another application', async () => {
      const { path } = await makeSource();
      const used = await freshTarget();
      const database = openDatabase<Tables>(used);
      await database.kysely.insertInto('meta').values({ name: 'used', value: '' }).execute();
      await database.close();
      await assert.rejects(copy(path, used), /not empty: its table meta has rows/);
      const url = await emptyUrl();
      const foreign = openDatabase<Tables>(url);
      await sql`create table orders (id int)`.execute(foreign.kysely);
      await foreign.close();
      const target = await PostgresTarget.open(url);
      await assert.rejects(assertEmptyTarget(target), /not empty: it has a table orders/);
      await target.close();
    });

    it('names the wrong URL of the two, and the unreachable server', async () => {
      assert.throws(() => sqlitePathOf('postgres://db/x'), /is not the URL of a SQLite database/);
      assert.throws(() => sqlitePathOf('sqlite:/nowhere/reelgate.db'), /There is no database at \/nowhere/);
      await assert.rejects(PostgresTarget.open('sqlite:./x.db'), /is not the URL of a PostgreSQL database/);
      await assert.rejects(PostgresTarget.open('postgres://a@127.0.0.1:1/x'), /cannot be reached: .*ECONNREFUSED/);
      // Each of several hosts is tried.
      await assert.rejects(PostgresTarget.open('postgres://a@127.0.0.1:1,127.0.0.1:2/x'), /ECONNREFUSED 127.0.0.1:2/);
    });

    it('finds rows of a fresh schema in the seeded tables only', async () => {
      const database = await open();
      for (const table of await tablesOf(database))
        assert.equal((await rowsOf(database, table)).length > 0, SEEDED_TABLES.includes(table), table);
    });

    it('refuses a source that another process has open, idle or not', async () => {
      const { path } = await makeSource();
      const other = new DatabaseSync(path);
      other.prepare('select count(*) from meta').get();
      assert.throws(() => new SqliteSource(path), /in use by another process/);
      other.close();
      const source = new SqliteSource(path);
      const late = new DatabaseSync(path);
      assert.throws(() => late.prepare('select * from meta').all(), /locked/, 'nobody begins to use it meanwhile');
      late.close();
      source.close();
    });
  });
});

const EMPTY_TICKET = {
  user_id: 1,
  title: '',
  content: '',
  category: '',
  task_id: '',
  status: 'open' as const,
  awaits_staff: 0,
  reply_count: 0,
  entry_count: 0,
};
