import type { Kysely } from 'kysely';
import type { SealedColumn } from '../platform/vault.ts';
import type { Tables } from '../tables.ts';
import { appPasswordCellName, mailboxCellName } from './password-encryption.ts';

const BATCH = 500;

const sealedMailboxes = (kysely: Kysely<Tables>): SealedColumn => ({
  async readAfter(after) {
    const rows = await kysely
      .selectFrom('mailboxes')
      .select(['id', 'ref', 'password_sealed'])
      .where('id', '>', after)
      .where('password_sealed', 'is not', null)
      .orderBy('id')
      .limit(BATCH)
      .execute();
    return rows.map(({ id, ref, password_sealed }) => ({
      id,
      context: mailboxCellName(ref),
      sealed: password_sealed ?? '',
    }));
  },
  replace: ({ id, sealed: old }, password_sealed) =>
    kysely
      .updateTable('mailboxes')
      .set({ password_sealed })
      .where('id', '=', id)
      .where('password_sealed', '=', old)
      .execute(),
});

/** Current application passwords, or pending ones that the mail server does not have yet. */
const sealedAppPasswords = (
  kysely: Kysely<Tables>,
  column: 'sealed' | 'pending_sealed',
  refColumn: 'ref' | 'pending_ref',
): SealedColumn => ({
  async readAfter(after) {
    const rows = await kysely
      .selectFrom('app_passwords')
      .innerJoin('mailboxes', 'mailboxes.id', 'app_passwords.mailbox_id')
      .select([
        'app_passwords.mailbox_id as id',
        'mailboxes.ref as mailboxRef',
        `app_passwords.${refColumn} as appRef`,
        `app_passwords.${column} as text`,
      ])
      .where('app_passwords.mailbox_id', '>', after)
      .where(`app_passwords.${column}`, 'is not', null)
      .orderBy('app_passwords.mailbox_id')
      .limit(BATCH)
      .execute();
    return rows.map(({ id, mailboxRef, appRef, text }) => ({
      id,
      context: appPasswordCellName(mailboxRef, appRef ?? ''),
      sealed: text ?? '',
    }));
  },
  replace: ({ id, sealed: old }, sealed) =>
    kysely
      .updateTable('app_passwords')
      .set(column === 'sealed' ? { sealed } : { pending_sealed: sealed })
      .where('mailbox_id', '=', id)
      .where(column, '=', old)
      .execute(),
});

/** Every password of a mailbox that the API shows again. */
export const sealedPasswordCells = (kysely: Kysely<Tables>): readonly SealedColumn[] => [
  sealedMailboxes(kysely),
  sealedAppPasswords(kysely, 'sealed', 'ref'),
  sealedAppPasswords(kysely, 'pending_sealed', 'pending_ref'),
];
