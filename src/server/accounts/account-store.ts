import { canManage, DISABLED, ENABLED, type Role } from '../../contract/account-fields.ts';
import type { LongListPage, LongPage } from '../../contract/responses.ts';
import { AppError } from '../platform/app-error.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import { containsText, readLargeListPage, wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

/** An account as every rule sees it. Deleted accounts are never read. */
export interface Account {
  readonly id: number;
  readonly username: string;
  readonly email: string | null;
  readonly display_name: string;
  readonly role: Role;
  /** `ENABLED` or `DISABLED`. */
  readonly status: number;
  /** Unix milliseconds. */
  readonly created_at: number;
}

export interface NewAccount {
  readonly username: string;
  readonly email: string | null;
  /** The e-mail where it counts for login; null where it does not (yet). */
  readonly login_email: string | null;
  /** When that was proved or vouched for, Unix milliseconds; null: never. */
  readonly email_confirmed_at: number | null;
  readonly display_name: string;
  readonly role: Role;
  readonly created_at: number;
}

export type AccountColumns = Partial<
  Pick<Account, 'username' | 'email' | 'display_name' | 'role' | 'status'> &
    Pick<NewAccount, 'login_email' | 'email_confirmed_at'>
>;

export interface AccountFilter {
  /** Contained in user name, e-mail or display name. */
  readonly q?: string;
  readonly ids?: readonly number[];
  readonly role?: Role;
  readonly status?: number;
}

/** Tables whose rows are deleted with an account: its credentials and personal data. */
const PERSONAL_TABLES = [
  'passwords',
  'user_tokens',
  'two_factors',
  'backup_codes',
  'bindings',
  'phone_codes',
  'known_login_sources',
  'login_history',
  'email_tokens',
  'webhook_endpoints',
  'webhook_account_secrets',
  'webhook_deliveries',
  'budgets',
] as const;

const COLUMNS = ['id', 'email', 'display_name', 'role', 'status', 'created_at'] as const;

const activeAccounts = (db: Executor) =>
  db
    .selectFrom('accounts')
    .select(COLUMNS)
    .select((row) => row.ref('username').$notNull().as('username'))
    .where('removed_at', 'is', null);

const accessById = prepareQuery<Tables, { id: number }>()((db, p) =>
  db.selectFrom('accounts').select(['role', 'status']).where('id', '=', p('id')),
);

