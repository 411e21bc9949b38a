import { type Generated, sql } from 'kysely';
import type { Migration } from '../platform/db/migrate.ts';

export interface MailboxTables {
  mailboxes: {
    id: Generated<number>;
    user_id: number;
    /** Lower-case `local@domain`; given out once, for ever. */
    address: string;
    /** The local part without `.`, `_` and `-`, and the domain: no two addresses look alike. */
    skeleton: string;
    /** Marks the mailbox as ours on the mail server. */
    ref: string;
    /** `account`: a legacy mailbox that opens with the account's own password. */
    password_source: 'mailbox' | 'account';
    /** Sealed clear text; null for `account`. */
    password_sealed: string | null;
    /** `{SSHA512}…`; null for `account`. */
    password_hash: string | null;
    /** `creating` until the mail server is known to have it. */
    state: 'creating' | 'active';
    /** How often its creation was begun; the number decides who may take an unfinished one back. */
    attempt: number;
    /** What the mail server was last told of password and access; null: to be told. */
    published: string | null;
    created_at: number;
  };
  /** At most one application password a mailbox. `next_*` is one on its way to the mail server. */
  app_passwords: {
    mailbox_id: number;
    ref: string | null;
    sealed: string | null;
    hash: string | null;
    next_ref: string | null;
    next_sealed: string | null;
    next_hash: string | null;
    next_at: number | null;
    imap: 0 | 1;
    smtp: 0 | 1;
    pop3: 0 | 1;
    /** 1: sessions opened with the password before this one are still to be ended. */
    sessions_due: 0 | 1;
    created_at: number;
  };
  /** View for the mail server: who has a mailbox, and its password. */
  mail_auth_mailbox: { username: string; password: string };
  /** View for the mail server: the application password, a row for each protocol it admits. */
  mail_auth_app: { username: string; service: string; password: string };
}

/**
 * The two views are all a mail server sees of us. A disabled account keeps its mailbox, so that mail still arrives, with a
 * hash nothing matches; a removed one is gone. `service` is Dovecot's word for the protocol, which is also ours.
 */
export const mailboxMigrations: readonly Migration[] = [
  {
    id: '0040-mailboxes',
    async up(trx, { int64, bool, text, autoIncrement }) {
      await trx.schema
        .createTable('mailboxes')
        .addColumn('id', int64, autoIncrement)
        .addColumn('user_id', int64, (column) => column.notNull().unique())
        .addColumn('address', text, (column) => column.notNull().unique())
        .addColumn('skeleton', text, (column) => column.notNull().unique())
        .addColumn('ref', text, (column) => column.notNull().unique())
        .addColumn('password_source', text, (column) => column.notNull())
        .addColumn('password_sealed', text)
        .addColumn('password_hash', text)
        .addColumn('state', text, (column) => column.notNull())
        .addColumn('attempt', int64, (column) => column.notNull())
        .addColumn('published', text)
        .addColumn('created_at', int64, (column) => column.notNull())
        .execute();
      await trx.schema
        .createTable('app_passwords')
        .addColumn('mailbox_id', int64, (column) => column.primaryKey())
        .addColumn('ref', text)
        .addColumn('sealed', text)
        .addColumn('hash', text)
        .addColumn('next_ref', text)
        .addColumn('next_sealed', text)
        .addColumn('next_hash', text)
        .addColumn('next_at', int64)
        .addColumn('imap', bool, (column) => column.notNull())
        .addColumn('smtp', bool, (column) => column.notNull())
        .addColumn('pop3', bool, (column) => column.notNull())
        .addColumn('sessions_due', bool, (column) => column.notNull())
        .addColumn('created_at', int64, (column) => column.notNull())
        .execute();
      await sql`
        create view mail_auth_mailbox as
        select m.address as username,
          case
            when a.status <> 1 then '{CRYPT}!'
            when m.password_source = 'account' then coalesce('{ARGON2ID}' || p.hash, '{CRYPT}!')
            else m.password_hash
          end as password
        from mailboxes m
        join accounts a on a.id = m.user_id
        left join passwords p on p.user_id = m.user_id
        where m.state = 'active' and a.removed_at is null`.execute(trx);
      await sql`
        create view mail_auth_app as
        select m.address as username, s.service as service, p.hash as password
        from mailboxes m
        join accounts a on a.id = m.user_id
        join app_passwords p on p.mailbox_id = m.id
        join (select 'imap' as service union all select 'smtp' union all select 'pop3') s
          on (s.service = 'imap' and p.imap = 1)
          or (s.service = 'smtp' and p.smtp = 1)
          or (s.service = 'pop3' and p.pop3 = 1)
        where m.state = 'active' and a.status = 1 and a.removed_at is null and p.hash is not null`.execute(trx);
    },
  },
];
