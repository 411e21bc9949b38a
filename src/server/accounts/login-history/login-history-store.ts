import { type Insertable, type Selectable, sql } from 'kysely';
import type { LongListPage, LongPage } from '../../../contract/large-list-pagination.ts';
import type { Role } from '../../../contract/roles.ts';
import type { Database } from '../../platform/db/database.ts';
import { deleteOldRows, type OldRows, readLargeListPage } from '../../platform/db/sql.ts';
import type { Executor, Tables } from '../../tables.ts';

export type LoginAttemptRow = Selectable<Tables['login_history']>;
export type NewLoginAttempt = Insertable<Tables['login_history']>;

export interface LoginFilter {
  readonly userId?: number | undefined;
  /** Only of accounts with one of these roles. */
  readonly roles?: readonly Role[] | undefined;
  readonly failed?: boolean | undefined;
}

const ATTEMPTS: OldRows = { table: 'login_history', key: 'id', time: 'created_at', keysAscendWithTime: true };

/** SQL of `login_history`. */
export class LoginHistoryStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(attempts: readonly NewLoginAttempt[], db: Executor = this.#database.kysely): Promise<void> {
    await db.insertInto('login_history').values(attempts).execute();
  }

  /** Newest first. */
  list({ userId, roles, failed }: LoginFilter, page: LongPage): Promise<LongListPage<LoginAttemptRow>> {
    const { kysely } = this.#database;
    let filtered = kysely.selectFrom('login_history');
    if (userId !== undefined) filtered = filtered.where('user_id', '=', userId);
    // A literal, as the index of failed attempts has it: SQLite does not use the index for a parameter.
    if (failed === true) filtered = filtered.where('outcome', '!=', sql.lit('success'));
    if (roles !== undefined)
      filtered = filtered.where((row) =>
        row.exists(
          row
            .selectFrom('accounts')
            .select('accounts.id')
            .whereRef('accounts.id', '=', 'login_history.user_id')
            .where('accounts.role', 'in', [...roles]),
        ),
      );
    return readLargeListPage(kysely, filtered, 'id', page, (each) => each.selectAll());
  }

  /** Deletes at most `limit` of the attempts made before a time. @returns how many */
  deleteBefore(before: number, limit: number): Promise<number> {
    return deleteOldRows(this.#database.kysely, ATTEMPTS, before, limit);
  }
}
