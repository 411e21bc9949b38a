import type { Generated } from 'kysely';
import { required, type Schema } from '../../platform/db/migrate.ts';
import type { Dialect } from '../../platform/db/sql.ts';

export interface AuditTables {
  audit_log: {
    id: Generated<number>;
    actor_id: number | null;
    action: string;
    target: string;
    before: string | null;
    after: string | null;
    address: string;
    request_id: string;
    created_at: number;
  };
}

export async function createAuditLog(schema: Schema, { int64, text, autoIncrement }: Dialect): Promise<void> {
  await schema
    .createTable('audit_log')
    .addColumn('id', int64, autoIncrement)
    .addColumn('actor_id', int64)
    .addColumn('action', text, required)
    .addColumn('target', text, required)
    .addColumn('before', text)
    .addColumn('after', text)
    .addColumn('address', text, required)
    .addColumn('request_id', text, required)
    .addColumn('created_at', int64, required)
    .execute();
  const index = (name: string, columns: string[]) => schema.createIndex(name).on('audit_log').columns(columns);
  await index('audit_log_by_actor', ['actor_id', 'id']).execute();
  await index('audit_log_by_target', ['target', 'id']).execute();
  await index('audit_log_by_action', ['action', 'id']).execute();
}
