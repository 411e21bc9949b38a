import { Check } from 'typebox/value';
import { Password } from '../../contract/account-fields.ts';
import { invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { randomText } from '../platform/tokens.ts';
import type { Tables } from '../tables.ts';
import { AccountStore } from './account-store.ts';
import { AuditStore } from './audit-log.ts';
import { GENERATED_PASSWORD_LENGTH } from './first-administrator.ts';
import { type LinkedLogins, LoginRevocation, PendingLoginStore } from './login-revocation.ts';
import { ManagementTokenStore } from './management-tokens.ts';
import { PasskeyStore } from './passkey-store.ts';
import { assertUncommonPassword, PasswordHasher } from './passwords.ts';
import type { SecurityNotices } from './security-notices.ts';
import { SessionStore } from './sessions.ts';
import { TwoFactorStore } from './two-factor.ts';

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
