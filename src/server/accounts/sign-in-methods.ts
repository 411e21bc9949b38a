import { AppError } from '../platform/app-error.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import type { Trx } from '../tables.ts';
import type { Account, AccountStore } from './account-store.ts';

/** Counts the methods of one kind by which an account can sign in. */
type CountMethods = (trx: Trx, account: Account) => Promise<number>;

interface SignInMethodsDependencies {
  readonly accounts: AccountStore;
  readonly settings: Live<Pick<SiteSettings, 'passwordSignIn'>>;
}

/** The ways into an account: its password, and those that other capabilities register. */
export class SignInMethods {
  readonly #accounts: AccountStore;
  readonly #settings: Live<Pick<SiteSettings, 'passwordSignIn'>>;
  readonly #counters: CountMethods[] = [];

  constructor({ accounts, settings }: SignInMethodsDependencies) {
    this.#accounts = accounts;
    this.#settings = settings;
  }

  register(count: CountMethods): void {
    this.#counters.push(count);
  }

  /** Whether `PASSWORD_SIGN_IN` lets this account use a password; root always may. */
  mayUsePassword({ role }: Pick<Account, 'role'>): boolean {
    return role === 'root' || this.#settings.current().passwordSignIn;
  }

  /** Whether the account has a password that it may use. */
  async hasPassword(account: Account, trx?: Trx): Promise<boolean> {
    return this.mayUsePassword(account) && (await this.#accounts.findPassword(account.id, trx)) !== undefined;
  }

  /**
   * Called in the transaction that removed a method and has locked the account. @throws last_sign_in_method if no other
   * is left
   */
  async assertSomeRemain(trx: Trx, account: Account): Promise<void> {
    if (await this.hasPassword(account, trx)) return;
    for (const count of this.#counters) if ((await count(trx, account)) > 0) return;
    throw new AppError('last_sign_in_method');
  }
}
