import type { Selectable } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Tables, Trx } from '../tables.ts';
import type { MailProtocol } from './mail-backend.ts';

/** A mailbox. */
export type MailboxRow = Selectable<Tables['mailboxes']>;
/** An application password, current or pending. */
export type AppPasswordRow = Selectable<Tables['app_passwords']>;

/** A mailbox with its application password. */
export interface MailboxWithApp {
  readonly mailbox: MailboxRow;
  readonly app: AppPasswordRow | undefined;
  /** False while the account is disabled or removed. */
  readonly enabled: boolean;
  /** Hash of the account's own password, for mailboxes that open with it. */
  readonly accountHash: string | null;
}

/** An application password the mail server does not have yet. */
export interface PendingAppPassword {
  readonly ref: string;
  readonly sealed: string;
  readonly hash: string;
}

/**
 * Mailboxes and application passwords. Every change is conditional on its initial state and reports whether it was
 * applied.
 */
export class MailboxStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  transaction<R>(work: (trx: Trx) => Promise<R>): Promise<R> {
    return this.#database.transaction(work);
  }

  findByUser(userId: number): Promise<MailboxWithApp | undefined> {
    return this.#find('user_id', userId);
  }

  findById(id: number): Promise<MailboxWithApp | undefined> {
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

  /** Claims the account, the address and all similar addresses in one statement; undefined if any of them is taken. */
  insert(row: Omit<MailboxRow, 'id'>): Promise<MailboxRow | undefined> {
    return this.#database.kysely
      .insertInto('mailboxes')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst();
  }

  /**
   * Starts another attempt to create an unfinished mailbox. @returns the attempt's number; undefined if the mailbox is
   * finished or deleted
   */
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

  /** Deletes an unfinished mailbox, unless another attempt has started since. */
  async deleteUnfinished(id: number, attempt: number): Promise<boolean> {
    const result = await this.#database.kysely
      .deleteFrom('mailboxes')
      .where('id', '=', id)
      .where('state', '=', 'creating')
      .where('attempt', '=', attempt)
      .executeTakeFirst();
    return wasChanged(result);
  }

  async activate(trx: Trx, id: number, access: string): Promise<boolean> {
    const result = await trx
      .updateTable('mailboxes')
      .set({ state: 'active', provisioned_access: access })
      .where('id', '=', id)
      .where('state', '=', 'creating')
      .executeTakeFirst();
    return wasChanged(result);
  }

  /**
   * Records what the mail server was given. If another process has recorded something since `before` was read, it is
   * unknown which of the two the server received last, and nothing is recorded, so that the next pass repeats it.
   */
  async setProvisioned(id: number, before: string | null, access: string): Promise<void> {
    const record = (provisioned: string | null) =>
      this.#database.kysely
        .updateTable('mailboxes')
        .set({ provisioned_access: provisioned })
        .where('id', '=', id)
        .where('state', '=', 'active');
    const result = await record(access)
      .where('provisioned_access', before === null ? 'is' : '=', before)
      .executeTakeFirst();
    if (!wasChanged(result)) await record(null).execute();
  }

  /** Stores the next password, replacing one that was still pending. */
  async setPendingAppPassword(
    mailboxId: number,
    next: PendingAppPassword,
    protocols: readonly MailProtocol[],
    now: number,
  ): Promise<void> {
    const values = { pending_ref: next.ref, pending_sealed: next.sealed, pending_hash: next.hash, pending_since: now };
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
        session_end_due: 0,
        created_at: now,
      })
      .onConflict((conflict) => conflict.column('mailbox_id').doUpdateSet(values))
      .execute();
  }

  /** Deletes the pending password if it has not been replaced. */
  async clearPendingAppPassword(mailboxId: number, ref: string): Promise<void> {
    await this.#database.kysely
      .updateTable('app_passwords')
      .set({ pending_ref: null, pending_sealed: null, pending_hash: null, pending_since: null })
      .where('mailbox_id', '=', mailboxId)
      .where('pending_ref', '=', ref)
      .execute();
  }

  /** Makes the pending password the current one if it has not been replaced. */
  async activatePendingAppPassword(trx: Trx, mailboxId: number, ref: string, now: number): Promise<boolean> {
    const result = await trx
      .updateTable('app_passwords')
      .set((update) => ({
        ref: update.ref('pending_ref'),
        sealed: update.ref('pending_sealed'),
        hash: update.ref('pending_hash'),
        pending_ref: null,
        pending_sealed: null,
        pending_hash: null,
        pending_since: null,
        session_end_due: 1,
        created_at: now,
      }))
      .where('mailbox_id', '=', mailboxId)
      .where('pending_ref', '=', ref)
      .executeTakeFirst();
    return wasChanged(result);
  }

  /** Records that the sessions of the password before `ref` have ended. */
  async clearSessionEndDue(mailboxId: number, ref: string): Promise<void> {
    await this.#database.kysely
      .updateTable('app_passwords')
      .set({ session_end_due: 0 })
      .where('mailbox_id', '=', mailboxId)
      .where('ref', '=', ref)
      .execute();
  }

  /** Ids of mailboxes left unfinished before a time by a crash or a failed call. */
  async listUnfinished(before: number, limit: number): Promise<number[]> {
    const rows = await this.#database.kysely
      .selectFrom('mailboxes')
      .leftJoin('app_passwords', 'app_passwords.mailbox_id', 'mailboxes.id')
      .select('mailboxes.id')
      .where((where) =>
        where.or([
          where('mailboxes.state', '=', 'creating').and('mailboxes.created_at', '<', before),
          where('app_passwords.pending_since', '<', before),
          where('app_passwords.session_end_due', '=', 1).and('app_passwords.created_at', '<', before),
        ]),
      )
      .orderBy('mailboxes.id')
      .limit(limit)
      .execute();
    return rows.map((row) => row.id);
  }

  /** Ids of active mailboxes above an id, in ascending order. */
  async listActiveAfter(id: number, limit: number): Promise<number[]> {
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

  async findIdByRef(ref: string): Promise<number | undefined> {
    const row = await this.#database.kysely
      .selectFrom('mailboxes')
      .select('id')
      .where('ref', '=', ref)
      .executeTakeFirst();
    return row?.id;
  }

  /** The hashes the mail server reads for a login: of the application password, then of the mailbox. */
  async listLoginHashes(address: string, protocol: MailProtocol): Promise<string[]> {
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
