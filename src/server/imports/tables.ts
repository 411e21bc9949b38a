import type { Generated } from 'kysely';
import { type Migration, required } from '../platform/db/migrate.ts';

/** What a row of an import is about. */
export type ImportKind = 'channel' | 'model' | 'group' | 'user' | 'key' | 'code' | 'task' | 'ended-task';

export interface ImporterTables {
  /** Imports from databases of other programs. */
  imports: {
    id: Generated<number>;
    program: string;
    /** Hash of what never changes in the source, so that a copy of it is recognized. */
    identity: string;
    /** Counts and sums of the source when the import began. */
    fingerprint: string;
    state: 'applying' | 'applied' | 'undone';
    started_at: number;
    finished_at: number | null;
  };
  /**
   * What became of each row of the source, written in the transaction that made it: an import that is killed goes on behind it. Tasks that
   * had ended have no rows: their ids here say which row of which import they are.
   */
  import_rows: {
    import_id: number;
    kind: ImportKind;
    /** Id in the source; 0 where it has names only. */
    source_id: number;
    name: string;
    /** Id here; 0 for a model, which has only a name; null: skipped. */
    target_id: number | null;
    /** JSON: of a model the row it replaced and the one it made, of a channel its `updated_at`, of a group its plan; `no-login-email` of an account. */
    detail: string | null;
  };
}

export const importerMigrations: readonly Migration[] = [
  {
    id: '0090-imports',
    async up(trx, { int64, text, autoIncrement }) {
      await trx.schema
        .createTable('imports')
        .addColumn('id', int64, autoIncrement)
        .addColumn('program', text, required)
        .addColumn('identity', text, required)
        .addColumn('fingerprint', text, required)
        .addColumn('state', text, required)
        .addColumn('started_at', int64, required)
        .addColumn('finished_at', int64)
        .execute();
      await trx.schema
        .createTable('import_rows')
        .addColumn('import_id', int64, required)
        .addColumn('kind', text, required)
        .addColumn('source_id', int64, required)
        .addColumn('name', text, required)
        .addColumn('target_id', int64)
        .addColumn('detail', text)
        .addPrimaryKeyConstraint('import_rows_key', ['import_id', 'kind', 'source_id', 'name'])
        .execute();
      await trx.schema.createIndex('import_rows_by_target').on('import_rows').columns(['kind', 'target_id']).execute();
    },
  },
];
