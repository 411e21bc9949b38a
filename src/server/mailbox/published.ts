import type { MailboxAccess } from './backend.ts';
import type { MailboxWithApp } from './store.ts';

/** A hash that no password matches, in Dovecot's form. */
const NOBODY = '{CRYPT}!';

/** What the mail server should know of a mailbox now. */
export function accessOf({ mailbox, enabled, accountHash }: MailboxWithApp): MailboxAccess {
  const own = mailbox.password_hash ?? NOBODY;
  const legacy = accountHash === null ? NOBODY : `{ARGON2ID}${accountHash}`;
  return {
    address: mailbox.address,
    ref: mailbox.ref,
    passwordHash: mailbox.password_source === 'account' ? legacy : own,
    active: enabled,
    known: mailbox.state === 'active',
  };
}

/** Changes whenever the mail server has to be told again: a ban, or a new account password of a legacy mailbox. */
export const fingerprint = (access: MailboxAccess): string => `${access.active ? 1 : 0} ${access.passwordHash}`;
