import type { Migration } from './migrate.ts';

/** Facts about this database as a whole, by name: the check value of the master key, for one. */
export interface MetaTables {
  meta: { name: string; value: string };
}

export const metaMigrations: readonly Migration[] = [
  {
    id: '0001-meta',
    up: async (trx, dialect) => {
      await trx.schema
        .createTable('meta')
        .addColumn('name', dialect.text, (column) => column.primaryKey())
        .addColumn('value', dialect.text, (column) => column.notNull())
        .execute();
    },
  },
];
