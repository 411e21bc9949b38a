import type { Kysely } from 'kysely';
import type { Page } from '../../contract/schemas.ts';
import { prepare } from '../platform/db/prepared.ts';
import type { Tables } from '../tables.ts';

type Executor = Kysely<Tables>;

const named = prepare<Tables, { id: string }>()((db, p) =>
  db.selectFrom('device_clients').select(['name', 'enabled']).where('client_id', '=', p('id')),
);

export const findClient = (db: Executor, id: string): Promise<{ name: string; enabled: 0 | 1 } | undefined> =>
  named.first(db, { id });

const withSecrets = prepare<Tables, { id: string }>()((db, p) =>
  db
    .selectFrom('device_clients')
    .innerJoin('device_client_secrets', 'device_client_secrets.client_id', 'device_clients.client_id')
    .select(['device_clients.name', 'device_clients.enabled', 'device_client_secrets.hash as secret_hash'])
    .where('device_clients.client_id', '=', p('id')),
);

/** A row for each active secret. */
export const findSecrets = (
  db: Executor,
  id: string,
): Promise<{ name: string; enabled: 0 | 1; secret_hash: string }[]> => withSecrets.all(db, { id });

/** Answers false when the id is taken. */
export async function insertClient(db: Executor, id: string, name: string, now: number): Promise<boolean> {
  const result = await db
    .insertInto('device_clients')
    .values({ client_id: id, name, enabled: 1, created_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

/** Reads and, on PostgreSQL, locks a client, so that two administrators cannot add a third secret at once. */
export const lockClient = (db: Executor, postgres: boolean, id: string) =>
  db
    .selectFrom('device_clients')
    .select(['name', 'enabled'])
    .where('client_id', '=', id)
    .$if(postgres, (query) => query.forUpdate())
    .executeTakeFirst();

export const updateClient = (
  db: Executor,
  id: string,
  change: { readonly name?: string; readonly enabled?: 0 | 1 },
): Promise<unknown> => db.updateTable('device_clients').set(change).where('client_id', '=', id).execute();

export async function deleteClient(db: Executor, id: string): Promise<void> {
  await db.deleteFrom('device_client_secrets').where('client_id', '=', id).execute();
  await db.deleteFrom('device_clients').where('client_id', '=', id).execute();
}

export async function insertSecret(
  db: Executor,
  secret: { readonly client_id: string; readonly hash: string; readonly hint: string; readonly created_at: number },
): Promise<number> {
  const row = await db.insertInto('device_client_secrets').values(secret).returning('id').executeTakeFirstOrThrow();
  return row.id;
}

/** Oldest first. */
export const listSecrets = (db: Executor, clientIds: readonly string[]) =>
  db
    .selectFrom('device_client_secrets')
    .select(['id', 'client_id', 'hint', 'created_at'])
    .where('client_id', 'in', [...clientIds, ''])
    .orderBy('id')
    .execute();

export const deleteSecret = (db: Executor, clientId: string, id: number): Promise<unknown> =>
  db.deleteFrom('device_client_secrets').where('client_id', '=', clientId).where('id', '=', id).execute();

const shown = (db: Executor) =>
  db
    .selectFrom('device_clients')
    .select(['client_id', 'name', 'enabled', 'created_at'])
    .select((row) =>
      row
        .selectFrom('device_authorizations')
        .whereRef('device_authorizations.client_id', '=', 'device_clients.client_id')
        .select((inner) => inner.fn.countAll<number>().as('devices'))
        .as('devices'),
    );

export const readClient = (db: Executor, id: string) => shown(db).where('client_id', '=', id).executeTakeFirst();

/** By id. */
export async function listClients(db: Executor, page: Page) {
  const [rows, count] = await Promise.all([
    shown(db).orderBy('client_id').limit(page.pageSize).offset(page.offset).execute(),
    db
      .selectFrom('device_clients')
      .select((row) => row.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow(),
  ]);
  return { rows, total: Number(count.total) };
}