/** SQL of the tables `accounts`, `passwords` and `first_administrator`. */
export class AccountStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  find(id: number, db: Executor = this.#database.kysely): Promise<Account | undefined> {
    return activeAccounts(db).where('id', '=', id).executeTakeFirst();
  }

  /** Role and status now, for credentials that are stored elsewhere. */
  findAccess(id: number): Promise<{ readonly role: Role; readonly status: number } | undefined> {
    return accessById.first(this.#database.kysely, { id });
  }

  /** By user name, or by e-mail where the text has an at sign, which user names never have. */
  findByLogin(login: string, db: Executor = this.#database.kysely): Promise<Account | undefined> {
    return activeAccounts(db)
      .where(login.includes('@') ? 'login_email' : 'username', '=', login.toLowerCase())
      .executeTakeFirst();
  }

  /** Reads and locks the row, so that a decision about it holds until the commit. */
  lock(trx: Trx, id: number): Promise<Account | undefined> {
    return activeAccounts(trx).where('id', '=', id).forUpdate().executeTakeFirst();
  }

  /** Ids of the enabled accounts with a role above `user`. */
  async listAdministrators(db: Executor = this.#database.kysely): Promise<readonly number[]> {
    const rows = await db
      .selectFrom('accounts')
      .select('id')
      .where('role', 'in', ['admin', 'root'])
      .where('status', '=', ENABLED)
      .where('removed_at', 'is', null)
      .orderBy('id')
      .execute();
    return rows.map((row) => row.id);
  }

  /** Ids of the root accounts that can log in, locked: two roots cannot lower each other at the same time. */
  async lockRoots(trx: Trx): Promise<readonly number[]> {
    const rows = await trx
      .selectFrom('accounts')
      .select('id')
      .where('role', '=', 'root')
      .where('status', '=', ENABLED)
      .where('removed_at', 'is', null)
      .orderBy('id')
      .forUpdate()
      .execute();
    return rows.map((row) => row.id);
  }

  /** Returns the id, or undefined where the user name or the login e-mail is taken. */
  async insert(trx: Trx, account: NewAccount): Promise<number | undefined> {
    const row = await trx
      .insertInto('accounts')
      .values({ ...account, status: ENABLED, removed_at: null })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    return row?.id;
  }

  /** Whether another account logs in by this e-mail. */
  async isLoginEmailTaken(db: Executor, email: string, exceptUserId = 0): Promise<boolean> {
    const row = await db
      .selectFrom('accounts')
      .select('id')
      .where('login_email', '=', email)
      .where('id', '!=', exceptUserId)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** The e-mail as its owner gave it, the one that counts for login, and when that was confirmed. */
  findEmail(id: number, db: Executor = this.#database.kysely) {
    return db
      .selectFrom('accounts')
      .select(['email', 'login_email', 'email_confirmed_at'])
      .where('id', '=', id)
      .where('removed_at', 'is', null)
      .executeTakeFirst();
  }

  /** Where mails of an account go; undefined where it is disabled or has confirmed no address. */
  async findMailRecipient(id: number, db: Executor = this.#database.kysely) {
    const row = await db
      .selectFrom('accounts')
      .select(['login_email', 'time_zone'])
      .where('id', '=', id)
      .where('status', '=', ENABLED)
      .where('removed_at', 'is', null)
      .where('email_confirmed_at', 'is not', null)
      .executeTakeFirst();
    return row?.login_email == null ? undefined : { email: row.login_email, timeZone: row.time_zone };
  }

  /** Takes a login e-mail away from another account that never confirmed it. */
  async releaseUnconfirmedEmail(trx: Trx, email: string, exceptUserId: number): Promise<void> {
    await trx
      .updateTable('accounts')
      .set({ login_email: null })
      .where('login_email', '=', email)
      .where('id', '!=', exceptUserId)
      .where('email_confirmed_at', 'is', null)
      .execute();
  }

  /** Returns false where the account is gone. */
  async update(trx: Trx, id: number, columns: AccountColumns): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('accounts')
        .set(columns)
        .where('id', '=', id)
        .where('removed_at', 'is', null)
        .executeTakeFirst(),
    );
  }

  /** Empties the row of everything personal and keeps its id, which ledger and tasks refer to. */
  async remove(trx: Trx, id: number, now: number): Promise<boolean> {
    const result = await trx
      .updateTable('accounts')

      .set({
        username: null,
        email: null,
        login_email: null,
        email_confirmed_at: null,
        display_name: '',
        status: DISABLED,
        removed_at: now,
      })
      .where('id', '=', id)
      .where('removed_at', 'is', null)
      .executeTakeFirst();
    if (!wasChanged(result)) return false;
    for (const table of PERSONAL_TABLES) await trx.deleteFrom(table).where('user_id', '=', id).execute();
    return true;
  }

  /** Newest first. */
  list(filter: AccountFilter, page: LongPage): Promise<LongListPage<Account>> {
    const { q, ids, role, status } = filter;
    const { kysely } = this.#database;
    const filtered = kysely
      .selectFrom('accounts')
      .where('removed_at', 'is', null)
      .$if(ids !== undefined, (query) => query.where('id', 'in', ids ?? []))
      .$if(role !== undefined, (query) => query.where('role', '=', role as Role))
      .$if(status !== undefined, (query) => query.where('status', '=', status as number))
      .$if(q !== undefined, (query) =>
        query.where((row) =>
          row.or(['username', 'email', 'display_name'].map((column) => containsText(column, q ?? ''))),
        ),
      );
    return readLargeListPage(kysely, filtered, 'id', page, (each) =>
      each.select(COLUMNS).select((row) => row.ref('username').$notNull().as('username')),
    );
  }

  /** The argon2id hash in PHC form, and whether the service made the password itself. */
  async findPassword(
    userId: number,
    db: Executor = this.#database.kysely,
  ): Promise<{ readonly hash: string; readonly generated: 0 | 1 } | undefined> {
    return db.selectFrom('passwords').select(['hash', 'generated']).where('user_id', '=', userId).executeTakeFirst();
  }

  /** @param generated the service drew the password at random and nobody chose it */
  async putPassword(trx: Trx, userId: number, hash: string, now: number, generated = false): Promise<void> {
    const values = { hash, changed_at: now, generated: generated ? (1 as const) : (0 as const) };
    await trx
      .insertInto('passwords')
      .values({ user_id: userId, ...values })
      .onConflict((conflict) => conflict.column('user_id').doUpdateSet(values))
      .execute();
  }

  /** Replaces a hash by one of the same password with today's cost; a password changed in the meantime wins. */
  async replacePasswordHash(userId: number, old: string, hash: string): Promise<void> {
    await this.#database.kysely
      .updateTable('passwords')
      .set({ hash })
      .where('user_id', '=', userId)
      .where('hash', '=', old)
      .execute();
  }

  /** Inserts the only row of `first_administrator`; true for exactly one caller, ever. */
  async claimFirstAdministrator(trx: Trx): Promise<boolean> {
    const result = await trx
      .insertInto('first_administrator')
      .values({ place: 1 })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    return wasChanged(result);
  }

  async hasFirstAdministrator(): Promise<boolean> {
    const row = await this.#database.kysely.selectFrom('first_administrator').select('place').executeTakeFirst();
    return row !== undefined;
  }

  /** IANA name of the zone whose midnight begins an account's day; UTC for deleted accounts. */
  async findTimeZone(userId: number, db: Executor = this.#database.kysely): Promise<string> {
    const row = await db.selectFrom('accounts').select('time_zone').where('id', '=', userId).executeTakeFirst();
    return row?.time_zone ?? 'UTC';
  }

  async setTimeZone(userId: number, timeZone: string): Promise<void> {
    await this.#database.kysely.updateTable('accounts').set({ time_zone: timeZone }).where('id', '=', userId).execute();
  }
}

