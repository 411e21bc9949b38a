import { invalidRequest } from '../../platform/app-error.ts';
import type { Trx } from '../../tables.ts';
import type { AccountStore } from '../account-store.ts';

/** Settings of an account that change how things are shown and counted. */
export class UserTimeZone {
  readonly #accounts: AccountStore;

  constructor(accounts: AccountStore) {
    this.#accounts = accounts;
  }

  /** IANA name of the zone an account's days are counted in. */
  findTimeZone(userId: number): Promise<string> {
    return this.#accounts.findTimeZone(userId);
  }

  /** The same inside a transaction. */
  findTimeZoneIn(trx: Trx, userId: number): Promise<string> {
    return this.#accounts.findTimeZone(userId, trx);
  }

  /** @throws invalid_request for an unknown zone */
  async setTimeZone(userId: number, timeZone: string): Promise<void> {
    if (!isTimeZone(timeZone))
      throw invalidRequest('time_zone must be an IANA name such as Europe/Berlin.', 'time_zone');
    await this.#accounts.setTimeZone(userId, timeZone);
  }
}

/** Names only: offsets such as +02:00 have no daylight saving time. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}
