import { type MetaTables, metaMigrations, migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';

/** Writes until killed, and prints a line for each write the database has confirmed. */
const database = openDatabase<MetaTables>(process.argv[2] ?? '');
await migrate(database, metaMigrations);
for (let i = 0; ; i++) {
  await database.kysely
    .insertInto('meta')
    .values({ name: `row-${i}`, value: '' })
    .execute();
  process.stdout.write(`${i}\n`);
}
