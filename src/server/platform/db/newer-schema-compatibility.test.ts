import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sql } from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { migrations, type Tables } from '../../tables.ts';
import { type Database, SchemaMismatchError } from './database.ts';
import { type Migration, migrate } from './migrate.ts';
import { assertSchemaFits, raiseSchemaFloor } from './open-database.ts';

/** A migration of a hypothetical newer release. */
const newer = (id: string, up: Migration['up']): Migration => ({ id, up });

forEachDatabase((_name, open) => {
  const upgrade = (database: Database<Tables>, ...steps: Migration[]) => migrate(database, [...migrations, ...steps]);
  const mismatch = (pattern: RegExp) => (error: unknown) =>
    error instanceof SchemaMismatchError && pattern.test(error.message);

  it('accepts additions of a newer release', async () => {
    const database = await open();
    await assertSchemaFits(database, migrations);
    const addition = newer('9001-colour', async (trx, { text }) => {
      await trx.schema
        .createTable('colours')
        .addColumn('name', text, (column) => column.notNull())
        .execute();
      await sql`alter table accounts add column colour text not null default 'red'`.execute(trx);
    });
    await upgrade(database, addition);
    await assertSchemaFits(database, migrations);
  });

  it('refuses a schema that lacks a column, requires an unknown one, or demands the newer release', async () => {
    const dropped = await open();
    const drop = newer('9001-drop', async (trx) => {
      await sql`alter table tasks drop column fail_reason`.execute(trx);
    });
    await upgrade(dropped, drop);
    await assert.rejects(assertSchemaFits(dropped, migrations), mismatch(/no column tasks\.fail_reason.*9001-drop/));

    const demanding = await open();
    const demand = newer('9001-demand', async (trx) => {
      await sql`alter table meta rename to meta_old`.execute(trx);
      await trx.schema
        .createTable('meta')
        .addColumn('name', 'text', (column) => column.primaryKey())
        .addColumn('value', 'text', (column) => column.notNull())
        .addColumn('author', 'text', (column) => column.notNull())
        .execute();
    });
    await upgrade(demanding, demand);
    await assert.rejects(assertSchemaFits(demanding, migrations), mismatch(/meta\.author has no default/));

    const raised = await open();
    await upgrade(
      raised,
      newer('9001-meaning', (trx) => raiseSchemaFloor(trx, '9001-meaning')),
    );
    await assert.rejects(assertSchemaFits(raised, migrations), mismatch(/needs 9001-meaning/));
  });
});
