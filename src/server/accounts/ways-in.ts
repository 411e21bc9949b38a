import type { Role } from '../../contract/account-fields.ts';
import { AppError } from '../platform/app-error.ts';
import type { Executor, Trx } from '../tables.ts';

interface WaysInDependencies {
  /** Whether accounts of a role may sign in with a password. */
  readonly isPasswordAllowed: (role: Role) => boolean;
  /** Host for which passkeys are valid; undefined: passkeys are off. */
  readonly rpId: string | undefined;
}

/** The account whose ways to sign in are counted. */
interface Owner {
  readonly id: number;
  readonly role: Role;
}

/** The credentials with which an account can sign in without the help of an administrator. */
export class WaysIn {
  readonly #dependencies: WaysInDependencies;

  constructor(dependencies: WaysInDependencies) {
    this.#dependencies = dependencies;
  }

  /** Whether the account has a password that is accepted. */
  async hasPassword({ id, role }: Owner, db: Executor): Promise<boolean> {
    if (!this.#dependencies.isPasswordAllowed(role)) return false;
    const row = await db.selectFrom('passwords').select('user_id').where('user_id', '=', id).executeTakeFirst();
    return row !== undefined;
  }

  /** Whether the account has a passkey for the present host. */
  async hasPasskey(userId: number, db: Executor): Promise<boolean> {
    const { rpId } = this.#dependencies;
    if (rpId === undefined) return false;
    const passkeys = db.selectFrom('passkeys').select('id').where('user_id', '=', userId).where('rp_id', '=', rpId);
    return (await passkeys.limit(1).executeTakeFirst()) !== undefined;
  }

  /**
   * Called after a way in was removed, in the same transaction and under the account's lock, so that two removals cannot
   * both leave the other's.
   *
   * @throws last_way_in, which rolls the removal back
   */
  async assertSomeLeft(trx: Trx, owner: Owner): Promise<void> {
    if (await this.hasPassword(owner, trx)) return;
    if (await this.hasPasskey(owner.id, trx)) return;
    throw new AppError('last_way_in');
  }
}
