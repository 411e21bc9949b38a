import { type Migration, required } from '../db/migrate.ts';

/** Rate limit counters shared by several processes. A row past `ends_at` is void. */
export interface RateLimitTables {
  rate_limits: { key: string; points: number; ends_at: number };
  /** Occupied concurrency slots, by key and number; a row past `ends_at` belongs to a process that died. */
  limit_slots: { key: string; slot: number; holder: string; ends_at: number };
}

/** Schema migrations of the rate limits. */
export const rateLimitMigrations: readonly Migration[] = [
  {
    id: '0001-rate-limits',
    up: async (trx, dialect) => {
      await trx.schema
        .createTable('rate_limits')
        .addColumn('key', dialect.text, (column) => column.primaryKey())
        .addColumn('points', dialect.int64, required)
        .addColumn('ends_at', dialect.int64, required)
        .execute();
      await trx.schema.createIndex('rate_limits_ends_at').on('rate_limits').column('ends_at').execute();
      await trx.schema
        .createTable('limit_slots')
        .addColumn('key', dialect.text, required)
        .addColumn('slot', dialect.int64, required)
        .addColumn('holder', dialect.text, (column) => column.notNull().unique())
        .addColumn('ends_at', dialect.int64, required)
        .addPrimaryKeyConstraint('limit_slots_key', ['key', 'slot'])
        .execute();
    },
  },
];
