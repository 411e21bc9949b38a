import { Check } from 'typebox/value';
import { Password } from '../../contract/account-fields.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { invalid, notExist } from '../platform/errors.ts';
import { randomText } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import { makeAudit } from './audit-store.ts';
import { type EndsWithAccount, makeEndLogins } from './ending.ts';
import { makePasswords } from './passwords.ts';
import { makeSessions } from './sessions.ts';
import { findByLogin, lockAccount, putPassword } from './store.ts';
import { turnOff } from './two-factor-store.ts';

export interface ResetOptions {
  readonly clock?: Clock;
  /** Device sign-ins and whatever else must end with the old password. */
  readonly endsWithAccount?: readonly EndsWithAccount[];
  /** Turns two-step verification off too, for somebody who lost both. */
  readonly withoutTwoFactor?: boolean;
  /** Default: a random one. */
  readonly password?: string;
}

/**
 * `reelgate admin reset-password NAME`: for somebody on the server who holds the database. Answers the new password, which
 * is stored nowhere; everything the account was logged in with ends.
 *
 * @throws not_exist, invalid_request
 */
export async function resetPassword(
  database: Database<Tables>,
  name: string,
  { clock = systemClock, endsWithAccount = [], withoutTwoFactor = false, ...given }: ResetOptions = {},
): Promise<{ readonly username: string; readonly password: string }> {
  const password = given.password ?? randomText(20);
  if (!Check(Password, password)) throw invalid('The password must have 8 to 128 characters.', 'password');
  const hash = await makePasswords().hash(password);
  const endLogins = makeEndLogins(makeSessions(database, clock), endsWithAccount);
  const account = await findByLogin(database.kysely, name);
  if (account === undefined) throw notExist('account');
  await database.transaction(async (trx) => {
    if ((await lockAccount(trx, database.dialect === 'postgres', account.id)) === undefined) throw notExist('account');
    await putPassword(trx, account.id, hash, clock.now());
    if (withoutTwoFactor) await turnOff(trx, account.id);
    await endLogins(trx, account.id);
    const after = { password: '[changed]', withoutTwoFactor };
    await makeAudit(clock).record(trx, { action: 'user.reset-password', target: `user:${account.id}`, after });
  });
  return { username: account.username, password };
}
