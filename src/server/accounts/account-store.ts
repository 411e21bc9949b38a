import { sql } from 'kysely';
import { canManage, DISABLED, ENABLED, type Role } from '../../contract/account-fields.ts';
import type { LongListPage, LongPage } from '../../contract/responses.ts';
import { AppError } from '../platform/app-error.ts';
import type { Database } from '../platform/db/database.ts';
import { containsText, prepareQuery, readLargeListPage, wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

/** An account as the rest of the code sees it. Queries never return deleted accounts. */
export interface Account {
  readonly id: number;
  readonly username: string;
  readonly email: string | null;
  readonly display_name: string;
  readonly role: Role;
  /** `organization`: cannot sign in; see `Tables.accounts`. */
  readonly kind: 'person' | 'organization';
  /** `ENABLED` or `DISABLED`. */
  readonly status: number;
  /** Videos in progress at once; null: as many as the plan permits. */
  readonly concurrent_tasks: number | null;
  /** Videos that may wait; null: as many as the plan permits. */
  readonly queued_tasks: number | null;
  /** Unix milliseconds. */
  readonly created_at: number;
}

/** The columns of an account to insert. */
export interface NewAccount {
  readonly username: string;
  readonly email: string | null;
  /** The e-mail if it counts for login, null otherwise. */
  readonly login_email: string | null;
  /** When the login e-mail was confirmed by mail or vouched for by an administrator, Unix milliseconds; null: never. */
  readonly email_confirmed_at: number | null;
  readonly display_name: string;
  readonly role: Role;
  /** Default: `person`. */
  readonly kind?: 'person' | 'organization';
  readonly created_at: number;
}

/** Columns of an account that no e-mail logs in to. */
export const NO_LOGIN_EMAIL = { login_email: null, email_confirmed_at: null } as const;

/** The columns an update may change. */
export type AccountColumns = Partial<
  Pick<Account, 'username' | 'email' | 'display_name' | 'role' | 'status' | 'concurrent_tasks' | 'queued_tasks'> &
    Pick<NewAccount, 'login_email' | 'email_confirmed_at'>
>;

/** Filters of the administrators' account list. */
export interface AccountFilter {
  /** Substring of the user name, e-mail or display name. */
  readonly q?: string;
  readonly ids?: readonly number[];
  readonly role?: Role;
  readonly status?: number;
}

/** Tables whose rows are deleted along with an account: its credentials and personal data. */
const PERSONAL_TABLES = [
  'passwords',
  'user_tokens',
  'two_factors',
  'backup_codes',
  'passkeys',
  'passkey_users',
  'bindings',
  'phone_codes',
  'known_login_sources',
  'login_history',
  'email_tokens',
  'webhook_endpoints',
  'webhook_account_secrets',
  'webhook_deliveries',
  'budgets',
  'identities',
  'identity_sessions',
  'organization_members',
] as const;

const COLUMNS = [
  'id',
  'email',
  'display_name',
  'role',
  'kind',
  'status',
  'concurrent_tasks',
  'queued_tasks',
  'created_at',
] as const;

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

  /** Current role and status, for credentials stored elsewhere. */
  findAccess(id: number): Promise<{ readonly role: Role; readonly status: number } | undefined> {
    return accessById.first(this.#database.kysely, { id });
  }

  /** Looks an account up by e-mail if the text contains an at sign, which user names never do, else by user name. */
  findByLogin(login: string, db: Executor = this.#database.kysely): Promise<Account | undefined> {
    return activeAccounts(db)
      .where(login.includes('@') ? 'login_email' : 'username', '=', login.toLowerCase())
      .where('kind', '=', 'person')
      .executeTakeFirst();
  }

  /** Reads and locks the row, so that a decision based on it holds until the commit. */
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

  /** Ids of the root accounts that can log in, locked so that two roots cannot demote each other at the same time. */
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

  /** Returns the id, or undefined if the user name or the login e-mail is taken. */
  async insert(trx: Trx, account: NewAccount): Promise<number | undefined> {
    const row = await trx
      .insertInto('accounts')
      .values({ ...account, status: ENABLED, removed_at: null })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    return row?.id;
  }

  /** Whether another account uses this e-mail for login. */
  async isLoginEmailTaken(db: Executor, email: string, exceptUserId = 0): Promise<boolean> {
    const row = await db
      .selectFrom('accounts')
      .select('id')
      .where('login_email', '=', email)
      .where('id', '!=', exceptUserId)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** The e-mail as the owner entered it, the e-mail that counts for login, and when the latter was confirmed. */
  findEmail(id: number, db: Executor = this.#database.kysely) {
    return db
      .selectFrom('accounts')
      .select(['email', 'login_email', 'email_confirmed_at'])
      .where('id', '=', id)
      .where('removed_at', 'is', null)
      .executeTakeFirst();
  }

  /** The address for an account's mails; undefined if the account is disabled or has no confirmed address. */
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

  /** Removes a login e-mail from another account that never confirmed it. */
  async releaseUnconfirmedEmail(trx: Trx, email: string, exceptUserId: number): Promise<void> {
    await trx
      .updateTable('accounts')
      .set({ login_email: null })
      .where('login_email', '=', email)
      .where('id', '!=', exceptUserId)
      .where('email_confirmed_at', 'is', null)
      .execute();
  }

  /** Returns false if the account no longer exists. */
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

  /**
   * Clears all personal data from the row but keeps its id, which ledger entries and tasks reference, and ends the
   * account's plans. The name of an organization stays taken: claims of identity providers may still grant memberships by
   * its slug.
   */
  async remove(trx: Trx, id: number, now: number): Promise<boolean> {
    const result = await trx
      .updateTable('accounts')
      .set({
        username: sql`case when kind = 'organization' then username end`,
        email: null,
        ...NO_LOGIN_EMAIL,
        display_name: '',
        status: DISABLED,
        removed_at: now,
      })
      .where('id', '=', id)
      .where('removed_at', 'is', null)
      .executeTakeFirst();
    if (!wasChanged(result)) return false;
    for (const table of PERSONAL_TABLES) await trx.deleteFrom(table).where('user_id', '=', id).execute();
    // An open subscription prevents the deletion of its plan, and those of a deleted account could not be ended later.
    await trx
      .updateTable('subscriptions')
      .set({ state: 'ended' })
      .where('user_id', '=', id)
      .where('state', '<>', 'ended')
      .execute();
    return true;
  }

  /** Newest first. */
  list(filter: AccountFilter, page: LongPage): Promise<LongListPage<Account>> {
    const { q, ids, role, status } = filter;
    const { kysely } = this.#database;
    const filtered = kysely
      .selectFrom('accounts')
      .where('removed_at', 'is', null)
      .where('kind', '=', 'person')
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

  /** Whether accounts were imported from another program, whose password hashes are of another kind. */
  async hasImported(): Promise<boolean> {
    const imports = this.#database.kysely.selectFrom('imports').select('id').where('state', '<>', 'undone');
    return (await imports.limit(1).executeTakeFirst()) !== undefined;
  }

  /** The argon2id hash in PHC form, and whether the service generated the password. */
  async findPassword(
    userId: number,
    db: Executor = this.#database.kysely,
  ): Promise<{ readonly hash: string; readonly generated: 0 | 1 } | undefined> {
    return db.selectFrom('passwords').select(['hash', 'generated']).where('user_id', '=', userId).executeTakeFirst();
  }

  /**
   * Sets a password and voids what could still replace it: links to reset it, and a new e-mail that is not confirmed,
   * which an intruder with the old password may have entered.
   *
   * @param generated whether the service drew the password at random instead of a person choosing it
   */
  async putPassword(trx: Trx, userId: number, hash: string, now: number, generated = false): Promise<void> {
    const values = { hash, changed_at: now, generated: generated ? (1 as const) : (0 as const) };
    await trx
      .insertInto('passwords')
      .values({ user_id: userId, ...values })
      .onConflict((conflict) => conflict.column('user_id').doUpdateSet(values))
      .execute();
    await trx.deleteFrom('email_tokens').where('user_id', '=', userId).where('purpose', '=', 'reset').execute();
    await trx
      .updateTable('accounts')
      .set((row) => ({ email: row.ref('login_email') }))
      .where('id', '=', userId)
      .where('email_confirmed_at', 'is not', null)
      .execute();
  }

  /** Replaces a hash by one of the same password at the current cost; returns false if it was replaced since. */
  async replacePasswordHash(userId: number, old: string, hash: string): Promise<boolean> {
    return wasChanged(
      await this.#database.kysely
        .updateTable('passwords')
        .set({ hash })
        .where('user_id', '=', userId)
        .where('hash', '=', old)
        .executeTakeFirst(),
    );
  }

  /**
   * Inserts the only row of `first_administrator`; returns true for exactly one caller over the database's lifetime.
   */
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

  /** IANA name of the time zone that defines an account's days; UTC for deleted accounts. */
  async findTimeZone(userId: number, db: Executor = this.#database.kysely): Promise<string> {
    const row = await db.selectFrom('accounts').select('time_zone').where('id', '=', userId).executeTakeFirst();
    return row?.time_zone ?? 'UTC';
  }

  async setTimeZone(userId: number, timeZone: string): Promise<void> {
    await this.#database.kysely.updateTable('accounts').set({ time_zone: timeZone }).where('id', '=', userId).execute();
  }
}

/**
 * Tells other capabilities whether an account may act, and on which accounts. Disabled and deleted accounts are not
 * found.
 */
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
   * Called before an administrator changes data of another account; locks that account until the commit. A disabled
   * account keeps its rank. Every administrator may change data of a deleted account.
   *
   * @throws rank_too_low, also if the administrator has since lost the role
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
