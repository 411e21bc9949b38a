import type { Transaction } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { invalid } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import { findTimeZone, setTimeZone } from './store.ts';

export interface Settings {
  /** IANA name of the zone an account's days are counted in. */
  timeZone(userId: number): Promise<string>;
  /** The same inside a transaction of the caller's. */
  timeZoneIn(trx: Transaction<Tables>, userId: number): Promise<string>;
  /** @throws invalid_request for a zone nobody knows */
  setTimeZone(userId: number, timeZone: string): Promise<void>;
}

export function makeSettings(database: Database<Tables>): Settings {
  return {
    timeZone: (userId) => findTimeZone(database.kysely, userId),
    timeZoneIn: findTimeZone,
    async setTimeZone(userId, timeZone) {
      if (!isTimeZone(timeZone)) throw invalid('time_zone must be an IANA name such as Europe/Berlin.', 'time_zone');
      await setTimeZone(database.kysely, userId, timeZone);
    },
  };
}

/** Names only: offsets such as +02:00 know no summer time. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}
