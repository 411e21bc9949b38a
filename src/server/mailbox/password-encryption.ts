import type { Vault } from '../platform/vault.ts';
import type { MailboxRow } from './mailbox-store.ts';

/** Ciphertexts are bound to refs, which are never reused: each can be decrypted for its mailbox and generation only. */
export const mailboxCellName = (mailboxRef: string) => ({
  table: 'mailboxes',
  row: mailboxRef,
  column: 'password_sealed',
});
export const appPasswordCellName = (mailboxRef: string, appRef: string) => ({
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
