import type { Database } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';

/** Inserts enabled accounts without credentials, for tests of stores whose rows refer to an account. */
export async function insertAccounts(
  { kysely }: Pick<Database<Tables>, 'kysely'>,
  ids: readonly number[],
): Promise<void> {
  const rows = ids.map((id) => ({
    id,
    username: `user${id}`,
    display_name: '',
    role: 'user' as const,
    status: 1,
    created_at: 0,
  }));
  await kysely.insertInto('accounts').values(rows).execute();
}
