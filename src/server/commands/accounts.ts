import { AccountAccess, AccountStore } from '../accounts/account-store.ts';
import { resetPassword as resetIn } from '../accounts/administrator-access.ts';
import { SecurityNotices } from '../accounts/security-notices.ts';
import { TokenStore } from '../accounts/tokens.ts';
import { AuthorizationStore, DeviceRevocation } from '../device-auth/authorization-store.ts';
import { DeviceCodeStore } from '../device-auth/code-store.ts';
import { makeEventLog } from '../event-log/event-log.ts';
import { makeMail } from '../mail/mail-queue.ts';
import { adoptLegacyMailbox } from '../mailbox/mailbox-service.ts';
import { makeSeenPasswordNotices } from '../mailbox/module.ts';
import { makeNotifier } from '../notifications/module.ts';
import { systemClock } from '../platform/clock.ts';
import { openLog } from '../platform/log.ts';
import { assertMasterKey, openMasterKeys, recordMasterKey } from '../platform/master-key.ts';
import { createVault, reencryptColumns } from '../platform/vault.ts';
import { encryptedColumns } from './check-database.ts';
import { withServiceDatabase } from './service-database.ts';

/**
 * Sets an account's password, by default a random one, and ends all its sessions and device sign-ins.
 *
 * @throws if there is no such account, or the password is too short, too long or too common
 */
export function resetPassword(
  name: string,
  options: { readonly password?: string; readonly withoutTwoFactor: boolean },
): Promise<{ readonly username: string; readonly password: string }> {
  return withServiceDatabase((database, config) => {
    const accounts = new AccountStore(database);
    const shared = { config, database, clock: systemClock };
    const notifier = makeNotifier({
      ...shared,
      access: new AccountAccess(accounts),
      events: makeEventLog(database, systemClock),
      // The running service sends what this command enqueues.
      mailer: makeMail({ ...shared, log: openLog('silent') }).queue,
      findMailRecipient: (userId, db) => accounts.findMailRecipient(userId, db),
    });
    const sawPassword = makeSeenPasswordNotices(database, notifier);
    const linkedLogins = [
      new DeviceRevocation({
        authorizations: new AuthorizationStore(database),
        codes: new DeviceCodeStore(database),
        tokens: new TokenStore(database),
        clock: systemClock,
        onRevoked: (trx, devices) => sawPassword.notifyEnded(trx, devices),
      }),
    ];
    return resetIn({ ...shared, linkedLogins, notices: new SecurityNotices(notifier) }, name, options);
  });
}

/**
 * Re-encrypts under MASTER_KEY the values encrypted under a key of MASTER_KEY_PREVIOUS, and records MASTER_KEY as the
 * database's key. Returns the number of re-encrypted values.
 */
export const resealSecrets = (): Promise<number> =>
  withServiceDatabase(async (database, config) => {
    const { current, previous } = openMasterKeys(config, false);
    await assertMasterKey(database, current, previous);
    const { kysely } = database;
    const columns = encryptedColumns(kysely);
    const vault = createVault(current, previous);
    let count = 0;
    // A value written concurrently is found in the next round.
    for (let found = -1; found !== 0; count += found) found = await reencryptColumns(vault, columns);
    await recordMasterKey(database, current);
    return count;
  });

/**
 * Registers a mailbox that an account had before this service; it opens with the account's own password.
 *
 * @returns the mailbox's address
 * @throws if there is no such account, the local part is not allowed, or the account or the address has a mailbox
 */
export const adoptMailbox = (username: string, localPart: string): Promise<string> =>
  withServiceDatabase(async (database, { mailDomain }) => {
    const account = await new AccountStore(database).findByLogin(username);
    if (account === undefined) throw new Error(`There is no account ${username}.`);
    return adoptLegacyMailbox({ database, clock: systemClock, domain: mailDomain }, account.id, localPart);
  });
