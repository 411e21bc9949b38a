import { sql } from 'kysely';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { ACCOUNTS, type TransferTables } from './transfers.ts';

/**
 * Moves money between accounts until killed. Prints `+n` for each transfer the database has confirmed, and `?n` for
 * the newest one that a read has seen.
 */
const [url = '', frames = ''] = process.argv.slice(2);
const database = openDatabase<TransferTables>(url, { checkpointFrames: Number(frames) });
const { kysely } = database;
await sql`create table if not exists accounts (id integer primary key, balance integer not null)`.execute(kysely);
await sql`create table if not exists transfers (n integer primary key, payer integer not null, payee integer not null,
  filler text not null)`.execute(kysely);
await database.transaction(async (trx) => {
  for (let id = 0; id < ACCOUNTS; id++)
    await sql`insert into accounts values (${id}, 1000) on conflict do nothing`.execute(trx);
});
const { rows } = await sql<{ n: number }>`select coalesce(max(n), 0) as n from transfers`.execute(kysely);
let last = Number(rows[0]?.n);

const write = async (): Promise<void> => {
  for (;;) {
    const n = ++last;
    const [payer, payee] = [n % ACCOUNTS, (n * 7 + 3) % ACCOUNTS];
    await database.transaction(async (trx) => {
      await trx.updateTable('accounts').set({ balance: sql`balance - 1` }).where('id', '=', payer).execute();
      await trx.updateTable('accounts').set({ balance: sql`balance + 1` }).where('id', '=', payee).execute();
      await trx
        .insertInto('transfers')
        .values({ n, payer, payee, filler: 'x'.repeat((n % 5) * 2_000) })
        .execute();
    });
    process.stdout.write(`+${n}\n`);
  }
};
const read = async (): Promise<void> => {
  for (let known = 0; ; await new Promise((resolve) => setTimeout(resolve, 1))) {
    const newest = await sql<{ n: number }>`select coalesce(max(n), 0) as n from transfers`.execute(kysely);
    const n = Number(newest.rows[0]?.n);
    if (n > known) process.stdout.write(`?${n}\n`);
    known = n;
  }
};
process.stdout.write('ready\n');
await Promise.all([write(), write(), write(), write(), read()]);
