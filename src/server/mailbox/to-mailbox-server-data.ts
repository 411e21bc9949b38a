import type { MailboxServerData } from './mail-backend.ts';
import type { MailboxWithApp } from './mailbox-store.ts';

/** A hash that no password matches, in Dovecot's form. */
const UNMATCHABLE_HASH = '{CRYPT}!';

/** The present data of a mailbox that the mail server should have. */
export function toMailboxServerData({ mailbox, enabled, accountHash }: MailboxWithApp): MailboxServerData {
  const own = mailbox.password_hash ?? UNMATCHABLE_HASH;
  const legacy = accountHash === null ? UNMATCHABLE_HASH : `{ARGON2ID}${accountHash}`;
  return {
    address: mailbox.address,
    ref: mailbox.ref,
    passwordHash: mailbox.password_source === 'account' ? legacy : own,
    active: enabled,
    isKnownOurs: mailbox.state === 'active',
  };
}

/** Changes whenever the mail server has to be updated: after a ban, or a new account password of a legacy mailbox. */
export const serverDataFingerprint = (access: MailboxServerData): string =>
  `${access.active ? 1 : 0} ${access.passwordHash}`;
