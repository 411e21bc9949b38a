import type { Kysely } from 'kysely';
import type { Tables } from '../tables.ts';

type Executor = Kysely<Tables>;
export type BindingKind = 'phone' | 'messaging';

/** Kinds each of the accounts has bound. */
export async function findBindings(
  db: Executor,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, ReadonlySet<BindingKind>>> {
  const found = new Map<number, Set<BindingKind>>();
  if (userIds.length === 0) return found;
  const rows = await db
    .selectFrom('bindings')
    .select(['user_id', 'kind'])
    .where('user_id', 'in', [...userIds])
    .execute();
  for (const { user_id, kind } of rows) found.set(user_id, (found.get(user_id) ?? new Set()).add(kind));
  return found;
}

/** Binds, in place of what was bound before; answers false where another account holds the value. */
export async function putBinding(
  db: Executor,
  userId: number,
  kind: BindingKind,
  value: string,
  now: number,
): Promise<boolean> {
  await db.deleteFrom('bindings').where('user_id', '=', userId).where('kind', '=', kind).execute();
  const result = await db
    .insertInto('bindings')
    .values({ user_id: userId, kind, value, created_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

export interface PhoneCode {
  readonly user_id: number;
  readonly phone: string;
  /** Sealed. */
  readonly code: string;
  readonly expires_at: number;
}

/** The newest code of an account is its only one. */
export const putPhoneCode = (db: Executor, code: PhoneCode): Promise<unknown> =>
  db
    .insertInto('phone_codes')
    .values({ ...code, wrong: 0 })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ ...code, wrong: 0 }))
    .execute();

/** Books one try before it is looked at; undefined: no code runs for that phone, or its tries are used up. */
export const bookPhoneTry = (db: Executor, userId: number, phone: string, most: number, now: number) =>
  db
    .updateTable('phone_codes')
    .set((row) => ({ wrong: row('wrong', '+', 1) }))
    .where('user_id', '=', userId)
    .where('phone', '=', phone)
    .where('wrong', '<', most)
    .where('expires_at', '>', now)
    .returning('code')
    .executeTakeFirst();

/** Consumes a code; answers whether this call did. */
export async function takePhoneCode(db: Executor, userId: number, code: string): Promise<boolean> {
  const result = await db
    .deleteFrom('phone_codes')
    .where('user_id', '=', userId)
    .where('code', '=', code)
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
}
