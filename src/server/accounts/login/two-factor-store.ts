import type { Database } from '../../platform/db/database.ts';
import { wasChanged } from '../../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../../tables.ts';

export interface TwoFactorRow {
  /** Sealed. */
  readonly secret: string;
  readonly last_step: number;
  /** Null while it is only set up. */
  readonly enabled_at: number | null;
}

/** SQL of `two_factors` and `backup_codes`. */
export class TwoFactorStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  find(userId: number, db: Executor = this.#database.kysely): Promise<TwoFactorRow | undefined> {
    return db
      .selectFrom('two_factors')
      .select(['secret', 'last_step', 'enabled_at'])
      .where('user_id', '=', userId)
      .executeTakeFirst();
  }

  /** Stores a new secret in place of one that was never enabled; false where two-step is on. */
  async putSecret(userId: number, secret: string): Promise<boolean> {
    return wasChanged(
      await this.#database.kysely
        .insertInto('two_factors')
        .values({ user_id: userId, secret, last_step: 0, enabled_at: null })
        .onConflict((conflict) =>
          conflict.column('user_id').doUpdateSet({ secret, last_step: 0 }).where('two_factors.enabled_at', 'is', null),
        )
        .executeTakeFirst(),
    );
  }

  /** Enables the secret whose code was checked; true for exactly one of several concurrent callers. */
  async enable(trx: Trx, userId: number, secret: string, step: number, now: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('two_factors')
        .set({ enabled_at: now, last_step: step })
        .where('user_id', '=', userId)
        .where('secret', '=', secret)
        .where('enabled_at', 'is', null)
        .executeTakeFirst(),
    );
  }

  /** Accepts a TOTP step only when it is newer than every one before; true for exactly one of several concurrent callers. */
  async consumeTotpStep(trx: Trx, userId: number, secret: string, step: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('two_factors')
        .set({ last_step: step })
        .where('user_id', '=', userId)
        .where('secret', '=', secret)
        .where('last_step', '<', step)
        .where('enabled_at', 'is not', null)
        .executeTakeFirst(),
    );
  }

  /** Uses a backup code up; true for exactly one of several concurrent callers. */
  async consumeBackupCode(trx: Trx, userId: number, hash: string): Promise<boolean> {
    return wasChanged(
      await trx.deleteFrom('backup_codes').where('user_id', '=', userId).where('hash', '=', hash).executeTakeFirst(),
    );
  }

  async replaceBackupCodes(trx: Trx, userId: number, hashes: readonly string[]): Promise<void> {
    await trx.deleteFrom('backup_codes').where('user_id', '=', userId).execute();
    await trx
      .insertInto('backup_codes')
      .values(hashes.map((hash) => ({ user_id: userId, hash })))
      .execute();
  }

  /** Removes secret and backup codes; false where two-step was off. */
  async disable(trx: Trx, userId: number): Promise<boolean> {
    const result = await trx
      .deleteFrom('two_factors')
      .where('user_id', '=', userId)
      .where('enabled_at', 'is not', null)
      .executeTakeFirst();
    await trx.deleteFrom('backup_codes').where('user_id', '=', userId).execute();
    return wasChanged(result);
  }

  /** Which of the accounts have two-step on. */
  async findUsersWithTwoFactor(userIds: readonly number[]): Promise<ReadonlySet<number>> {
    if (userIds.length === 0) return new Set();
    const rows = await this.#database.kysely
      .selectFrom('two_factors')
      .select('user_id')
      .where('user_id', 'in', [...userIds])
      .where('enabled_at', 'is not', null)
      .execute();
    return new Set(rows.map((row) => row.user_id));
  }
}
