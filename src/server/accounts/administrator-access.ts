import { Check } from 'typebox/value';
import { Password } from '../../contract/account-fields.ts';
import { invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { randomText } from '../platform/tokens.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import { AccountStore, NO_LOGIN_EMAIL } from './account-store.ts';
import { AuditStore } from './audit-log.ts';
import { PasskeyStore } from './passkeys.ts';
import { assertUncommonPassword, PasswordHasher } from './passwords.ts';
import type { SecurityNotices } from './security-notices.ts';
import {
  type LinkedLogins,
  LoginRevocation,
  ManagementTokenStore,
  PendingLoginStore,
  SessionStore,
} from './sessions.ts';
import { TwoFactorStore } from './two-factor.ts';

/** 20 characters are 119 bits of entropy. */
const GENERATED_PASSWORD_LENGTH = 20;

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
    const names = { username, display_name: username, email: null, ...NO_LOGIN_EMAIL };
    const id = await accounts.insert(trx, { ...names, role: 'root', created_at: now });
    if (id === undefined) throw new Error(`the first administrator could not be made: ${username} exists`);
    await accounts.putPassword(trx, id, hash, now, isGenerated);
    await ledger.openWallet(trx, id, 0);
    return true;
  });
  if (created && isGenerated)
    printOnce(`First administrator: ${username}  password: ${password}  (shown once; change it after the first login)`);
}

interface ResetPasswordDependencies {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  /** Device sign-ins and other logins that must end with the old password. */
  readonly linkedLogins: readonly LinkedLogins[];
  readonly notices: Pick<SecurityNotices, 'notify'>;
}

interface ResetPasswordOptions {
  /** Also removes two-step verification and passkeys, for users who lost all factors. */
  readonly withoutTwoFactor?: boolean;
  /** Default: a random password, which also works while attackers exhaust the account's limit of wrong passwords. */
  readonly password?: string;
}

/**
 * `reelgate admin reset-password NAME`, for operators on the server with access to the database. Returns the new
 * password, which is stored only as a hash, ends all logins of the account and notifies its owner.
 *
 * @throws not_exist, invalid_request, password_too_common
 */
export async function resetPassword(
  { database, clock, linkedLogins, notices }: ResetPasswordDependencies,
  name: string,
  { withoutTwoFactor = false, ...given }: ResetPasswordOptions = {},
): Promise<{ readonly username: string; readonly password: string }> {
  const isGenerated = given.password === undefined;
  const password = given.password ?? randomText(GENERATED_PASSWORD_LENGTH);
  if (!Check(Password, password)) throw invalidRequest('The password must have 8 to 128 characters.', 'password');
  const accounts = new AccountStore(database);
  const account = await accounts.findByLogin(name);
  if (account === undefined) throw notExistError('account');
  await assertUncommonPassword(password, account.username);
  const hash = await new PasswordHasher().hash(password);
  const logins = new LoginRevocation({
    sessions: new SessionStore(database),
    pendingLogins: new PendingLoginStore(database),
    managementTokens: new ManagementTokenStore(database),
    linkedLogins,
    clock,
  });
  await database.transaction(async (trx) => {
    if ((await accounts.lock(trx, account.id)) === undefined) throw notExistError('account');
    await accounts.putPassword(trx, account.id, hash, clock.now(), isGenerated);
    if (withoutTwoFactor) {
      await new TwoFactorStore(database).disable(trx, account.id);
      await new PasskeyStore(database).deleteOfUser(trx, account.id);
    }
    await logins.revokeAll(trx, account.id, 'password_set_by_administrator');
    await new AuditStore(database, clock).record(trx, {
      action: 'user.reset-password',
      target: `user:${account.id}`,
      after: { password: '[changed]', withoutTwoFactor },
    });
    await notices.notify(trx, account.id, 'password');
    if (withoutTwoFactor) await notices.notify(trx, account.id, 'second-factors-reset');
  });
  return { username: account.username, password };
}
