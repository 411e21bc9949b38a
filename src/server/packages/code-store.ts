import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { CodeStatus } from '../../contract/packages.ts';
import type { Tables } from '../tables.ts';

type Executor = Kysely<Tables>;
type Trx = Transaction<Tables>;
export type CodeRow = Selectable<Tables['redemption_codes']>;
/** With what a list shows beside it. */
export type ShownCode = CodeRow & { readonly package_code: string | null; readonly note: string };

export async function insertBatch(trx: Trx, note: string, createdBy: number, now: number): Promise<number> {
  const row = await trx
    .insertInto('redemption_batches')
    .values({ note, created_by: createdBy, created_at: now })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

export async function insertCodes(
  trx: Trx,
  codes: readonly Pick<CodeRow, 'batch_id' | 'hash' | 'hint' | 'card_id' | 'quota' | 'expires_at' | 'created_at'>[],
): Promise<void> {
  // SQLite and PostgreSQL bound the number of parameters of one statement.
  for (let from = 0; from < codes.length; from += 100) {
    const some = codes
      .slice(from, from + 100)
      .map((code) => ({ ...code, state: 'unused' as const, used_by: null, used_at: null }));
    await trx.insertInto('redemption_codes').values(some).execute();
  }
}

/** Uses the code up; undefined when it is not there to be used. Of any number at once, one gets it. */
export const takeCode = (trx: Trx, hash: string, userId: number, now: number): Promise<CodeRow | undefined> =>
  trx
    .updateTable('redemption_codes')
    .set({ state: 'used', used_by: userId, used_at: now })
    .where('hash', '=', hash)
    .where('state', '=', 'unused')
    .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', now)]))
    .returningAll()
    .executeTakeFirst();

export const findByHash = (db: Executor, hash: string): Promise<CodeRow | undefined> =>
  db.selectFrom('redemption_codes').selectAll().where('hash', '=', hash).executeTakeFirst();

export interface CodeFilter {
  readonly status?: CodeStatus | undefined;
  readonly batchId?: number | undefined;
  readonly packageCode?: string | undefined;
}

const shown = (db: Executor, { status, batchId, packageCode }: CodeFilter, now: number) => {
  let query = db
    .selectFrom('redemption_codes as r')
    .innerJoin('redemption_batches as b', 'b.id', 'r.batch_id')
    .leftJoin('package_cards as c', 'c.id', 'r.card_id');
  if (batchId !== undefined) query = query.where('r.batch_id', '=', batchId);
  if (packageCode !== undefined) query = query.where('c.package_code', '=', packageCode);
  if (status === 'used' || status === 'voided') query = query.where('r.state', '=', status);
  if (status === 'unused')
    query = query
      .where('r.state', '=', 'unused')
      .where((row) => row.or([row('r.expires_at', 'is', null), row('r.expires_at', '>', now)]));
  if (status === 'expired') query = query.where('r.state', '=', 'unused').where('r.expires_at', '<=', now);
  return query;
};

export async function listCodes(db: Executor, filter: CodeFilter, now: number, limit: number, offset: number) {
  const [rows, count] = await Promise.all([
    shown(db, filter, now)
      .selectAll('r')
      .select(['c.package_code', 'b.note'])
      .orderBy('r.id', 'desc')
      .limit(limit)
      .offset(offset)
      .execute(),
    shown(db, filter, now)
      .select((row) => row.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow(),
  ]);
  return { rows: rows as ShownCode[], total: Number(count.total) };
}

export const findCode = (db: Executor, id: number): Promise<ShownCode | undefined> =>
  shown(db, {}, 0).selectAll('r').select(['c.package_code', 'b.note']).where('r.id', '=', id).executeTakeFirst();

/** Whether the code was unused until now. */
export async function setCodeEnd(trx: Trx, id: number, expiresAt: number | null): Promise<boolean> {
  const changing = trx.updateTable('redemption_codes').set({ expires_at: expiresAt });
  const result = await changing.where('id', '=', id).where('state', '=', 'unused').executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

const voiding = (trx: Trx) =>
  trx.updateTable('redemption_codes').set({ state: 'voided' }).where('state', '=', 'unused');

/** Whether the code was unused until now. */
export async function voidCode(trx: Trx, id: number): Promise<boolean> {
  return (await voiding(trx).where('id', '=', id).executeTakeFirst()).numUpdatedRows === 1n;
}

export async function voidBatch(trx: Trx, batchId: number): Promise<number> {
  return Number((await voiding(trx).where('batch_id', '=', batchId).executeTakeFirst()).numUpdatedRows);
}

export async function batchExists(trx: Trx, id: number): Promise<boolean> {
  const row = await trx
    .selectFrom('redemption_batches')
    .select(sql<number>`1`.as('one'))
    .where('id', '=', id)
    .executeTakeFirst();
  return row !== undefined;
}
