import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { randomText } from '../platform/secrets.ts';
import type { Quota } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import type { Passwords } from './passwords.ts';
import { hasFirstAdministrator, insertAccount, putPassword, takeFirstPlace } from './store.ts';

export interface FirstStart {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly passwords: Passwords;
  readonly quota: Quota;
  readonly adminUsername: string;
  /** Undefined: a random one is made and shown once. */
  readonly adminPassword: string | undefined;
  /** Where a person sees a line and no log keeps it: stderr. */
  show(line: string): void;
}

/**
 * Makes the first root account on an empty database, once for ever: of processes that start together one inserts the
 * row that decides, and only that one shows a password.
 */
export async function makeFirstAdministrator(start: FirstStart): Promise<void> {
  const { database, adminUsername: username, adminPassword } = start;
  if (await hasFirstAdministrator(database.kysely)) return;
  const password = adminPassword ?? randomText(20);
  const hash = await start.passwords.hash(password);
  const made = await database.transaction(async (trx) => {
    // Taken before the account is made, so that the loser of a race makes none.
    if (!(await takeFirstPlace(trx))) return false;
    const created_at = start.clock.now();
    const id = await insertAccount(trx, { username, email: null, display_name: username, role: 'root', created_at });
    if (id === undefined) throw new Error(`the first administrator could not be made: ${username} exists`);
    await putPassword(trx, id, hash, created_at);
    await start.quota.open(trx, id, 0);
    return true;
  });
  if (!made || adminPassword !== undefined) return;
  start.show(`First administrator: ${username}  password: ${password}  (shown once; change it after the first login)`);
}
