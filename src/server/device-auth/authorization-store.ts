import type { Kysely, Selectable } from 'kysely';
import type { Page } from '../../contract/schemas.ts';
import { prepare } from '../platform/db/prepared.ts';
import type { Tables } from '../tables.ts';

type Executor = Kysely<Tables>;

export type AuthorizationRow = Selectable<Tables['device_authorizations']>;
export type RefreshRow = Selectable<Tables['device_refresh_tokens']>;

const byAccess = prepare<Tables, { hash: string }>()((db, p) =>
  db
    .selectFrom('device_authorizations')
    .select(['id', 'user_id', 'access_expires_at'])
    .where('access_hash', '=', p('hash')),
);

/** Whose access_token it is; an expired one is still known. */
export const findByAccess = (
  db: Executor,
  hash: string,
): Promise<Pick<AuthorizationRow, 'id' | 'user_id' | 'access_expires_at'> | undefined> => byAccess.first(db, { hash });

export const insertAuthorization = (db: Executor, row: AuthorizationRow): Promise<unknown> =>
  db.insertInto('device_authorizations').values(row).execute();

export const insertRefresh = (db: Executor, row: Omit<RefreshRow, 'used_at'>): Promise<unknown> =>
  db
    .insertInto('device_refresh_tokens')
    .values({ ...row, used_at: null })
    .execute();

/** A refresh_token with the account behind it and when that approved; both are null where the device was ended. */
export const findRefresh = (
  db: Executor,
  hash: string,
): Promise<(RefreshRow & { readonly user_id: number | null; readonly approved_at: number | null }) | undefined> =>
  db
    .selectFrom('device_refresh_tokens')
    .leftJoin('device_authorizations', 'device_authorizations.id', 'device_refresh_tokens.authorization_id')
    .selectAll('device_refresh_tokens')
    .select(['device_authorizations.user_id', 'device_authorizations.created_at as approved_at'])
    .where('hash', '=', hash)
    .executeTakeFirst();

/** Uses a refresh_token, once; answers whether this call did. */
export async function takeRefresh(db: Executor, hash: string, now: number): Promise<boolean> {
  const result = await db
    .updateTable('device_refresh_tokens')
    .set({ used_at: now })
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Replaces the access_token, which ends the old one; answers false where the device was ended meanwhile. */
export async function renewAuthorization(
  db: Executor,
  id: number,
  fresh: Pick<
    AuthorizationRow,
    'access_hash' | 'access_expires_at' | 'refresh_expires_at' | 'last_used_at' | 'last_address'
  >,
): Promise<boolean> {
  const result = await db.updateTable('device_authorizations').set(fresh).where('id', '=', id).executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Which devices to end: those that match every column named, of which there must be one. */
export type Which = Partial<
  Pick<AuthorizationRow, 'id' | 'user_id' | 'client_id' | 'device_id' | 'access_hash' | 'llm_token_id'>
>;

export type Ended = Pick<AuthorizationRow, 'id' | 'user_id' | 'client_id' | 'client_name' | 'llm_token_id'>;

/** Deletes and answers them: of two that end the same device one gets it. */
export function deleteAuthorizations(db: Executor, which: Which): Promise<Ended[]> {
  const columns = Object.entries(which) as [keyof Which, string | number][];
  if (columns.length === 0) throw new TypeError('name what to end: this would end every device there is');
  let query = db
    .deleteFrom('device_authorizations')
    .returning(['id', 'user_id', 'client_id', 'client_name', 'llm_token_id']);
  for (const [column, value] of columns) query = query.where(column, '=', value);
  return query.execute();
}

/** Answers whether that account has such a device. */
export async function nameAuthorization(db: Executor, id: number, userId: number, name: string): Promise<boolean> {
  const result = await db
    .updateTable('device_authorizations')
    .set({ client_name: name })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Newest first, with the registered name of the client. */
export async function listAuthorizations(db: Executor, userId: number, page: Page) {
  const own = db.selectFrom('device_authorizations').where('user_id', '=', userId);
  const [rows, count] = await Promise.all([
    own
      .leftJoin('device_clients', 'device_clients.client_id', 'device_authorizations.client_id')
      .selectAll('device_authorizations')
      .select('device_clients.name as registered_name')
      .orderBy('device_authorizations.id', 'desc')
      .limit(page.pageSize)
      .offset(page.offset)
      .execute(),
    own.select((row) => row.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ]);
  return { rows, total: Number(count.total) };
}

export const noteUse = (db: Executor, id: number, at: number, address: string): Promise<unknown> =>
  db
    .updateTable('device_authorizations')
    .set({ last_used_at: at, last_address: address })
    .where('id', '=', id)
    .where('last_used_at', '<', at)
    .execute();

/** Forgets refresh_tokens some time after they could be used. */
export const sweepRefresh = (db: Executor, endedBefore: number): Promise<unknown> =>
  db.deleteFrom('device_refresh_tokens').where('expires_at', '<=', endedBefore).execute();
