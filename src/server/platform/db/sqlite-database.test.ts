import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { DatabaseUnavailableError, TransactionStalledError } from './database.ts';
import { type MetaTables, metaMigrations, migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';

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

  it('syncs every commit to disk, so that acknowledged writes survive a power failure', async () => {
    const database = await open();
    const settings = await Promise.all(
      ['synchronous', 'journal_mode'].map((name) =>
        sql<Record<string, unknown>>`pragma ${sql.raw(name)}`.execute(database.kysely),
      ),
    );
    // 2 is FULL; NORMAL would only survive a crash of this process.
    assert.deepEqual(
      settings.map(({ rows }) => rows[0]),
      [{ synchronous: 2 }, { journal_mode: 'wal' }],
    );
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
    assert.deepEqual(await names(), []);
    other.exec("insert into meta values ('other', '')");
    assert.deepEqual(await names(), [], 'the turn has not ended');
    await nextTurn();
    assert.deepEqual(await names(), ['other']);
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
    assert.deepEqual(await names(), ['other', 'ours'], 'whoever heard of a write sees it');
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
        for (const each of [file, `${file}-wal`, `${file}-shm`]) assert.equal(statSync(each).mode & 0o777, after, each);
        await database.close();
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
