import { type Migration, required } from '../platform/db/migrate.ts';

/** Table of the site settings. */
export interface SiteTables {
  /** Stored texts by setting name. */
  site_settings: { name: string; value: string; updated_at: number };
}

/** Schema history of the site settings. */
export const siteMigrations: readonly Migration[] = [
  {
    id: '0100-site',
    up: async (trx, dialect) => {
      await trx.schema
        .createTable('site_settings')
        .addColumn('name', dialect.text, (column) => column.primaryKey())
        .addColumn('value', dialect.text, required)
        .addColumn('updated_at', dialect.int64, required)
        .execute();
    },
  },
];
