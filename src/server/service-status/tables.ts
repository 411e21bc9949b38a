import { type Migration, required } from '../platform/db/migrate.ts';

/** The tables of the service status. */
export interface ServiceStatusTables {
  /** Running processes. A process renews its row every half minute and deletes it when it stops. */
  instances: {
    name: string;
    version: string;
    started_at: number;
    seen_at: number;
    /** JSON: the incidents this process sees. */
    incidents: string;
  };
}

/** Migrations of the service status tables. */
export const serviceStatusMigrations: readonly Migration[] = [
  {
    id: '0078-instances',
    async up(trx, { int64, text }) {
      await trx.schema
        .createTable('instances')
        .addColumn('name', text, (column) => column.primaryKey())
        .addColumn('version', text, required)
        .addColumn('started_at', int64, required)
        .addColumn('seen_at', int64, required)
        .addColumn('incidents', text, required)
        .execute();
    },
  },
];
