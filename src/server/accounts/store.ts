import type { Kysely } from 'kysely';
import type { Role } from '../../contract/roles.ts';
import type { Page } from '../../contract/schemas.ts';
import { containing } from '../platform/db/containing.ts';
import type { Tables } from '../tables.ts';

type Executor = Kysely<Tables>;

/** A person, as every rule sees them. Removed accounts are never read. */
export interface Account {
  readonly id: number;
  readonly username: string;
  readonly email: string | null;
  readonly display_name: string;
  readonly role: Role;
  readonly status: number;
  readonly created_at: number;
}

export const ENABLED = 1;
export const DISABLED = 2;

const COLUMNS = ['id', 'email', 'display_name', 'role', 'status', 'created_at'] as const;

const people = (db: Executor) =>
  db
    .selectFrom('accounts')
    .select(COLUMNS)
    .select((row) => row.ref('username').$notNull().as('username'))
    .where('removed_at', 'is', null);

export const findAccount = (db: Executor, id: number): Promise<Account | undefined> =>
  people(db).where('id', '=', id).executeTakeFirst();

/** By user name, or by e-mail where there is an at sign: user names have none. */
export const findByLogin = (db: Executor, login: string): Promise<Account | undefined> =>
  people(db)
    .where(login.includes('@') ? 'email' : 'username', '=', login.toLowerCase())
    .executeTakeFirst();

/** Reads and, on PostgreSQL, locks the row, so that a decision about it holds until the commit. */
export const lockAccount = (db: Executor, postgres: boolean, id: number): Promise<Account | undefined> =>
  people(db)
    .where('id', '=', id)
    .$if(postgres, (query) => query.forUpdate())
    .executeTakeFirst();

/** Ids of the enabled accounts with a role above `user`. */
export const listAdministrators = async (db: Executor): Promise<readonly number[]> => {
  const rows = await db
    .selectFrom('accounts')
    .select('id')
    .where('role', 'in', ['admin', 'root'])
    .where('status', '=', ENABLED)
    .where('removed_at', 'is', null)
    .orderBy('id')
    .execute();
  return rows.map((row) => row.id);
};

/** Ids of the root accounts that can log in, locked like `lockAccount`: two roots cannot lower each other at once. */
export const lockRoots = async (db: Executor, postgres: boolean): Promise<readonly number[]> => {
  const rows = await db
    .selectFrom('accounts')
    .select('id')
    .where('role', '=', 'root')
    .where('status', '=', ENABLED)
    .where('removed_at', 'is', null)
    .orderBy('id')
    .$if(postgres, (query) => query.forUpdate())
    .execute();
  return rows.map((row) => row.id);
};

export interface NewAccount {
  readonly username: string;
  readonly email: string | null;
  readonly display_name: string;
  readonly role: Role;
  readonly created_at: number;
}

/** Answers the id, or undefined where the user name or the e-mail is taken. */
export async function insertAccount(db: Executor, account: NewAccount): Promise<number | undefined> {
  const row = await db
    .insertInto('accounts')
    .values({ ...account, status: ENABLED, removed_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  return row?.id;
}

export const emailInUse = async (db: Executor, email: string, butOf = 0): Promise<boolean> =>
  (await db
    .selectFrom('accounts')
    .select('id')
    .where('email', '=', email)
    .where('id', '!=', butOf)
    .executeTakeFirst()) !== undefined;

/** Answers whether the account is still there. */
export async function updateAccount(
  db: Executor,
  id: number,
  change: Partial<Pick<Account, 'username' | 'email' | 'display_name' | 'role' | 'status'>>,
): Promise<boolean> {
  const result = await db
    .updateTable('accounts')
    .set(change)
    .where('id', '=', id)
    .where('removed_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Empties the row of everything personal and keeps its id, which the ledger and the tasks go on naming. */
export async function removeAccount(db: Executor, id: number, now: number): Promise<boolean> {
  const result = await db
    .updateTable('accounts')
    .set({ username: null, email: null, display_name: '', status: DISABLED, removed_at: now })
    .where('id', '=', id)
    .where('removed_at', 'is', null)
    .executeTakeFirst();
  if (result.numUpdatedRows !== 1n) return false;
  for (const table of ['passwords', 'user_tokens', 'two_factors', 'backup_codes', 'bindings', 'phone_codes'] as const) {
    await db.deleteFrom(table).where('user_id', '=', id).execute();
  }
  return true;
}

export const findPassword = async (db: Executor, userId: number): Promise<string | undefined> =>
  (await db.selectFrom('passwords').select('hash').where('user_id', '=', userId).executeTakeFirst())?.hash;

export const putPassword = (db: Executor, userId: number, hash: string, now: number): Promise<unknown> =>
  db
    .insertInto('passwords')
    .values({ user_id: userId, hash, changed_at: now })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ hash, changed_at: now }))
    .execute();

/** Replaces a hash by one of the same password with today's cost; a password changed meanwhile wins. */
export const replaceHash = (db: Executor, userId: number, old: string, hash: string): Promise<unknown> =>
  db.updateTable('passwords').set({ hash }).where('user_id', '=', userId).where('hash', '=', old).execute();

/** Takes the one place of the first administrator; answers false to all but one caller, ever. */
export async function takeFirstPlace(db: Executor): Promise<boolean> {
  const result = await db
    .insertInto('first_administrator')
    .values({ place: 1 })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

export const hasFirstAdministrator = async (db: Executor): Promise<boolean> =>
  (await db.selectFrom('first_administrator').select('place').executeTakeFirst()) !== undefined;

export interface AccountFilter {
  readonly q?: string;
  readonly ids?: readonly number[];
  readonly role?: Role;
  readonly status?: number;
}

/** Newest first. */
export async function listAccounts(
  db: Executor,
  filter: AccountFilter,
  page: Page,
): Promise<{ rows: Account[]; total: number }> {
  const { q, ids, role, status } = filter;
  const matching = db
    .selectFrom('accounts')
    .where('removed_at', 'is', null)
    .$if(ids !== undefined, (query) => query.where('id', 'in', ids ?? []))
    .$if(role !== undefined, (query) => query.where('role', '=', role as Role))
    .$if(status !== undefined, (query) => query.where('status', '=', status as number))
    .$if(q !== undefined, (query) =>
      query.where((row) => row.or(['username', 'email', 'display_name'].map((column) => containing(column, q ?? '')))),
    );
  const [rows, count] = await Promise.all([
    matching
      .select(COLUMNS)
      .select((row) => row.ref('username').$notNull().as('username'))
      .orderBy('id', 'desc')
      .limit(page.pageSize)
      .offset(page.offset)
      .execute(),
    matching.select((row) => row.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ]);
  return { rows, total: Number(count.total) };
}

/** IANA name of the zone whose midnight begins an account's day; UTC for whoever is gone. */
export const findTimeZone = async (db: Executor, userId: number): Promise<string> =>
  (await db.selectFrom('accounts').select('time_zone').where('id', '=', userId).executeTakeFirst())?.time_zone ?? 'UTC';

export const setTimeZone = (db: Executor, userId: number, timeZone: string): Promise<unknown> =>
  db.updateTable('accounts').set({ time_zone: timeZone }).where('id', '=', userId).execute();
