import { type Migration, required } from '../platform/db/migrate.ts';

export interface MailTables {
  /** E-mails that were not sent yet. They hold no secret: links with tokens are made when a mail is sent. */
  outgoing_mails: {
    /** Random; also the local part of the Message-ID, so that a repeated mail is recognized as the same. */
    id: string;
    /** Which renderer writes it. */
    kind: string;
    recipient: string;
    locale: string;
    /** JSON object of strings, for the renderer. */
    params: string;
    tries: number;
    /** Unix milliseconds: when it is tried next, or until when a process has claimed it. */
    next_try_at: number;
    created_at: number;
    /** It is dropped when it could not be sent by then. */
    expires_at: number;
  };
}

export const mailMigrations: readonly Migration[] = [
  {
    id: '0005-mail',
    up: async (trx, { int64, text }) => {
      await trx.schema
        .createTable('outgoing_mails')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('kind', text, required)
        .addColumn('recipient', text, required)
        .addColumn('locale', text, required)
        .addColumn('params', text, required)
        .addColumn('tries', int64, required)
        .addColumn('next_try_at', int64, required)
        .addColumn('created_at', int64, required)
        .addColumn('expires_at', int64, required)
        .execute();
      await trx.schema.createIndex('outgoing_mails_due').on('outgoing_mails').column('next_try_at').execute();
    },
  },
];
