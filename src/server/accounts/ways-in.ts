import type { Role } from '../../contract/account-fields.ts';
import { AppError } from '../platform/app-error.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import type { Executor, Trx } from '../tables.ts';

interface WaysInDependencies {
  readonly settings: Live<Pick<SiteSettings, 'passwordSignIn'>>;
  /** Host for which passkeys are valid; undefined: passkeys are off. */
  readonly rpId: string | undefined;
}

/** The account whose ways to sign in are counted. */
interface Owner {
  readonly id: number;
  readonly role: Role;
}

/** Whether an account has a way in of one kind. */
type HasWayIn = (db: Executor, owner: Owner) => Promise<boolean>;

/** The credentials with which an account can sign in without the help of an administrator. */
export class WaysIn {
  readonly #dependencies: WaysInDependencies;
  readonly #others: HasWayIn[] = [];

  constructor(dependencies: WaysInDependencies) {
    this.#dependencies = dependencies;
  }

  /** Adds a kind of credential of another capability. */
  register(hasWayIn: HasWayIn): void {
    this.#others.push(hasWayIn);
  }

  /** Whether `PASSWORD_SIGN_IN` lets accounts of this role use a password; root always may. */
  isPasswordAllowed(role: Role): boolean {
    return role === 'root' || this.#dependencies.settings.current().passwordSignIn;
  }

  /** Whether the account has a password that is accepted. */
  async hasPassword({ id, role }: Owner, db: Executor): Promise<boolean> {
    if (!this.isPasswordAllowed(role)) return false;
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
    for (const hasWayIn of this.#others) if (await hasWayIn(trx, owner)) return;
    throw new AppError('last_way_in');
  }
}
