import { type Migration, required } from '../platform/db/migrate.ts';

/** Table of the mail capability. */
export interface MailTables {
  /** E-mails not sent yet. Links with tokens are created when a mail is sent, or sealed. */
  outgoing_mails: {
    /** Random; also the local part of the Message-ID, so that receivers recognize a repeated mail. */
    id: string;
    /** Selects the renderer. */
    kind: string;
    recipient: string;
    locale: string;
    /** JSON object of strings, for the renderer. */
    params: string;
    tries: number;
    /** Unix milliseconds: the next attempt, or the end of the claim of the process that is sending it. */
    next_try_at: number;
    created_at: number;
    /** The mail is dropped if it could not be sent by then. */
    expires_at: number;
  };
}

/** Schema history of the mail capability. */
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
