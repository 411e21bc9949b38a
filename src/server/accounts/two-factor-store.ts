import type { Kysely } from 'kysely';
import type { Tables } from '../tables.ts';

type Executor = Kysely<Tables>;

export interface TwoFactorRow {
  readonly secret: string;
  readonly last_step: number;
  readonly enabled_at: number | null;
}

export const findTwoFactor = (db: Executor, userId: number): Promise<TwoFactorRow | undefined> =>
  db
    .selectFrom('two_factors')
    .select(['secret', 'last_step', 'enabled_at'])
    .where('user_id', '=', userId)
    .executeTakeFirst();

/** Puts a new secret in place of one that was never turned on; answers false where two-step is on. */
export async function putSecret(db: Executor, userId: number, secret: string): Promise<boolean> {
  const result = await db
    .insertInto('two_factors')
    .values({ user_id: userId, secret, last_step: 0, enabled_at: null })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet({ secret, last_step: 0 }).where('two_factors.enabled_at', 'is', null),
    )
    .executeTakeFirst();
  return (result.numInsertedOrUpdatedRows ?? 0n) === 1n;
}

/** Turns on the secret that was checked; answers whether this call did. */
export async function turnOn(db: Executor, userId: number, secret: string, step: number, now: number) {
  const result = await db
    .updateTable('two_factors')
    .set({ enabled_at: now, last_step: step })
    .where('user_id', '=', userId)
    .where('secret', '=', secret)
    .where('enabled_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Accepts a step only when it is newer than every one before; answers whether this call did. */
export async function takeStep(db: Executor, userId: number, secret: string, step: number): Promise<boolean> {
  const result = await db
    .updateTable('two_factors')
    .set({ last_step: step })
    .where('user_id', '=', userId)
    .where('secret', '=', secret)
    .where('last_step', '<', step)
    .where('enabled_at', 'is not', null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Uses a backup code up; answers whether this call did. */
export async function takeBackupCode(db: Executor, userId: number, hash: string): Promise<boolean> {
  const result = await db
    .deleteFrom('backup_codes')
    .where('user_id', '=', userId)
    .where('hash', '=', hash)
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
}

export async function replaceBackupCodes(db: Executor, userId: number, hashes: readonly string[]): Promise<void> {
  await db.deleteFrom('backup_codes').where('user_id', '=', userId).execute();
  await db
    .insertInto('backup_codes')
    .values(hashes.map((hash) => ({ user_id: userId, hash })))
    .execute();
}

/** Answers whether this call turned it off. */
export async function turnOff(db: Executor, userId: number): Promise<boolean> {
  const result = await db
    .deleteFrom('two_factors')
    .where('user_id', '=', userId)
    .where('enabled_at', 'is not', null)
    .executeTakeFirst();
  await db.deleteFrom('backup_codes').where('user_id', '=', userId).execute();
  return result.numDeletedRows === 1n;
}

/** Which of the accounts have two-step on. */
export async function withTwoFactor(db: Executor, userIds: readonly number[]): Promise<ReadonlySet<number>> {
  if (userIds.length === 0) return new Set();
  const rows = await db
    .selectFrom('two_factors')
    .select('user_id')
    .where('user_id', 'in', [...userIds])
    .where('enabled_at', 'is not', null)
    .execute();
  return new Set(rows.map((row) => row.user_id));
}
