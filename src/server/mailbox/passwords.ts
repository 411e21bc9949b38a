import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { SealedColumn, Vault } from '../platform/vault.ts';
import type { Tables } from '../tables.ts';
import type { MailboxRow } from './mailbox-store.ts';

/**
 * Binds ciphertexts to refs, which are never reused, so that each can be decrypted for its mailbox and generation only.
 */
const mailboxCellName = (mailboxRef: string) => ({
  table: 'mailboxes',
  row: mailboxRef,
  column: 'password_sealed',
});
const appPasswordCellName = (mailboxRef: string, appRef: string) => ({
  table: 'app_passwords',
  row: `${mailboxRef}:${appRef}`,
  column: 'sealed',
});

/** The passwords the API shows again, sealed under the master key. */
export class PasswordEncryption {
  readonly #vault: Vault;
  constructor(vault: Vault) {
    this.#vault = vault;
  }

  sealMailbox(ref: string, password: string): string {
    return this.#vault.seal(password, mailboxCellName(ref));
  }

  /** Empty for a mailbox that opens with the account's password. @throws UnsealError */
  openMailbox({ ref, password_sealed }: MailboxRow): string {
    return password_sealed === null ? '' : this.#vault.open(password_sealed, mailboxCellName(ref));
  }

  sealApp(mailboxRef: string, appRef: string, password: string): string {
    return this.#vault.seal(password, appPasswordCellName(mailboxRef, appRef));
  }

  /** @throws UnsealError */
  openApp(mailbox: MailboxRow, app: { readonly ref: string; readonly sealed: string }): string {
    return this.#vault.open(app.sealed, appPasswordCellName(mailbox.ref, app.ref));
  }
}

/** Without 0/O, 1/l/I, o, because users type passwords on phones. 24 of 56 characters are 139 bits. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const LENGTH = 24;
const SALT_BYTES = 16;

/**
 * Generates a mailbox or application password of ASCII letters and digits only, which every mail program sends
 * unchanged.
 */
export function generatePassword(): string {
  return Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/**
 * `{SSHA512}` as Dovecot and mailcow read it: base64(sha512(password + salt) + salt).
 *
 * A fast hash on purpose: guessing 139 random bits is infeasible at any hash cost, while a mail program that polls
 * every minute would incur that cost at each login. Never used for passwords chosen by a person.
 */
export function hashGeneratedPassword(password: string): string {
  const salt = randomBytes(SALT_BYTES);
  return `{SSHA512}${Buffer.concat([sha512(password, salt), salt]).toString('base64')}`;
}

/** Whether the password matches a `{SSHA512}` hash; undefined if the hash uses another scheme. */
export function matchesGeneratedPassword(password: string, hash: string): boolean | undefined {
  if (!hash.startsWith('{SSHA512}')) return undefined;
  const bytes = Buffer.from(hash.slice('{SSHA512}'.length), 'base64');
  if (bytes.length <= 64) return undefined;
  return timingSafeEqual(sha512(password, bytes.subarray(64)), bytes.subarray(0, 64));
}

/** Generates the identifier of a credential's generation on the mail server: 20 letters and digits. */
export function generateRef(): string {
  return randomBytes(10).toString('hex');
}

function sha512(password: string, salt: Buffer): Buffer {
  return createHash('sha512').update(password, 'utf8').update(salt).digest();
}

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

/** Current application passwords, or pending ones the mail server does not have yet. */
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

/** Every mailbox password the API shows again, for key rotation. */
export const sealedPasswordCells = (kysely: Kysely<Tables>): readonly SealedColumn[] => [
  sealedMailboxes(kysely),
  sealedAppPasswords(kysely, 'sealed', 'ref'),
  sealedAppPasswords(kysely, 'pending_sealed', 'pending_ref'),
];
