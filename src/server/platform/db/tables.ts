import type { Migration } from './migrate.ts';
import { required } from './migration-not-null-and-zero-columns.ts';

/** Facts about this database as a whole, by name: the check value of the master key, for one. */
export interface MetaTables {
  meta: { name: string; value: string };
  /** Background work of one process at a time: until when somebody has it, and when it is due next (Unix milliseconds). */
  scheduled_jobs: { name: string; holder: string; locked_until: number; due_at: number };
}

export const metaMigrations: readonly Migration[] = [
  {
    id: '0001-meta',
    up: async (trx, dialect) => {
      await trx.schema
        .createTable('meta')
        .addColumn('name', dialect.text, (column) => column.primaryKey())
        .addColumn('value', dialect.text, required)
        .execute();
      await trx.schema
        .createTable('scheduled_jobs')
        .addColumn('name', dialect.text, (column) => column.primaryKey())
        .addColumn('holder', dialect.text, required)
        .addColumn('locked_until', dialect.int64, required)
        .addColumn('due_at', dialect.int64, required)
        .execute();
    },
  },
];
