import { type Generated, sql } from 'kysely';
import type { ApplicationStatus } from '../../contract/beta-applications.ts';
import type { TicketStatus } from '../../contract/tickets.ts';
import { type Migration, required } from '../platform/db/migrate.ts';

/** Tables of the support capability. */
export interface SupportTables {
  tickets: {
    id: Generated<number>;
    user_id: number;
    title: string;
    content: string;
    category: string;
    /** Public id of a task; empty: none. */
    task_id: string;
    status: TicketStatus;
    /** 1: the owner wrote last. */
    awaits_staff: number;
    /** Number of replies the owner sees. */
    reply_count: number;
    /** Number of replies and internal notes. */
    entry_count: number;
    created_at: number;
    updated_at: number;
  };
  ticket_replies: {
    id: Generated<number>;
    ticket_id: number;
    author_id: number;
    by_staff: number;
    /** 1: a note among administrators, never shown to the owner. */
    internal: number;
    content: string;
    task_id: string;
    created_at: number;
  };
  beta_applications: {
    id: Generated<number>;
    user_id: number;
    feature: string;
    reason: string;
    status: ApplicationStatus;
    note: string;
    decided_by: number | null;
    created_at: number;
    decided_at: number | null;
  };
}

/** Schema history of the support capability. */
export const supportMigrations: readonly Migration[] = [
  {
    id: '0080-support',
    async up(trx, dialect) {
      await createTickets(trx, dialect);
      await createBetaApplications(trx, dialect);
    },
  },
];

const createTickets: Migration['up'] = async (trx, { int64, bool, text, autoIncrement }) => {
  await trx.schema
    .createTable('tickets')
    .addColumn('id', int64, autoIncrement)
    .addColumn('user_id', int64, required)
    .addColumn('title', text, required)
    .addColumn('content', text, required)
    .addColumn('category', text, required)
    .addColumn('task_id', text, required)
    .addColumn('status', text, required)
    .addColumn('awaits_staff', bool, required)
    .addColumn('reply_count', int64, required)
    .addColumn('entry_count', int64, required)
    .addColumn('created_at', int64, required)
    .addColumn('updated_at', int64, required)
    .execute();
  await trx.schema.createIndex('tickets_by_user').on('tickets').columns(['user_id', 'id']).execute();
  await trx.schema.createIndex('tickets_by_category').on('tickets').columns(['category', 'id']).execute();
  await trx.schema.createIndex('tickets_by_status').on('tickets').columns(['status', 'id']).execute();
  await trx.schema.createIndex('tickets_by_turn').on('tickets').columns(['status', 'awaits_staff', 'id']).execute();
  await trx.schema
    .createTable('ticket_replies')
    .addColumn('id', int64, autoIncrement)
    .addColumn('ticket_id', int64, required)
    .addColumn('author_id', int64, required)
    .addColumn('by_staff', bool, required)
    .addColumn('internal', bool, required)
    .addColumn('content', text, required)
    .addColumn('task_id', text, required)
    .addColumn('created_at', int64, required)
    .execute();
  await trx.schema.createIndex('ticket_replies_by_ticket').on('ticket_replies').columns(['ticket_id', 'id']).execute();
};

const createBetaApplications: Migration['up'] = async (trx, { int64, text, autoIncrement }) => {
  await trx.schema
    .createTable('beta_applications')
    .addColumn('id', int64, autoIncrement)
    .addColumn('user_id', int64, required)
    .addColumn('feature', text, required)
    .addColumn('reason', text, required)
    .addColumn('status', text, required)
    .addColumn('note', text, required)
    .addColumn('decided_by', int64)
    .addColumn('created_at', int64, required)
    .addColumn('decided_at', int64)
    .execute();
  await trx.schema
    .createIndex('beta_applications_by_user')
    .on('beta_applications')
    .columns(['user_id', 'id'])
    .execute();
  await trx.schema
    .createIndex('beta_applications_by_status')
    .on('beta_applications')
    .columns(['status', 'id'])
    .execute();
  await trx.schema
    .createIndex('beta_applications_by_feature')
    .on('beta_applications')
    .columns(['feature', 'id'])
    .execute();
  // At most one pending or approved application per account and feature; rejected ones allow another.
  await trx.schema
    .createIndex('beta_applications_one_open')
    .unique()
    .on('beta_applications')
    .columns(['user_id', 'feature'])
    .where(sql<boolean>`status <> 'rejected'`)
    .execute();
};
