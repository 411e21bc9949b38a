import { type Generated, sql } from 'kysely';
import type { LoginOutcomeName, SessionEndReason } from '../../../contract/login-history-and-session-end-reason.ts';
import { required, type Schema } from '../../platform/db/migrate.ts';
import type { Dialect } from '../../platform/db/sql.ts';

export interface LoginHistoryTables {
  /** Why sessions ended before their time, by the SHA-256 of the cookie, which the browser still has. */
  ended_sessions: { hash: string; reason: SessionEndReason; ended_at: number };
  /** Attempts to log in to accounts. */
  login_history: {
    id: Generated<number>;
    user_id: number;
    outcome: LoginOutcomeName;
    two_step: 0 | 1;
    known_source: 0 | 1;
    address: string;
    user_agent: string;
    created_at: number;
  };
}

export async function createLoginHistory(schema: Schema, { int64, bool, text, autoIncrement }: Dialect): Promise<void> {
  await schema
    .createTable('ended_sessions')
    .addColumn('hash', text, (column) => column.primaryKey())
    .addColumn('reason', text, required)
    .addColumn('ended_at', int64, required)
    .execute();
  await schema.createIndex('ended_sessions_by_end').on('ended_sessions').column('ended_at').execute();
  await schema
    .createTable('login_history')
    .addColumn('id', int64, autoIncrement)
    .addColumn('user_id', int64, required)
    .addColumn('outcome', text, required)
    .addColumn('two_step', bool, required)
    .addColumn('known_source', bool, required)
    .addColumn('address', text, required)
    .addColumn('user_agent', text, required)
    .addColumn('created_at', int64, required)
    .execute();
  await schema.createIndex('login_history_by_user').on('login_history').columns(['user_id', 'id']).execute();
  await schema
    .createIndex('login_history_failed')
    .on('login_history')
    .column('id')
    .where(sql.ref('outcome'), '!=', 'success')
    .execute();
}
