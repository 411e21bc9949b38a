import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from './database.ts';
import { TransactionStalled } from './errors.ts';
import { migrate } from './migrate.ts';
import { type MetaTables, metaMigrations } from './tables.ts';

async function open(options: { stallMs?: number } = {}) {
  const database = openDatabase<MetaTables>('sqlite::memory:', options);
  await migrate(database, metaMigrations);
  return database;
}

describe('group commit on SQLite', () => {
  it('rolls back a stalled transaction, tells it, and lets the others go on', async () => {
    const database = await open({ stallMs: 50 });
    const stalled = database.transaction(async (trx) => {
      await trx.insertInto('meta').values({ name: 'stalled', value: '' }).execute();
      await delay(150);
      await trx.insertInto('meta').values({ name: 'stalled-2', value: '' }).execute();
    });
    const other = database.kysely.insertInto('meta').values({ name: 'other', value: '' }).execute();
    await other;
    await assert.rejects(stalled, TransactionStalled);
    const rows = await database.kysely.selectFrom('meta').select('name').execute();
    assert.deepEqual(rows, [{ name: 'other' }]);
    await database.close();
  });
});
