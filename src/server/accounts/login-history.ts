import { type Insertable, type Selectable, sql } from 'kysely';
import { canManage, ROLES, type Role } from '../../contract/account-fields.ts';
import type { LoginOutcomeName } from '../../contract/logins.ts';
import type { LongListPage, LongPage } from '../../contract/responses.ts';
import type { Clock } from '../platform/clock.ts';
import { PeriodicWriter } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import { deleteOldRows, type OldRows, readLargeListPage } from '../platform/db/sql.ts';
import type { LoginClient } from '../platform/http/route-registry.ts';
import type { Log } from '../platform/log.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

const MAX_ADDRESS_LENGTH = 64;
const MAX_USER_AGENT_LENGTH = 300;

/** One login attempt to record. */
export interface LoginAttempt {
  readonly userId: number;
  /** Whether the login required a second step. */
  readonly twoStep: boolean;
  /** Whether the account has logged in from this source before. */
  readonly isKnownSource: boolean;
  readonly client: LoginClient;
}

interface LoginHistoryDependencies {
  readonly store: LoginHistoryStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** Successful and failed logins of each account, with their sources. */
export class LoginHistory {
  readonly #store: LoginHistoryStore;
  readonly #clock: Clock;
  readonly #failures: PeriodicWriter<NewLoginAttempt>;
  #failureCount = 0;

  constructor({ store, clock, log }: LoginHistoryDependencies) {
    this.#store = store;
    this.#clock = clock;
    this.#failures = new PeriodicWriter<NewLoginAttempt>({
      log,
      subject: 'failed logins',
      write: (batch) => store.insert([...batch.values()]),
    });
  }

  /** Records a success in the transaction that creates the session. */
  async recordSuccess(trx: Trx, attempt: LoginAttempt): Promise<void> {
    await this.#store.insert([this.#toRow(attempt, 'success')], trx);
  }

  /**
   * Queues a failure to be written later: a synchronous write for existing accounts only would reveal by its time which
   * accounts exist.
   */
  recordFailure(attempt: LoginAttempt, outcome: Exclude<LoginOutcomeName, 'success'>): void {
    this.#failureCount += 1;
    this.#failures.record(this.#failureCount, this.#toRow(attempt, outcome));
  }

  /** Attempts at one account, newest first. */
  async listOwn(userId: number, failed: boolean, page: LongPage): Promise<LongListPage<LoginAttemptRow>> {
    await this.#failures.flush();
    return this.#store.list({ userId, failed }, page);
  }

  /** Attempts at accounts this role manages. Addresses of equals and superiors are not shown. */
  async listManaged(role: Role, filter: LoginFilter, page: LongPage): Promise<LongListPage<LoginAttemptRow>> {
    await this.#failures.flush();
    const managed = ROLES.filter((each) => canManage(role, each));
    return this.#store.list({ ...filter, roles: managed.length === ROLES.length ? undefined : managed }, page);
  }

  /** Flushes pending writes and stops. */
  close(): Promise<void> {
    return this.#failures.close();
  }

  #toRow({ userId, twoStep, isKnownSource, client }: LoginAttempt, outcome: LoginOutcomeName): NewLoginAttempt {
    return {
      user_id: userId,
      outcome,
      two_step: twoStep ? 1 : 0,
      known_source: isKnownSource ? 1 : 0,
      address: client.address.slice(0, MAX_ADDRESS_LENGTH),
      user_agent: client.userAgent.slice(0, MAX_USER_AGENT_LENGTH),
      created_at: this.#clock.now(),
    };
  }
}

/** A row of the login history. */
export type LoginAttemptRow = Selectable<Tables['login_history']>;
type NewLoginAttempt = Insertable<Tables['login_history']>;

interface LoginFilter {
  readonly userId?: number;
  /** Restricts the list to accounts with one of these roles. */
  readonly roles?: readonly Role[];
  readonly failed?: boolean;
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
    // A literal that matches the partial index of failed attempts: SQLite does not use that index with a parameter.
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

  /** Deletes at most `limit` attempts made before a time. @returns the number of deleted attempts */
  deleteBefore(before: number, limit: number): Promise<number> {
    return deleteOldRows(this.#database.kysely, ATTEMPTS, before, limit);
  }
}
