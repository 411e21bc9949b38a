/**
 * Preloaded into the server (`node --import`) to turn it into the next release, with migrations that no release has.
 * NEXT_RELEASE selects them: `additive` stays compatible with the previous release, `floor` does not.
 */
import { sql } from 'kysely';
import { addIndex, type Migration } from '../../src/server/platform/db/migrate.ts';
import { raiseSchemaFloor } from '../../src/server/platform/db/open-database.ts';
import { migrations } from '../../src/server/tables.ts';

/** A table, columns of tables with constant reads and writes, and an index on a table in use. */
const ADDITIVE: readonly Migration[] = [
  {
    id: '9001-next-release',
    async up(trx, { text, int64 }) {
      await trx.schema
        .createTable('next_release')
        .addColumn('name', text, (column) => column.primaryKey())
        .execute();
      for (const table of ['tasks', 'accounts', 'ledger', 'reservations', 'wallets', 'tokens'])
        await trx.schema
          .alterTable(table)
          .addColumn('next_release', int64, (column) => column.notNull().defaultTo(7))
          .execute();
      await sql`update tasks set next_release = 8`.execute(trx);
    },
  },
  {
    id: '9002-next-release-index',
    outsideTransaction: true,
    up: addIndex({ name: 'tasks_next_release', table: 'tasks', columns: ['next_release', 'id'] }),
  },
];
const FLOOR: Migration = {
  id: '9003-next-release-only',
  up: (trx) => raiseSchemaFloor(trx, '9003-next-release-only'),
};

// Changes the server's list of migrations before the server runs them.
(migrations as Migration[]).push(...ADDITIVE, ...(process.env['NEXT_RELEASE'] === 'floor' ? [FLOOR] : []));
