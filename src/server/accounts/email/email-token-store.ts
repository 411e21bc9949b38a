import type { Selectable } from 'kysely';
import type { Database } from '../../platform/db/database.ts';
import type { Executor, Tables, Trx } from '../../tables.ts';

export type EmailToken = Selectable<Tables['email_tokens']>;
export type EmailTokenPurpose = EmailToken['purpose'];

/** SQL of `email_tokens`: links that were mailed or passed on, by the SHA-256 of their token. */
export class EmailTokenStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(token: EmailToken, db: Executor = this.#database.kysely): Promise<void> {
    await db.insertInto('email_tokens').values(token).execute();
  }

  find(hash: string, purpose: EmailTokenPurpose, now: number): Promise<EmailToken | undefined> {
    return validTokens(this.#database.kysely, hash, purpose, now).executeTakeFirst();
  }

  /** Uses a token up: exactly one of several concurrent callers gets it. */
  consume(trx: Trx, hash: string, purpose: EmailTokenPurpose, now: number): Promise<EmailToken | undefined> {
    return trx
      .deleteFrom('email_tokens')
      .where('hash', '=', hash)
      .where('purpose', '=', purpose)
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst();
  }

  async deleteOfUser(trx: Trx, userId: number, purpose: EmailTokenPurpose): Promise<void> {
    await trx.deleteFrom('email_tokens').where('user_id', '=', userId).where('purpose', '=', purpose).execute();
  }

  async deleteExpired(now: number): Promise<void> {
    await this.#database.kysely.deleteFrom('email_tokens').where('expires_at', '<=', now).execute();
  }
}

const validTokens = (db: Executor, hash: string, purpose: EmailTokenPurpose, now: number) =>
  db
    .selectFrom('email_tokens')
    .selectAll()
    .where('hash', '=', hash)
    .where('purpose', '=', purpose)
    .where('expires_at', '>', now);
