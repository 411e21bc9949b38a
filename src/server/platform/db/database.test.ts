import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import {
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
  type Transaction,
} from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { holdFlushes } from '../../../../test/held-flushes.ts';
import { untilLocksAwaited } from '../../../../test/until-locks-awaited.ts';
import type { Tables } from '../../tables.ts';
import { DatabaseUnavailableError, openDatabaseClock, TransactionStalledError } from './database.ts';
import { type MetaTables, metaMigrations, migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';
import { prepareQuery } from './sql.ts';

it('a shared clock does not move when a reading of the time had to wait for a connection', async () => {
  const held = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  let readings = 0;
  class Executor extends DummyDriver {
    override async acquireConnection(): Promise<DatabaseConnection> {
      readings++;
      if (readings === 2) await delay(500);
      if (readings > 2) {
        read.resolve();
        await held.promise;
      }
      const executeQuery = async <R>() => ({
        rows: [{ now: Math.floor(performance.timeOrigin + performance.now()) }] as R[],
      });
      return { executeQuery, streamQuery: () => assert.fail() };
    }
  }
  const kysely = new Kysely<object>({
    dialect: {
      createDriver: () => new Executor(),
      createAdapter: () => new PostgresAdapter(),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createIntrospector: (db) => new PostgresIntrospector(db),
    },
  });
  const clock = await openDatabaseClock({ dialect: 'postgres', kysely }, 600);
  const before = clock.now() - performance.now();
  // The clock's own timer keeps no process alive.
  const alive = setInterval(() => {}, 1_000);
  await read.promise;
  clearInterval(alive);
  assert.ok(Math.abs(clock.now() - performance.now() - before) < 100);
  clock.stop();
  held.resolve();
});

describe('postgres database', () => {
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
});

describe('sqlite database', () => {
  async function open(options: { stallMs?: number; batchMs?: number } = {}) {
    const database = openDatabase<MetaTables>('sqlite::memory:', options);
    await migrate(database, metaMigrations);
    return database;
  }

  describe('group commit on SQLite', () => {
    it('rolls back a stalled transaction with an error, and lets the others continue', async () => {
      const database = await open({ stallMs: 50 });
      const stalled = database.transaction(async (trx) => {
        await trx.insertInto('meta').values({ name: 'stalled', value: '' }).execute();
        await delay(150);
        await trx.insertInto('meta').values({ name: 'stalled-2', value: '' }).execute();
      });
      const other = database.kysely.insertInto('meta').values({ name: 'other', value: '' }).execute();
      await other;
      await assert.rejects(stalled, TransactionStalledError);
      const rows = await database.kysely.selectFrom('meta').select('name').execute();
      assert.deepEqual(rows, [{ name: 'other' }]);
      await database.close();
    });

    it('fails every caller of a batch whose commit fails, discards the batch, and continues', async () => {
      // Long enough that the three share a batch even on a slow machine.
      const database = await open({ batchMs: 10_000 });
      // A deferred constraint is checked at COMMIT, which simulates a disk that is full at that point.
      await sql`create table children (parent text references meta (name) deferrable initially deferred)`.execute(
        database.kysely,
      );
      const put = (name: string) => database.kysely.insertInto('meta').values({ name, value: '' }).execute();
      const outcomes = await Promise.allSettled([
        put('before'),
        database.transaction((trx) => sql`insert into children values ('nobody')`.execute(trx)),
        put('behind'),
      ]);
      for (const outcome of outcomes) {
        assert.ok(outcome.status === 'rejected' && outcome.reason instanceof DatabaseUnavailableError);
      }
      await put('later');
      assert.deepEqual(await database.kysely.selectFrom('meta').select('name').execute(), [{ name: 'later' }]);
      await database.close();
    });

    it('reports a commit, and shows it to reads, only once it is flushed, one flush for all commits before it', async () => {
      const database = await open();
      const flushes = holdFlushes();
      try {
        const put = (name: string) => database.kysely.insertInto('meta').values({ name, value: '' }).execute();
        const names = async () =>
          (await database.kysely.selectFrom('meta').select('name').orderBy('name').execute()).map(({ name }) => name);
        const reported: string[] = [];
        const first = put('a').then(() => reported.push('a'));
        await flushes.untilWaiting();
        const refusal = new Error('refused after it read a');
        const later = [
          put('b').then(() => reported.push('b')),
          database.transaction(async (trx) => {
            assert.equal((await trx.selectFrom('meta').select('name').execute()).length, 2, 'it sees a and b');
            await trx.insertInto('meta').values({ name: 'c', value: '' }).execute();
            reported.push('c decided');
          }),
          assert.rejects(
            database.transaction(async () => {
              throw refusal;
            }),
            refusal,
          ),
        ];
        await delay(20);
        assert.deepEqual(reported, ['c decided']);
        assert.deepEqual(await names(), []);
        flushes.end();
        await first;
        assert.deepEqual(await names(), ['a'], 'a client that was told of a write can read it');
        await flushes.untilWaiting();
        assert.deepEqual(await names(), ['a']);
        assert.deepEqual(reported, ['c decided', 'a']);
        flushes.end();
        await Promise.all(later);
        assert.deepEqual(await names(), ['a', 'b', 'c']);
        assert.equal(flushes.begun, 2);
      } finally {
        flushes.restore();
        await database.close();
      }
    });

    it('flushes nothing after statements that changed nothing', async () => {
      const database = await open();
      const flushes = holdFlushes();
      try {
        await database.kysely.deleteFrom('meta').where('name', '=', 'absent').execute();
        await database.transaction((trx) => trx.selectFrom('meta').selectAll().execute());
        assert.equal(flushes.begun, 0);
      } finally {
        flushes.restore();
        await database.close();
      }
    });

    it('acknowledges nothing after a failed flush, and does not repeat it', async () => {
      const lost: Error[] = [];
      const database = openDatabase<MetaTables>('sqlite::memory:', { onLost: (error) => lost.push(error) });
      await migrate(database, metaMigrations);
      const flushes = holdFlushes();
      try {
        const put = (name: string) => database.kysely.insertInto('meta').values({ name, value: '' }).execute();
        const writes = [put('covered')];
        await flushes.untilWaiting();
        writes.push(
          put('behind'),
          database.transaction(async (trx) => {
            await trx.insertInto('meta').values({ name: 'also behind', value: '' }).execute();
            return [];
          }),
        );
        await delay(5);
        flushes.end(Object.assign(new Error('i/o error'), { code: 'EIO' }));
        writes.push(put('later'));
        for (const outcome of await Promise.allSettled(writes))
          assert.ok(outcome.status === 'rejected' && outcome.reason instanceof DatabaseUnavailableError);
        assert.deepEqual(await database.kysely.selectFrom('meta').selectAll().execute(), []);
        assert.equal(flushes.begun, 1);
        assert.equal(lost.length, 1);
        assert.throws(() => database.ping(), DatabaseUnavailableError);
      } finally {
        flushes.restore();
        await database.close();
      }
    });

    it('lets SQLite flush commits of a command before the service can read them', async () => {
      const modes = [];
      for (const isCommand of [false, true]) {
        const database = openDatabase<MetaTables>('sqlite::memory:', { isCommand });
        await migrate(database, metaMigrations);
        const flushes = holdFlushes();
        if (isCommand) await database.kysely.insertInto('meta').values({ name: 'written', value: '' }).execute();
        assert.equal(flushes.begun, 0);
        flushes.restore();
        const { rows } = await sql<{ synchronous: number }>`pragma synchronous`.execute(database.kysely);
        modes.push(rows[0]?.synchronous);
        await database.close();
      }
      // NORMAL: SQLite flushes the log only where it restarts it; FULL: at every commit.
      assert.deepEqual(modes, [1, 2]);
    });

    it('restarts the log beside the commits, while every read and write continues', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'rg-checkpoint-'));
      after(() => rmSync(folder, { recursive: true }));
      const file = join(folder, 'test.db');
      const database = openDatabase<MetaTables>(`sqlite:${file}`);
      await migrate(database, metaMigrations);
      const value = 'x'.repeat(200_000);
      let written = 0;
      const frames = () => {
        const observer = new DatabaseSync(file);
        try {
          return Number(observer.prepare('pragma wal_checkpoint(noop)').get()?.log);
        } finally {
          observer.close();
        }
      };
      let longest = 0;
      for (let now = 0; now >= longest && written < 1_000; now = frames()) {
        longest = now;
        await Promise.all(
          Array.from({ length: 3 }, () =>
            database.kysely
              .insertInto('meta')
              .values({ name: `row-${written++}`, value })
              .execute(),
          ),
        );
        const { rows } = await sql<{ n: number }>`select count(*) as n from meta`.execute(database.kysely);
        assert.equal(rows[0]?.n, written);
      }
      assert.ok(longest > 4_000 && frames() < longest, `${longest} frames, then ${frames()}`);
      await database.close();
      const closed = new DatabaseSync(file);
      assert.deepEqual({ ...closed.prepare('pragma integrity_check').get() }, { integrity_check: 'ok' });
      assert.deepEqual({ ...closed.prepare('select count(*) as n from meta').get() }, { n: written });
      closed.close();
    });

    it('lets the process do other work during a long series of reads', async () => {
      const database = openDatabase<MetaTables>('sqlite::memory:');
      await migrate(database, metaMigrations);
      await nextTurn();
      let turns = 0;
      const count = (): void => {
        turns++;
        counting = setImmediate(count);
      };
      let counting = setImmediate(count);
      for (const endsAt = performance.now() + 200; performance.now() < endsAt; )
        await database.kysely.selectFrom('meta').selectAll().execute();
      clearImmediate(counting);
      assert.ok(turns >= 2, `${turns} turns of the event loop`);
      await database.close();
    });

    it('survives a checkpoint whose thread cannot open the file', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'rg-checkpoint-'));
      after(() => rmSync(folder, { recursive: true }));
      const file = join(folder, 'test.db');
      const failed = Promise.withResolvers<unknown>();
      const log = { warn() {}, error: ({ err }: { err: unknown }) => failed.resolve(err) };
      const database = openDatabase<MetaTables>(`sqlite:${file}`, { checkpointFrames: 1, log: log as never });
      await migrate(database, metaMigrations);
      renameSync(file, `${file}.moved`);
      mkdirSync(file);
      const write = (name: string) => database.kysely.insertInto('meta').values({ name, value: '' }).execute();
      for (let written = 0; written < 32; written++) await write(`row-${written}`);
      assert.match(String(await failed.promise), /unable to open database file/);
      await nextTurn();
      await write('afterwards');
      await database.close();
    });

    it('waits for another process to release the write lock, and reads meanwhile', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'rg-lock-'));
      after(() => rmSync(folder, { recursive: true }));
      const database = openDatabase<MetaTables>(`sqlite:${join(folder, 'deeper', 'test.db')}`);
      await migrate(database, metaMigrations);
      const other = new DatabaseSync(join(folder, 'deeper', 'test.db'));
      other.exec("begin immediate; insert into meta values ('other', '')");
      const write = database.kysely.insertInto('meta').values({ name: 'ours', value: '' }).execute();
      await delay(60);
      assert.deepEqual(await database.kysely.selectFrom('meta').selectAll().execute(), []);
      other.exec('commit');
      other.close();
      await write;
      assert.equal((await database.kysely.selectFrom('meta').selectAll().execute()).length, 2);
      await database.close();
    });

    it('reads one state per event loop turn, the newest in the next, and its own writes immediately', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'rg-snapshot-'));
      after(() => rmSync(folder, { recursive: true }));
      const database = openDatabase<MetaTables>(`sqlite:${join(folder, 'test.db')}`);
      await migrate(database, metaMigrations);
      const other = new DatabaseSync(join(folder, 'test.db'));
      const names = async () =>
        (await database.kysely.selectFrom('meta').select('name').orderBy('name').execute()).map((row) => row.name);
      await nextTurn();
      assert.equal(database.snapshot(), undefined);
      assert.deepEqual(await names(), []);
      const snapshot = database.snapshot();
      other.exec("insert into meta values ('other', '')");
      assert.deepEqual(await names(), [], 'the turn has not ended');
      assert.ok(snapshot !== undefined && database.snapshot() === snapshot);
      await nextTurn();
      assert.deepEqual(await names(), ['other']);
      assert.notEqual(database.snapshot(), snapshot);
      const written = Promise.withResolvers<void>();
      const checked = Promise.withResolvers<void>();
      const write = database.transaction(async (trx) => {
        await trx.insertInto('meta').values({ name: 'ours', value: '' }).execute();
        written.resolve();
        await checked.promise;
      });
      await written.promise;
      assert.deepEqual(await names(), ['other']);
      checked.resolve();
      await write;
      assert.deepEqual(await names(), ['other', 'ours'], 'a client that was told of a write can read it');
      other.close();
      await database.close();
    });

    it('finishes pending writes before it closes', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'rg-close-'));
      after(() => rmSync(folder, { recursive: true }));
      const url = `sqlite:${join(folder, 'test.db')}`;
      const database = openDatabase<MetaTables>(url);
      await migrate(database, metaMigrations);
      const writes = Array.from({ length: 600 }, (_, i) =>
        database.kysely
          .insertInto('meta')
          .values({ name: `row-${i}`, value: '' })
          .execute(),
      );
      await Promise.all([database.close(), ...writes]);
      const again = openDatabase<MetaTables>(url);
      assert.equal((await again.kysely.selectFrom('meta').select('name').execute()).length, 600);
      await again.close();
    });

    it('hides the file and its log from other users of the machine', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'rg-mode-'));
      try {
        for (const [name, before, after] of [
          ['new.db', undefined, 0o600],
          ['open.db', 0o644, 0o640],
          ['group.db', 0o660, 0o660],
        ] as const) {
          const file = join(folder, name);
          if (before !== undefined) {
            writeFileSync(file, '');
            chmodSync(file, before);
          }
          const database = openDatabase<MetaTables>(`sqlite:${file}`);
          await migrate(database, metaMigrations);
          for (const each of [file, `${file}-wal`, `${file}-shm`])
            assert.equal(statSync(each).mode & 0o777, after, each);
          await database.close();
        }
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  });
});
