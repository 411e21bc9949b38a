import { ConfigError } from './config.ts';
import type { Database } from './db/database.ts';
import type { MetaTables } from './db/tables.ts';
import { makeKeyCheck, matchesKeyCheck } from './secrets.ts';

const NAME = 'master_key_check';

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
    .values({ name: NAME, value: makeKeyCheck(key) })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  const { value } = await kysely.selectFrom('meta').select('value').where('name', '=', NAME).executeTakeFirstOrThrow();
  if (![key, ...previous].some((each) => matchesKeyCheck(each, value)))
    throw new ConfigError('MASTER_KEY', 'is not the key this database was written with; nothing was changed');
}

/** From now on the database is this key's: for when nothing is left that another one sealed. */
export async function noteMasterKey<T extends MetaTables>(database: Database<T>, key: Buffer): Promise<void> {
  const kysely = (database as unknown as Database<MetaTables>).kysely;
  await kysely
    .updateTable('meta')
    .set({ value: makeKeyCheck(key) })
    .where('name', '=', NAME)
    .execute();
}
