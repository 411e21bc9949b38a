import type { Vault } from '../platform/secrets.ts';
import type { MailboxRow } from './store.ts';

/** Places are named by refs, which are never used twice: a sealed text opens for its mailbox and its generation alone. */
export const mailboxPlace = (mailboxRef: string) => ({
  table: 'mailboxes',
  row: mailboxRef,
  column: 'password_sealed',
});
export const appPlace = (mailboxRef: string, appRef: string) => ({
  table: 'app_passwords',
  row: `${mailboxRef}:${appRef}`,
  column: 'sealed',
});

/** The passwords the API shows again, sealed under the master key. */
export class Sealing {
  readonly #vault: Vault;
  constructor(vault: Vault) {
    this.#vault = vault;
  }

  sealMailbox(ref: string, password: string): string {
    return this.#vault.seal(password, mailboxPlace(ref));
  }

  /** Empty for a mailbox that opens with the account's password. @throws SealBroken */
  openMailbox({ ref, password_sealed }: MailboxRow): string {
    return password_sealed === null ? '' : this.#vault.open(password_sealed, mailboxPlace(ref));
  }

  sealApp(mailboxRef: string, appRef: string, password: string): string {
    return this.#vault.seal(password, appPlace(mailboxRef, appRef));
  }

  /** @throws SealBroken */
  openApp(mailbox: MailboxRow, app: { readonly ref: string; readonly sealed: string }): string {
    return this.#vault.open(app.sealed, appPlace(mailbox.ref, app.ref));
  }
}
