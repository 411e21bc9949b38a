import { existsSync } from 'node:fs';
import { toText } from '../contract/messages/messages.ts';
import { resetPassword as resetIn } from './accounts/reset-password.ts';
import { sealedSecrets } from './accounts/seal-store.ts';
import { revokeToken } from './accounts/token-store.ts';
import { sealedCredentials } from './channels/seal-store.ts';
import { dropApprovedOf } from './device-auth/code-store.ts';
import { makeEndDevices } from './device-auth/ending.ts';
import { sealedPasswords } from './mailbox/seal-store.ts';
import { systemClock } from './platform/clock.ts';
import { type Config, loadConfig } from './platform/config.ts';
import { type Database, openDatabase } from './platform/db/database.ts';
import { AppError } from './platform/errors.ts';
import { assertMasterKey, noteMasterKey } from './platform/key-check.ts';
import { openMasterKeys } from './platform/master-key.ts';
import { resealCells } from './platform/resealing.ts';
import { makeVault } from './platform/secrets.ts';
import { type BookError, checkBooks as checkIn } from './quota/books-store.ts';
import type { Tables } from './tables.ts';

/** Work on the service's database by whoever holds it, as the environment names it, while the service runs or not. */
async function withDatabase<T>(work: (database: Database<Tables>, config: Config) => Promise<T>): Promise<T> {
  const { config } = loadConfig();
  const { databaseUrl } = config;
  // Opening would make an empty one.
  if (databaseUrl.startsWith('sqlite:') && !existsSync(databaseUrl.slice('sqlite:'.length)))
    throw new Error(
      `There is no database at ${databaseUrl}. Run this where the service runs, or name its database with DATABASE_URL.`,
    );
  const database = openDatabase<Tables>(databaseUrl);
  try {
    return await work(database, config);
  } catch (error) {
    // Nobody below renders it here.
    throw error instanceof AppError ? new Error(toText(error.code, 'en', error.options.params)) : error;
  } finally {
    await database.close();
  }
}

/**
 * Gives an account a new password, a random one unless one is given, and ends all it is signed in with.
 *
 * @throws when there is no such account, or a password is out of bounds
 */
export function resetPassword(
  name: string,
  options: { readonly password?: string; readonly withoutTwoFactor: boolean },
): Promise<{ readonly username: string; readonly password: string }> {
  const endDevices = makeEndDevices({
    revokeLlm: (trx, userId, id) => revokeToken(trx, userId, id, 'llm', systemClock.now()),
  });
  const endsWithAccount = [
    {
      async endAll(trx: Parameters<typeof endDevices>[0], userId: number) {
        await dropApprovedOf(trx, userId);
        await endDevices(trx, { user_id: userId });
      },
    },
  ];
  return withDatabase((database) => resetIn(database, name, { ...options, endsWithAccount }));
}

/** What is wrong with the books; empty is well. */
export const checkBooks = (): Promise<BookError[]> => withDatabase(checkIn);

/**
 * Seals anew under MASTER_KEY what a key of MASTER_KEY_PREVIOUS sealed, and notes the key as the database's. Answers how
 * many values that were.
 */
export const reseal = (): Promise<number> =>
  withDatabase(async (database, config) => {
    const { current, previous } = openMasterKeys(config);
    await assertMasterKey(database, current, previous);
    const { kysely } = database;
    const columns = [sealedCredentials(kysely), sealedSecrets(kysely), ...sealedPasswords(kysely)];
    const vault = makeVault(current, previous);
    let count = 0;
    // A value that was being written meanwhile is found by the next round.
    for (let found = -1; found !== 0; count += found) found = await resealCells(vault, columns);
    await noteMasterKey(database, current);
    return count;
  });
