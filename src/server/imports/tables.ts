import type { Generated } from 'kysely';
import { type Migration, required } from '../platform/db/migrate.ts';

/** The kind of object a row of an import describes. */
export type ImportKind = 'channel' | 'model' | 'group' | 'user' | 'key' | 'code' | 'task' | 'ended-task';

/** Tables of the importer. */
export interface ImporterTables {
  /** Imports from databases of other programs. */
  imports: {
    id: Generated<number>;
    program: string;
    /** Hash of immutable data of the source, by which a copy, even one with later accounts, is recognized. */
    identity: string;
    /** Counts and sums of the source when the import started. */
    fingerprint: string;
    state: 'applying' | 'applied' | 'undone';
    started_at: number;
    finished_at: number | null;
  };
  /**
   * The outcome of each source row, written in the transaction that created the object, so that an import resumes after
   * a kill. Tasks that had ended have no rows: their ids here identify the import and the source row.
   */
  import_rows: {
    import_id: number;
    kind: ImportKind;
    /** Id in the source; 0 if the object has only a name. */
    source_id: number;
    name: string;
    /** Id here; 0 for a model, which has only a name; null: skipped. */
    target_id: number | null;
    /**
     * JSON. For a model: the row it replaced and the one the import created; for a channel: its `updated_at`; for a
     * group: its plan; for an account: `no-login-email`.
     */
    detail: string | null;
  };
}

/** Schema history of the importer. */
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
