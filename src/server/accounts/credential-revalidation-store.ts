import { ENABLED } from '../../contract/account-fields.ts';
import type { Role } from '../../contract/roles.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';

/** A credential that still works, with the account it belongs to and that account's role now. */
export interface ValidCredential {
  readonly id: number | string;
  readonly userId: number;
  readonly role: Role;
}

/** Identifiers per query; SQLite and PostgreSQL both take many more parameters than this. */
const BATCH = 500;

/** SQL that finds, for many credentials at once, which of them are still valid. Every query goes by primary key or unique index. */
export class CredentialRevalidationStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Sessions by id that have not ended, of enabled accounts. */
  sessions(ids: readonly number[], now: number): Promise<ValidCredential[]> {
    return inBatches(ids, (batch) =>
      this.#database.kysely
        .selectFrom('sessions')
        .innerJoin('accounts', 'accounts.id', 'sessions.user_id')
        .select(['sessions.id', 'sessions.user_id as userId', 'accounts.role'])
        .where('sessions.id', 'in', batch)
        .where('sessions.expires_at', '>', now)
        .where('accounts.status', '=', ENABLED)
        .execute(),
    );
  }

  /** Management tokens by their SHA-256. */
  userTokens(hashes: readonly string[]): Promise<ValidCredential[]> {
    return inBatches(hashes, (batch) =>
      this.#database.kysely
        .selectFrom('user_tokens')
        .innerJoin('accounts', 'accounts.id', 'user_tokens.user_id')
        .select(['user_tokens.hash as id', 'user_tokens.user_id as userId', 'accounts.role'])
        .where('user_tokens.hash', 'in', batch)
        .where('accounts.status', '=', ENABLED)
        .execute(),
    );
  }

  /** Device sign-ins by id whose access_token has not expired. */
  devices(ids: readonly number[], now: number): Promise<ValidCredential[]> {
    return inBatches(ids, (batch) =>
      this.#database.kysely
        .selectFrom('device_authorizations')
        .innerJoin('accounts', 'accounts.id', 'device_authorizations.user_id')
        .select(['device_authorizations.id', 'device_authorizations.user_id as userId', 'accounts.role'])
        .where('device_authorizations.id', 'in', batch)
        .where('device_authorizations.access_expires_at', '>', now)
        .where('accounts.status', '=', ENABLED)
        .execute(),
    );
  }

  /** `sk-` keys and llm_tokens by id that are neither revoked nor expired. */
  modelTokens(ids: readonly number[], now: number): Promise<ValidCredential[]> {
    return inBatches(ids, (batch) =>
      this.#database.kysely
        .selectFrom('tokens')
        .innerJoin('accounts', 'accounts.id', 'tokens.user_id')
        .select(['tokens.id', 'tokens.user_id as userId', 'accounts.role'])
        .where('tokens.id', 'in', batch)
        .where('tokens.revoked_at', 'is', null)
        .where((eb) => eb.or([eb('tokens.expires_at', 'is', null), eb('tokens.expires_at', '>', now)]))
        .where('accounts.status', '=', ENABLED)
        .execute(),
    );
  }

  /** The SHA-256 of an account's management token; an account has one at most. */
  async userTokenHash(userId: number): Promise<string | undefined> {
    const row = await this.#database.kysely
      .selectFrom('user_tokens')
      .select('hash')
      .where('user_id', '=', userId)
      .executeTakeFirst();
    return row?.hash;
  }
}

async function inBatches<Id>(
  ids: readonly Id[],
  find: (batch: readonly Id[]) => Promise<ValidCredential[]>,
): Promise<ValidCredential[]> {
  const found: ValidCredential[] = [];
  for (let start = 0; start < ids.length; start += BATCH) found.push(...(await find(ids.slice(start, start + BATCH))));
  return found;
}
