import type { Kysely } from 'kysely';
import type { SealedCells } from '../platform/resealing.ts';
import type { Tables } from '../tables.ts';
import { appPlace, mailboxPlace } from './sealing.ts';

const BATCH = 500;

const sealedMailboxes = (kysely: Kysely<Tables>): SealedCells => ({
  async read(after) {
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
      place: mailboxPlace(ref),
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

/** Application passwords that hold, or those on their way to the mail server. */
const sealedApps = (
  kysely: Kysely<Tables>,
  column: 'sealed' | 'next_sealed',
  refColumn: 'ref' | 'next_ref',
): SealedCells => ({
  async read(after) {
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
      place: appPlace(mailboxRef, appRef ?? ''),
      sealed: text ?? '',
    }));
  },
  replace: ({ id, sealed: old }, sealed) =>
    kysely
      .updateTable('app_passwords')
      .set(column === 'sealed' ? { sealed } : { next_sealed: sealed })
      .where('mailbox_id', '=', id)
      .where(column, '=', old)
      .execute(),
});

/** Every password of a mailbox that the API shows again. */
export const sealedPasswords = (kysely: Kysely<Tables>): readonly SealedCells[] => [
  sealedMailboxes(kysely),
  sealedApps(kysely, 'sealed', 'ref'),
  sealedApps(kysely, 'next_sealed', 'next_ref'),
];
