import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { randomText } from '../platform/tokens.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import type { AccountStore } from './account-store.ts';
import type { PasswordHasher } from './passwords.ts';

/** 20 characters are 119 bits of entropy. */
export const GENERATED_PASSWORD_LENGTH = 20;

interface FirstAdministratorDependencies {
  readonly database: Database<Tables>;
  readonly accounts: AccountStore;
  readonly clock: Clock;
  readonly passwords: PasswordHasher;
  readonly ledger: Ledger;
  readonly username: string;
  /** Undefined: a random password is generated and printed once. */
  readonly password: string | undefined;
}

/**
 * Creates the first root account of an empty database, only once: of several processes starting together, exactly one
 * inserts the deciding row, and only that one prints a password.
 *
 * @param printOnce writes to stderr, where the operator reads the password and no log stores it
 */
export async function createFirstAdministrator(
  { database, accounts, clock, passwords, ledger, username, ...given }: FirstAdministratorDependencies,
  printOnce: (text: string) => void,
): Promise<void> {
  if (await accounts.hasFirstAdministrator()) return;
  const isGenerated = given.password === undefined;
  const password = given.password ?? randomText(GENERATED_PASSWORD_LENGTH);
  const hash = await passwords.hash(password);
  const created = await database.transaction(async (trx) => {
    // Claimed before the account is created, so that the loser of a race creates none.
    if (!(await accounts.claimFirstAdministrator(trx))) return false;
    const now = clock.now();
    const names = { username, display_name: username, email: null, login_email: null, email_confirmed_at: null };
    const id = await accounts.insert(trx, { ...names, role: 'root', created_at: now });
    if (id === undefined) throw new Error(`the first administrator could not be made: ${username} exists`);
    await accounts.putPassword(trx, id, hash, now, isGenerated);
    await ledger.openWallet(trx, id, 0);
    return true;
  });
  if (created && isGenerated)
    printOnce(`First administrator: ${username}  password: ${password}  (shown once; change it after the first login)`);
}
