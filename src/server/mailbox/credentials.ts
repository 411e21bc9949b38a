import type { MailProtocol } from './backend.ts';
import { matchesGenerated } from './passwords.ts';
import type { MailboxStore } from './store.ts';

/** Checks a login the way the mail server does, over the same two views; for the mail server of the sandbox. */
export class Credentials {
  readonly #store: MailboxStore;
  readonly #matchesAccount: (password: string, phc: string) => Promise<boolean>;

  /** @param matchesAccount checks the password of an account against its argon2id hash in PHC form */
  constructor(store: MailboxStore, matchesAccount: (password: string, phc: string) => Promise<boolean>) {
    this.#store = store;
    this.#matchesAccount = matchesAccount;
  }

  async admits(address: string, password: string, protocol: MailProtocol): Promise<boolean> {
    for (const hash of await this.#store.credentials(address, protocol)) {
      const matches = hash.startsWith('{ARGON2ID}')
        ? await this.#matchesAccount(password, hash.slice('{ARGON2ID}'.length))
        : matchesGenerated(password, hash);
      if (matches === true) return true;
    }
    return false;
  }

  exists(address: string): Promise<boolean> {
    return this.#store.hasAddress(address);
  }
}
