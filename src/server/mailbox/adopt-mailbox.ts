import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import { isLocalPart, withoutSeparators } from './local-parts.ts';
import { MailboxStore } from './mailbox-store.ts';
import { generateRef } from './passwords.ts';

/**
 * Registers a mailbox that an account had before this service; it opens with the account's own password. The reconciler
 * of the running service registers it with the mail server within a minute. Used by an operator's command.
 * @returns the address
 * @throws AppError `invalid_local_part`, `mailbox_taken` if the account has a mailbox or the address is taken
 */
export async function adoptLegacyMailbox(
  { database, clock, domain }: { readonly database: Database<Tables>; readonly clock: Clock; readonly domain: string },
  userId: number,
  localPart: string,
): Promise<string> {
  if (!isLocalPart(localPart)) throw new AppError('invalid_local_part', { param: 'local_part' });
  const row = await new MailboxStore(database).insert({
    user_id: userId,
    address: `${localPart}@${domain}`,
    skeleton: `${withoutSeparators(localPart)}@${domain}`,
    ref: generateRef(),
    password_source: 'account',
    password_sealed: null,
    password_hash: null,
    state: 'active',
    attempt: 0,
    provisioned_access: null,
    created_at: clock.now(),
  });
  if (row === undefined) throw new AppError('mailbox_taken');
  return row.address;
}
