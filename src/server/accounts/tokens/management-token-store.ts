import type { Role } from '../../../contract/roles.ts';
import type { Database } from '../../platform/db/database.ts';
import { prepareQuery } from '../../platform/db/prepared-query.ts';
import type { Executor, Tables, Trx } from '../../tables.ts';

const tokenByHash = prepareQuery<Tables, { hash: string }>()((db, p) =>
  db
    .selectFrom('user_tokens')
    .innerJoin('accounts', 'accounts.id', 'user_tokens.user_id')
    .select(['user_tokens.user_id', 'accounts.role', 'accounts.status'])
    .where('user_tokens.hash', '=', p('hash')),
);

/** SQL of `user_tokens`: the management access token, one for each account. */
export class ManagementTokenStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** The account of a token, with its role and status now. */
  findByHash(
    hash: string,
  ): Promise<{ readonly user_id: number; readonly role: Role; readonly status: number } | undefined> {
    return tokenByHash.first(this.#database.kysely, { hash });
  }

  /** When a token that was not replaced or deleted was made (Unix milliseconds). */
  findStart(hash: string, db: Executor = this.#database.kysely): Promise<{ readonly created_at: number } | undefined> {
    return db.selectFrom('user_tokens').select('created_at').where('hash', '=', hash).executeTakeFirst();
  }

  /** Replaces the account's token. */
  async put(trx: Trx, userId: number, hash: string, now: number): Promise<void> {
    await trx
      .insertInto('user_tokens')
      .values({ user_id: userId, hash, created_at: now })
      .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ hash, created_at: now }))
      .execute();
  }

  async deleteOfUser(trx: Trx, userId: number): Promise<void> {
    await trx.deleteFrom('user_tokens').where('user_id', '=', userId).execute();
  }
}
