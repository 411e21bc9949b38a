import { type Generated, sql } from 'kysely';
import { type Migration, replaceView, required } from '../platform/db/migrate.ts';

/** Tables and views of the mailbox capability. */
export interface MailboxTables {
  mailboxes: {
    id: Generated<number>;
    user_id: number;
    /** Lower-case `local@domain`; never reassigned. */
    address: string;
    /**
     * The local part without `.`, `_` and `-`, and the domain; unique, so that no two e-mail addresses are easily
     * confused.
     */
    skeleton: string;
    /** Marks the mailbox as ours on the mail server. */
    ref: string;
    /** `account`: a legacy mailbox that opens with the account's own password. */
    password_source: 'mailbox' | 'account';
    /** Sealed clear text; null for `account`. */
    password_sealed: string | null;
    /** `{SSHA512}…`; null for `account`. */
    password_hash: string | null;
    /** `creating` until the mail server has confirmed the mailbox. */
    state: 'creating' | 'active';
    /** Number of creation attempts; only the latest attempt may delete an unfinished row. */
    attempt: number;
    /** Fingerprint of the password and access last sent to the mail server; null: they must be sent. */
    provisioned_access: string | null;
    created_at: number;
  };
  /** At most one application password per mailbox. `pending_*` is one the mail server does not have yet. */
  app_passwords: {
    mailbox_id: number;
    ref: string | null;
    sealed: string | null;
    hash: string | null;
    pending_ref: string | null;
    pending_sealed: string | null;
    pending_hash: string | null;
    pending_since: number | null;
    imap: 0 | 1;
    smtp: 0 | 1;
    pop3: 0 | 1;
    /** 1: sessions opened with the previous password must be ended. */
    session_end_due: 0 | 1;
    created_at: number;
  };
  /** Device sign-ins that were shown a password of the mailbox; deleted when the sign-in ends. */
  mailbox_device_reads: { authorization_id: number; user_id: number; created_at: number };
  /** View for the mail server: each mailbox and its password. */
  mail_auth_mailbox: { username: string; password: string };
  /** View for the mail server: the application password, one row per allowed protocol. */
  mail_auth_app: { username: string; service: string; password: string };
}

/**
 * Schema history of the mailbox capability. A mail server reads only the two views. A disabled account keeps its
 * mailbox, so that mail still arrives, with a hash that no password matches; a removed account has no row. `service` is
 * Dovecot's name of the protocol.
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
        .addColumn('password_source', text, required)
        .addColumn('password_sealed', text)
        .addColumn('password_hash', text)
        .addColumn('state', text, required)
        .addColumn('attempt', int64, required)
        .addColumn('provisioned_access', text)
        .addColumn('created_at', int64, required)
        .execute();
      await trx.schema
        .createTable('app_passwords')
        .addColumn('mailbox_id', int64, (column) => column.primaryKey())
        .addColumn('ref', text)
        .addColumn('sealed', text)
        .addColumn('hash', text)
        .addColumn('pending_ref', text)
        .addColumn('pending_sealed', text)
        .addColumn('pending_hash', text)
        .addColumn('pending_since', int64)
        .addColumn('imap', bool, required)
        .addColumn('smtp', bool, required)
        .addColumn('pop3', bool, required)
        .addColumn('session_end_due', bool, required)
        .addColumn('created_at', int64, required)
        .execute();
      await trx.schema
        .createTable('mailbox_device_reads')
        .addColumn('authorization_id', int64, (column) => column.primaryKey())
        .addColumn('user_id', int64, required)
        .addColumn('created_at', int64, required)
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
  {
    id: '0124-mailboxes-of-imported-accounts',
    up: replaceView(
      'mail_auth_mailbox',
      `select m.address as username,
        case
          when a.status <> 1 then '{CRYPT}!'
          when m.password_source <> 'account' then m.password_hash
          when p.hash is null then '{CRYPT}!'
          when p.hash like '$2%' then '{BLF-CRYPT}' || p.hash
          else '{ARGON2ID}' || p.hash
        end as password
      from mailboxes m
      join accounts a on a.id = m.user_id
      left join passwords p on p.user_id = m.user_id
      where m.state = 'active' and a.removed_at is null`,
    ),
  },
];
