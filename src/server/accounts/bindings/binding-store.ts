import type { Database } from '../../platform/db/database.ts';
import { wasChanged } from '../../platform/db/sql.ts';
import type { Tables, Trx } from '../../tables.ts';

export type BindingKind = 'phone' | 'messaging';

export interface PhoneCode {
  readonly user_id: number;
  readonly phone: string;
  /** Sealed. */
  readonly code: string;
  readonly expires_at: number;
}

/** SQL of `bindings` and `phone_codes`. */
export class BindingStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** The kinds that each of the accounts has bound. Accounts without a binding are absent. */
  async find(userIds: readonly number[]): Promise<ReadonlyMap<number, ReadonlySet<BindingKind>>> {
    const found = new Map<number, Set<BindingKind>>();
    if (userIds.length === 0) return found;
    const rows = await this.#database.kysely
      .selectFrom('bindings')
      .select(['user_id', 'kind'])
      .where('user_id', 'in', [...userIds])
      .execute();
    for (const { user_id, kind } of rows) found.set(user_id, (found.get(user_id) ?? new Set()).add(kind));
    return found;
  }

  /** Binds in place of what was bound before; false where another account has the value. */
  async put(trx: Trx, userId: number, kind: BindingKind, value: string, now: number): Promise<boolean> {
    await trx.deleteFrom('bindings').where('user_id', '=', userId).where('kind', '=', kind).execute();
    return wasChanged(
      await trx
        .insertInto('bindings')
        .values({ user_id: userId, kind, value, created_at: now })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst(),
    );
  }

  async deleteOfUser(trx: Trx, userId: number): Promise<void> {
    await trx.deleteFrom('bindings').where('user_id', '=', userId).execute();
    await trx.deleteFrom('phone_codes').where('user_id', '=', userId).execute();
  }

  /** Replaces the account's code: only the newest is valid. */
  async putPhoneCode(code: PhoneCode): Promise<void> {
    await this.#database.kysely
      .insertInto('phone_codes')
      .values({ ...code, wrong: 0 })
      .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ ...code, wrong: 0 }))
      .execute();
  }

  /**
   * Counts one attempt before its code is checked.
   *
   * @returns undefined where no code is valid for that phone, or its attempts are used up
   */
  countPhoneAttempt(userId: number, phone: string, maxAttempts: number, now: number) {
    return this.#database.kysely
      .updateTable('phone_codes')
      .set((row) => ({ wrong: row('wrong', '+', 1) }))
      .where('user_id', '=', userId)
      .where('phone', '=', phone)
      .where('wrong', '<', maxAttempts)
      .where('expires_at', '>', now)
      .returning('code')
      .executeTakeFirst();
  }

  /** Deletes a code; true for exactly one of several concurrent callers. */
  async consumePhoneCode(trx: Trx, userId: number, code: string): Promise<boolean> {
    return wasChanged(
      await trx.deleteFrom('phone_codes').where('user_id', '=', userId).where('code', '=', code).executeTakeFirst(),
    );
  }
}