/** Whether an account may act, and on which accounts; used by other capabilities. Disabled and deleted accounts are not found. */
export class AccountAccess {
  readonly #accounts: AccountStore;

  constructor(accounts: AccountStore) {
    this.#accounts = accounts;
  }

  async findEnabled(userId: number): Promise<Account | undefined> {
    return ifEnabled(await this.#accounts.find(userId));
  }

  /** Locks the account until the commit: a concurrent ban either precedes this transaction or sees its result. */
  async lockEnabled(trx: Trx, userId: number): Promise<Account | undefined> {
    return ifEnabled(await this.#accounts.lock(trx, userId));
  }

  /**
   * Called before an administrator changes what belongs to an account; locks that account until the commit. A disabled
   * account keeps its rank. What belonged to a deleted one may be changed by every administrator.
   *
   * @throws rank_too_low, also where the administrator has lost his own role in the meantime
   */
  async assertCanManage(trx: Trx, actorId: number, userId: number): Promise<void> {
    const account = await this.#accounts.lock(trx, userId);
    if (account === undefined) return;
    const actor = ifEnabled(await this.#accounts.find(actorId, trx));
    if (actor === undefined || !canManage(actor.role, account.role)) throw new AppError('rank_too_low');
  }

  /** Ids of the enabled accounts with a role above `user`. */
  listAdministrators(trx: Trx): Promise<readonly number[]> {
    return this.#accounts.listAdministrators(trx);
  }
}

const ifEnabled = (account: Account | undefined): Account | undefined =>
  account?.status === ENABLED ? account : undefined;
