import type { Generated } from 'kysely';
import { type Migration, required } from '../platform/db/migrate.ts';

/** The table of the files capability. */
export interface FileTables {
  /** One row per uploaded file; its bytes are the artifact with this id as `task_id` and the variant `upload`. */
  files: {
    /** `file-` and random characters. */
    id: string;
    user_id: number;
    /** The member of the organization who uploaded it; null: the account itself. */
    actor_id: Generated<number | null>;
    purpose: string;
    filename: string;
    bytes: number;
    /** Hexadecimal. */
    sha256: string;
    mime_type: string;
    created_at: number;
    expires_at: number;
  };
}

/** Migrations of the files table. */
export const fileMigrations: readonly Migration[] = [
  {
    id: '0120-files',
    async up(trx, { int64, text }) {
      await trx.schema
        .createTable('files')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('user_id', int64, required)
        .addColumn('purpose', text, required)
        .addColumn('filename', text, required)
        .addColumn('bytes', int64, required)
        .addColumn('sha256', text, required)
        .addColumn('mime_type', text, required)
        .addColumn('created_at', int64, required)
        .addColumn('expires_at', int64, required)
        .execute();
      const index = (name: string) => trx.schema.createIndex(name).on('files');
      await index('files_by_user').columns(['user_id', 'created_at', 'id']).execute();
      await index('files_expiring').column('expires_at').execute();
    },
  },
];
