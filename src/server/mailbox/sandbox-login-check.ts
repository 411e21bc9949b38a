import { matchesGeneratedPassword } from './generate-hash-and-match-passwords.ts';
import type { MailProtocol } from './mail-backend.ts';
import type { MailboxStore } from './mailbox-store.ts';

/** Checks a login the way the mail server does, over the same two views; for the mail server of the sandbox. */
export class SandboxLoginCheck {
  readonly #store: MailboxStore;
  readonly #matchesAccount: (password: string, phc: string) => Promise<boolean>;

  /** @param matchesAccount checks the password of an account against its argon2id hash in PHC form */
  constructor(store: MailboxStore, matchesAccount: (password: string, phc: string) => Promise<boolean>) {
    this.#store = store;
    this.#matchesAccount = matchesAccount;
  }

  async accepts(address: string, password: string, protocol: MailProtocol): Promise<boolean> {
    for (const hash of await this.#store.listLoginHashes(address, protocol)) {
      const matches = hash.startsWith('{ARGON2ID}')
        ? await this.#matchesAccount(password, hash.slice('{ARGON2ID}'.length))
        : matchesGeneratedPassword(password, hash);
      if (matches === true) return true;
    }
    return false;
  }

  exists(address: string): Promise<boolean> {
    return this.#store.hasAddress(address);
  }
}
