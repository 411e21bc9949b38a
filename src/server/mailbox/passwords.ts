import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Notice, Notifier } from '../notifications/notifier.ts';
import type { Database } from '../platform/db/database.ts';
import { statementParts } from '../platform/db/sql.ts';
import type { SealedColumn, Vault } from '../platform/vault.ts';
import type { Tables, Trx } from '../tables.ts';
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

/** The console's mailbox page, where the application password is replaced. */
const MAILBOX_PAGE = '/mailbox';

/** A device sign-in that has ended. */
interface EndedDevice {
  /** Id of the authorization. */
  readonly id: number;
  readonly user_id: number;
  /** The name the device sent; may be empty. */
  readonly client_name: string;
}

/** Notifies owners when a device sign-in ends that was shown a password of their mailbox. */
export class SeenPasswordNotices {
  readonly #deviceReads: DevicesShownPasswordStore;
  readonly #notifier: Notifier;

  constructor(deviceReads: DevicesShownPasswordStore, notifier: Notifier) {
    this.#deviceReads = deviceReads;
    this.#notifier = notifier;
  }

  /** Called in the transaction that ends the devices, for any reason. */
  async notifyEnded(trx: Trx, devices: readonly EndedDevice[]): Promise<void> {
    const ids = devices.map(({ id }) => id);
    const informed = new Set(await this.#deviceReads.take(trx, ids));
    for (const device of devices) if (informed.has(device.id)) await this.#notifier.notify(trx, toNotice(device));
  }
}

/**
 * Tells the owner that a device which saw a password of the mailbox was signed out. Passwords outlive the sign-in, so
 * the owner must decide whether the device may keep them.
 */
function toNotice({ id, user_id, client_name: name }: EndedDevice): Notice {
  const device = { en: name === '' ? 'A device' : `“${name}”`, 'zh-CN': name === '' ? '某台设备' : `“${name}”` };
  return {
    userId: user_id,
    topic: 'security',
    type: 'system',
    title: { en: 'A signed-out device has seen your mailbox password', 'zh-CN': '已退出的设备曾查看您的邮箱密码' },
    content: {
      en: `${device.en} was signed out. It had been shown a password of your mailbox, which still works. If you no longer trust the device, create a new application password.`,
      'zh-CN': `${device['zh-CN']}已退出登录。它曾获取您的邮箱密码，该密码仍然有效。如果您不再信任该设备，请重新生成应用专用密码。`,
    },
    targetUrl: MAILBOX_PAGE,
    deduplicationKey: `mailbox.device-ended:${id}`,
  };
}

/** Records which device sign-ins were shown a password of their account's mailbox. */
export class DevicesShownPasswordStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async record(authorizationId: number, userId: number, now: number): Promise<void> {
    await this.#database.kysely
      .insertInto('mailbox_device_reads')
      .values({ authorization_id: authorizationId, user_id: userId, created_at: now })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  /** Deletes the records of these device sign-ins. @returns the ids that had a record */
  async take(trx: Trx, authorizationIds: readonly number[]): Promise<number[]> {
    const taken: number[] = [];
    for (const part of statementParts(authorizationIds)) {
      const rows = await trx
        .deleteFrom('mailbox_device_reads')
        .where('authorization_id', 'in', part)
        .returning('authorization_id')
        .execute();
      for (const row of rows) taken.push(row.authorization_id);
    }
    return taken;
  }
}
