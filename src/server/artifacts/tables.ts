import { type Generated, sql } from 'kysely';
import { type Migration, required, zero } from '../platform/db/migrate.ts';

/** The tables of the artifacts capability. */
export interface ArtifactTables {
  /** One row per copy of a finished video's file, poster and uploaded file. Every stored file has a row that names it. */
  artifacts: {
    /** Random; also the name of the file. */
    id: string;
    task_id: string;
    user_id: number;
    /** `upload`: an uploaded file, whose id is `task_id`. */
    variant: 'video' | 'thumbnail' | 'upload';
    /** `pending`: to be copied. `failed`: no further attempt. `removing`: marked for removal, no longer served. */
    state: 'pending' | 'stored' | 'failed' | 'removing';
    /** Bytes of the file; 0 until stored. */
    bytes: number;
    /** Hexadecimal; empty until stored. */
    sha256: string;
    mime_type: string;
    /** Copy attempts. The number of an attempt identifies the claim of its process. */
    tries: number;
    /** Time of the next attempt, or the end of a process's claim; null unless it is a `pending` video. */
    next_try_at: number | null;
    /** Error of the last attempt. */
    last_error: string;
    created_at: number;
    stored_at: number;
    /** Expiry; null: never. */
    expires_at: number | null;
    /** 1: its owner was notified of the expiry. */
    is_announced: Generated<0 | 1>;
    /** JSON of what the file says about its origin; null until somebody asks, and for other files than videos. */
    provenance: Generated<string | null>;
    /** Failed attempts to remove the file of a `removing` row. */
    removal_tries: Generated<number>;
    /** Time of the next attempt to remove the file; null unless one has failed. */
    next_removal_at: Generated<number | null>;
  };
  /** Sums over the stored copies of an account, changed in the transaction that changes their rows. */
  artifact_usage: {
    user_id: number;
    /** Videos, posters and uploaded files. */
    bytes: number;
    /** Videos only. */
    files: number;
  };
  /** Totals over all accounts, spread over several rows that have to be added up: each account changes one of them. */
  artifact_totals: { shard: number; bytes: number; files: number };
  /** Files in the storage that no row of `artifacts` names, as after a restore of an older backup; removed later. */
  orphan_files: {
    /** The name of the file. */
    id: string;
    /** When it was first found without a row. */
    found_at: number;
    /** Start of the latest look through the storage that found it. */
    seen_at: number;
  };
}

/** Migrations of the artifact tables. */
export const artifactMigrations: readonly Migration[] = [
  {
    id: '0068-artifacts',
    async up(trx, { int64, bool, text }) {
      await trx.schema
        .createTable('artifacts')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('task_id', text, required)
        .addColumn('user_id', int64, required)
        .addColumn('variant', text, required)
        .addColumn('state', text, required)
        .addColumn('bytes', int64, required)
        .addColumn('sha256', text, required)
        .addColumn('mime_type', text, required)
        .addColumn('tries', int64, required)
        .addColumn('next_try_at', int64)
        .addColumn('last_error', text, required)
        .addColumn('created_at', int64, required)
        .addColumn('stored_at', int64, required)
        .addColumn('expires_at', int64)
        .addColumn('is_announced', bool, zero)
        .addUniqueConstraint('artifacts_one_each', ['task_id', 'variant'])
        .execute();
      const index = (name: string) => trx.schema.createIndex(name).on('artifacts');
      await index('artifacts_due').column('next_try_at').where('next_try_at', 'is not', null).execute();
      await index('artifacts_by_age').columns(['stored_at', 'bytes']).where(sql<boolean>`state = 'stored'`).execute();
      await index('artifacts_by_user').columns(['user_id', 'state', 'stored_at', 'bytes']).execute();
      await index('artifacts_expiring').column('expires_at').where(sql<boolean>`state = 'stored'`).execute();
      await index('artifacts_to_announce')
        .column('expires_at')
        .where(sql<boolean>`state = 'stored' and variant = 'video' and is_announced = 0`)
        .execute();
      await index('artifacts_to_remove').column('id').where(sql<boolean>`state = 'removing'`).execute();
      for (const [table, key] of [
        ['artifact_usage', 'user_id'],
        ['artifact_totals', 'shard'],
      ] as const)
        await trx.schema
          .createTable(table)
          .addColumn(key, int64, (column) => column.primaryKey())
          .addColumn('bytes', int64, required)
          .addColumn('files', int64, required)
          .execute();
    },
  },
  {
    id: '0119-artifact-provenance',
    up: async ({ schema }, { text }) => {
      await schema.alterTable('artifacts').addColumn('provenance', text).execute();
    },
  },
  {
    id: '0121-artifact-removals',
    async up({ schema }, { int64 }) {
      await schema.alterTable('artifacts').addColumn('removal_tries', int64, zero).execute();
      await schema.alterTable('artifacts').addColumn('next_removal_at', int64).execute();
    },
  },
  {
    id: '0124-orphan-files',
    async up({ schema }, { int64, text }) {
      await schema
        .createTable('orphan_files')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('found_at', int64, required)
        .addColumn('seen_at', int64, required)
        .execute();
    },
  },
];
