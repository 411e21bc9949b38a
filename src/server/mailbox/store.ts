import type { Selectable, Transaction } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { MailProtocol } from './backend.ts';

export type MailboxRow = Selectable<Tables['mailboxes']>;
export type AppPasswordRow = Selectable<Tables['app_passwords']>;
type Trx = Transaction<Tables>;

/** A mailbox and its application password, as one look-up. */
export interface MailboxWithApp {
  readonly mailbox: MailboxRow;
  readonly app: AppPasswordRow | undefined;
  /** False while the account is disabled or removed. */
  readonly enabled: boolean;
  /** Hash of the account's own password, for mailboxes that open with it. */
  readonly accountHash: string | null;
}

/** A generation of the application password on its way to the mail server. */
export interface NextPassword {
  readonly ref: string;
  readonly sealed: string;
  readonly hash: string;
}

/** The rows of mailboxes and application passwords. Every change names the state it starts from and tells whether it did it. */
export class MailboxStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  transaction<R>(work: (trx: Trx) => Promise<R>): Promise<R> {
    return this.#database.transaction(work);
  }

  ofUser(userId: number): Promise<MailboxWithApp | undefined> {
    return this.#find('user_id', userId);
  }

  ofId(id: number): Promise<MailboxWithApp | undefined> {
    return this.#find('id', id);
  }

  async #find(column: 'user_id' | 'id', value: number): Promise<MailboxWithApp | undefined> {
    const { kysely } = this.#database;
    const mailbox = await kysely.selectFrom('mailboxes').selectAll().where(column, '=', value).executeTakeFirst();
    if (mailbox === undefined) return undefined;
    const app = await kysely
      .selectFrom('app_passwords')
      .selectAll()
      .where('mailbox_id', '=', mailbox.id)
      .executeTakeFirst();
    const account = await kysely
      .selectFrom('accounts')
      .leftJoin('passwords', 'passwords.user_id', 'accounts.id')
      .select(['accounts.status', 'accounts.removed_at', 'passwords.hash'])
      .where('accounts.id', '=', mailbox.user_id)
      .executeTakeFirst();
    const enabled = account !== undefined && account.status === 1 && account.removed_at === null;
    return { mailbox, app, enabled, accountHash: account?.hash ?? null };
  }

  /** Claims account, address and look-alikes at once; undefined when any of them is taken. */
  insert(row: Omit<MailboxRow, 'id'>): Promise<MailboxRow | undefined> {
    return this.#database.kysely
      .insertInto('mailboxes')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst();
  }

  /** Begins one more attempt at an unfinished mailbox; answers with its number, undefined when it is finished or gone. */
  async beginAttempt(id: number): Promise<number | undefined> {
    const row = await this.#database.kysely
      .updateTable('mailboxes')
      .set((update) => ({ attempt: update('attempt', '+', 1) }))
      .where('id', '=', id)
      .where('state', '=', 'creating')
      .returning('attempt')
      .executeTakeFirst();
    return row?.attempt;
  }

  /** Takes an unfinished mailbox back, unless somebody else has begun another attempt since. */
  async takeBack(id: number, attempt: number): Promise<boolean> {
    const { numDeletedRows } = await this.#database.kysely
      .deleteFrom('mailboxes')
      .where('id', '=', id)
      .where('state', '=', 'creating')
      .where('attempt', '=', attempt)
      .executeTakeFirst();
    return numDeletedRows === 1n;
  }

  async activate(trx: Trx, id: number, published: string): Promise<boolean> {
    const { numUpdatedRows } = await trx
      .updateTable('mailboxes')
      .set({ state: 'active', published })
      .where('id', '=', id)
      .where('state', '=', 'creating')
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  async setPublished(id: number, published: string): Promise<void> {
    await this.#database.kysely
      .updateTable('mailboxes')
      .set({ published })
      .where('id', '=', id)
      .where('state', '=', 'active')
      .execute();
  }

  /** Notes the password to come; one that was on its way already gives way to it. */
  async setNext(mailboxId: number, next: NextPassword, protocols: readonly MailProtocol[], now: number): Promise<void> {
    const values = { next_ref: next.ref, next_sealed: next.sealed, next_hash: next.hash, next_at: now };
    const admits = (protocol: MailProtocol) => (protocols.includes(protocol) ? 1 : 0);
    await this.#database.kysely
      .insertInto('app_passwords')
      .values({
        mailbox_id: mailboxId,
        ref: null,
        sealed: null,
        hash: null,
        ...values,
        imap: admits('imap'),
        smtp: admits('smtp'),
        pop3: admits('pop3'),
        sessions_due: 0,
        created_at: now,
      })
      .onConflict((conflict) => conflict.column('mailbox_id').doUpdateSet(values))
      .execute();
  }

  /** Forgets the password to come, if it is still this one. */
  async dropNext(mailboxId: number, ref: string): Promise<void> {
    await this.#database.kysely
      .updateTable('app_passwords')
      .set({ next_ref: null, next_sealed: null, next_hash: null, next_at: null })
      .where('mailbox_id', '=', mailboxId)
      .where('next_ref', '=', ref)
      .execute();
  }

  /** Puts the password to come in the place of the old one, if it is still this one. */
  async completeNext(trx: Trx, mailboxId: number, ref: string, now: number): Promise<boolean> {
    const { numUpdatedRows } = await trx
      .updateTable('app_passwords')
      .set((update) => ({
        ref: update.ref('next_ref'),
        sealed: update.ref('next_sealed'),
        hash: update.ref('next_hash'),
        next_ref: null,
        next_sealed: null,
        next_hash: null,
        next_at: null,
        sessions_due: 1,
        created_at: now,
      }))
      .where('mailbox_id', '=', mailboxId)
      .where('next_ref', '=', ref)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  /** Sessions of the password before `ref` are ended. */
  async sessionsEnded(mailboxId: number, ref: string): Promise<void> {
    await this.#database.kysely
      .updateTable('app_passwords')
      .set({ sessions_due: 0 })
      .where('mailbox_id', '=', mailboxId)
      .where('ref', '=', ref)
      .execute();
  }

  /** Mailboxes a crash or a failed call left half done before a time. */
  async unfinished(before: number, limit: number): Promise<number[]> {
    const rows = await this.#database.kysely
      .selectFrom('mailboxes')
      .leftJoin('app_passwords', 'app_passwords.mailbox_id', 'mailboxes.id')
      .select('mailboxes.id')
      .where((where) =>
        where.or([
          where('mailboxes.state', '=', 'creating').and('mailboxes.created_at', '<', before),
          where('app_passwords.next_at', '<', before),
          where('app_passwords.sessions_due', '=', 1).and('app_passwords.created_at', '<', before),
        ]),
      )
      .orderBy('mailboxes.id')
      .limit(limit)
      .execute();
    return rows.map((row) => row.id);
  }

  /** Active mailboxes above an id, a page at a time. */
  async activeAfter(id: number, limit: number): Promise<number[]> {
    const rows = await this.#database.kysely
      .selectFrom('mailboxes')
      .select('id')
      .where('state', '=', 'active')
      .where('id', '>', id)
      .orderBy('id')
      .limit(limit)
      .execute();
    return rows.map((row) => row.id);
  }

  async idOfRef(ref: string): Promise<number | undefined> {
    const row = await this.#database.kysely
      .selectFrom('mailboxes')
      .select('id')
      .where('ref', '=', ref)
      .executeTakeFirst();
    return row?.id;
  }

  /** What the mail server would read for a login: hashes of the application password, then of the mailbox. */
  async credentials(address: string, protocol: MailProtocol): Promise<string[]> {
    const { kysely } = this.#database;
    const app = await kysely
      .selectFrom('mail_auth_app')
      .select('password')
      .where('username', '=', address)
      .where('service', '=', protocol)
      .execute();
    const mailbox = await kysely
      .selectFrom('mail_auth_mailbox')
      .select('password')
      .where('username', '=', address)
      .execute();
    return [...app, ...mailbox].map((row) => row.password);
  }

  async hasAddress(address: string): Promise<boolean> {
    const row = await this.#database.kysely
      .selectFrom('mail_auth_mailbox')
      .select('username')
      .where('username', '=', address)
      .executeTakeFirst();
    return row !== undefined;
  }
}
