import { existsSync } from 'node:fs';
import { toText } from '../contract/messages/messages.ts';
import { resetPassword as resetIn } from './accounts/reset-password.ts';
import { revokeToken } from './accounts/token-store.ts';
import { dropApprovedOf } from './device-auth/code-store.ts';
import { makeEndDevices } from './device-auth/ending.ts';
import { systemClock } from './platform/clock.ts';
import { loadConfig } from './platform/config.ts';
import { type Database, openDatabase } from './platform/db/database.ts';
import { AppError } from './platform/errors.ts';
import { type BookError, checkBooks as checkIn } from './quota/books-store.ts';
import type { Tables } from './tables.ts';

/** Work on the service's database by whoever holds it, as the environment names it, while the service runs or not. */
async function withDatabase<T>(work: (database: Database<Tables>) => Promise<T>): Promise<T> {
  const { databaseUrl } = loadConfig().config;
  // Opening would make an empty one.
  if (databaseUrl.startsWith('sqlite:') && !existsSync(databaseUrl.slice('sqlite:'.length)))
    throw new Error(
      `There is no database at ${databaseUrl}. Run this where the service runs, or name its database with DATABASE_URL.`,
    );
  const database = openDatabase<Tables>(databaseUrl);
  try {
    return await work(database);
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
