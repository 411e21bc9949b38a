import { parseArgs } from 'node:util';
import { type Generated, type Kysely, sql, type Transaction } from 'kysely';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import { prepareQuery } from '../src/server/platform/db/sql.ts';

/**
 * Cost of the database layer:
 * `node bench/database-throughput.ts [--url sqlite:./bench.db] [--seconds 3] [--writers 64]`. A write counts once it is
 * durable (SQLite: synchronous=FULL). Recreates the tables `bench_accounts` and `bench_entries`.
 */
const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'sqlite::memory:' },
    seconds: { type: 'string', default: '3' },
    writers: { type: 'string', default: '64' },
  },
});
const seconds = Number(values.seconds);
const writers = Number(values.writers);

interface BenchTables {
  bench_accounts: { id: number; balance: number; name: string };
  bench_entries: { seq: Generated<number>; account_id: number; amount: number; reference: string };
}
type Executor = Kysely<BenchTables>;

const ACCOUNTS = 1_000;
const readAccount = prepareQuery<BenchTables, { id: number }>()((db, p) =>
  db.selectFrom('bench_accounts').select(['id', 'balance', 'name']).where('id', '=', p('id')),
);
const deduct = prepareQuery<BenchTables, { id: number; amount: number }>()((db, p) =>
  db
    .updateTable('bench_accounts')
    .set({ balance: sql<number>`balance - ${p('amount')}` })
    .where('id', '=', p('id'))
    .where('balance', '>=', p('amount')),
);
const addEntry = prepareQuery<BenchTables, { id: number; amount: number; reference: string }>()((db, p) =>
  db.insertInto('bench_entries').values({ account_id: p('id'), amount: p('amount'), reference: p('reference') }),
);

/** The four statements of a reservation: read, conditional deduct, entry, read. */
async function reserve(trx: Transaction<BenchTables>, id: number): Promise<void> {
  await readAccount.first(trx, { id });
  if ((await deduct.changes(trx, { id, amount: 1 })) !== 1) throw new Error('out of money');
  await addEntry.changes(trx, { id, amount: -1, reference: 'bench' });
  await readAccount.first(trx, { id });
}

async function measure(name: string, concurrency: number, operation: (id: number) => Promise<unknown>): Promise<void> {
  let done = 0;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const end = start + seconds * 1_000;
  let turn = setImmediateTurn();
  const work = async (lane: number) => {
    for (let i = lane; performance.now() < end; i++) {
      await operation(i % ACCOUNTS);
      done++;
      // Yields to the event loop occasionally, as requests arriving from outside would.
      if (done % 1_000 === 0) {
        turn = setImmediateTurn();
        await turn;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, (_, lane) => work(lane * 13)));
  const elapsedMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const perSecond = Math.round((done / elapsedMs) * 1_000).toLocaleString('en');
  console.log(
    `${name.padEnd(52)} ${perSecond.padStart(9)}/s  ${((user + system) / done).toFixed(1).padStart(7)} µs CPU each`,
  );
}

function setImmediateTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const database = openDatabase<BenchTables>(values.url, { poolMax: 10 });
const { kysely, dialect } = database;
await prepareTables(kysely);
console.log(`${dialect}, ${seconds} s each, ${writers} at once unless said otherwise`);
await measure('prepared point read, one at a time', 1, (id) => readAccount.first(kysely, { id }));
await measure('prepared point read', writers, (id) => readAccount.first(kysely, { id }));
await measure('point read built by Kysely each time', writers, (id) =>
  kysely.selectFrom('bench_accounts').select(['id', 'balance', 'name']).where('id', '=', id).executeTakeFirst(),
);
await measure('prepared conditional deduct, one at a time', 1, (id) => deduct.changes(kysely, { id, amount: 1 }));
await measure('prepared conditional deduct', writers, (id) => deduct.changes(kysely, { id, amount: 1 }));
await measure('transaction of 4 statements, one at a time', 1, (id) => database.transaction((trx) => reserve(trx, id)));
await measure('transaction of 4 statements', writers, (id) => database.transaction((trx) => reserve(trx, id)));
await database.close();

async function prepareTables(db: Executor): Promise<void> {
  const numbered =
    dialect === 'sqlite' ? 'integer primary key autoincrement' : 'bigint generated always as identity primary key';
  for (const table of ['bench_accounts', 'bench_entries']) await db.schema.dropTable(table).ifExists().execute();
  await sql`create table bench_accounts (id bigint primary key, balance bigint not null, name text not null)`.execute(
    db,
  );
  await sql`create table bench_entries (seq ${sql.raw(numbered)}, account_id bigint not null, amount bigint not null,
    reference text not null)`.execute(db);
  for (let id = 0; id < ACCOUNTS; id++) {
    await db
      .insertInto('bench_accounts')
      .values({ id, balance: 1_000_000_000, name: `account ${id}` })
      .execute();
  }
}
