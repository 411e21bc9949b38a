import type { Generated } from 'kysely';
import type { OutageLevel, ProductArea } from '../../contract/service.ts';
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
    /** JSON: the product areas this process sees affected, with the level. */
    areas: Generated<string>;
  };
  /** When a product area did not work. Rows of one area may overlap: two processes can notice the same outage. */
  outages: {
    id: Generated<number>;
    area: ProductArea;
    /** The worst level it reached. */
    level: OutageLevel;
    started_at: number;
    /** Null while it continues. */
    ended_at: number | null;
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
  {
    id: '0101-outages',
    async up(trx, { int64, text, autoIncrement }) {
      await trx.schema
        .alterTable('instances')
        .addColumn('areas', text, (column) => column.notNull().defaultTo('{}'))
        .execute();
      await trx.schema
        .createTable('outages')
        .addColumn('id', int64, autoIncrement)
        .addColumn('area', text, required)
        .addColumn('level', text, required)
        .addColumn('started_at', int64, required)
        .addColumn('ended_at', int64)
        .execute();
    },
  },
];
