import type { Database } from './db/database-interface-and-options.ts';
import type { MetaTables } from './db/tables.ts';
import { ConfigError } from './setting-readers.ts';
import { matchesKeyCheck, toKeyCheck } from './vault.ts';

/** The fact in `meta` by which a key is recognized as the database's. */
export const MASTER_KEY_META_NAME = 'master_key_check';

/**
 * Stops the start when neither MASTER_KEY nor one of MASTER_KEY_PREVIOUS is what this database was written with; the first
 * start notes the check value.
 */
export async function assertMasterKey<T extends MetaTables>(
  database: Database<T>,
  key: Buffer,
  previous: readonly Buffer[] = [],
): Promise<void> {
  const kysely = (database as unknown as Database<MetaTables>).kysely;
  await kysely
    .insertInto('meta')
    .values({ name: MASTER_KEY_META_NAME, value: toKeyCheck(key) })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  const { value } = await kysely
    .selectFrom('meta')
    .select('value')
    .where('name', '=', MASTER_KEY_META_NAME)
    .executeTakeFirstOrThrow();
  if (![key, ...previous].some((each) => matchesKeyCheck(each, value)))
    throw new ConfigError('MASTER_KEY', 'is not the key this database was written with; nothing was changed');
}

/** Whether a start has noted its key in this database before. */
export async function hasMasterKey<T extends MetaTables>(database: Database<T>): Promise<boolean> {
  const { kysely } = database as unknown as Database<MetaTables>;
  const row = await kysely
    .selectFrom('meta')
    .select('name')
    .where('name', '=', MASTER_KEY_META_NAME)
    .executeTakeFirst();
  return row !== undefined;
}

/** From now on the database is this key's: for when nothing is left that another one sealed. */
export async function recordMasterKey<T extends MetaTables>(database: Database<T>, key: Buffer): Promise<void> {
  const kysely = (database as unknown as Database<MetaTables>).kysely;
  await kysely
    .updateTable('meta')
    .set({ value: toKeyCheck(key) })
    .where('name', '=', MASTER_KEY_META_NAME)
    .execute();
}
