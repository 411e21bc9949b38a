import { type Selectable, sql } from 'kysely';
import type { CODE_SORTS, CodeStatus } from '../../contract/plans.ts';
import type { Page, Sort } from '../../contract/responses.ts';
import type { Database } from '../platform/db/database.ts';
import { nullsLast, wasChanged } from '../platform/db/sql.ts';
import { randomText } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

/** A stored redemption code. */
export type CodeRow = Selectable<Tables['redemption_codes']>;
/** A code with the columns of its plan and batch that lists show. */
export type CodeListItem = CodeRow & { readonly package_code: string | null; readonly note: string };

/** Which codes to list; absent fields match everything. */
export interface CodeFilter {
  readonly status?: CodeStatus;
  readonly batchId?: number;
  readonly packageCode?: string;
}

/** Sort order of a list of codes. */
export type CodeSort = Sort<(typeof CODE_SORTS)[number]>;

const SORT_COLUMNS = { batch: 'r.batch_id', expires: 'r.expires_at', used: 'r.used_at' } as const;

/** Both databases limit the number of parameters per statement. */
const INSERT_BATCH_SIZE = 100;

/** Stores redemption codes as hashes, with the batches they were created in. */
export class RedemptionCodeStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insertBatch(trx: Trx, note: string, createdBy: number, now: number): Promise<number> {
    const row = await trx
      .insertInto('redemption_batches')
      .values({ note, created_by: createdBy, created_at: now })
      .returning('id')
      .executeTakeFirstOrThrow();
    return row.id;
  }

  async insertCodes(
    trx: Trx,
    codes: readonly Pick<CodeRow, 'batch_id' | 'hash' | 'hint' | 'plan_id' | 'quota' | 'expires_at' | 'created_at'>[],
  ): Promise<void> {
    for (let from = 0; from < codes.length; from += INSERT_BATCH_SIZE) {
      const rows = codes
        .slice(from, from + INSERT_BATCH_SIZE)
        .map((code) => ({ ...code, state: 'unused' as const, used_by: null, used_at: null }));
      await trx.insertInto('redemption_codes').values(rows).execute();
    }
  }

  /**
   * Redeems a code atomically: exactly one of several concurrent attempts succeeds.
   * @returns the code; undefined when there is none to redeem
   */
  redeem(trx: Trx, hash: string, userId: number, now: number): Promise<CodeRow | undefined> {
    return trx
      .updateTable('redemption_codes')
      .set({ state: 'used', used_by: userId, used_at: now })
      .where('hash', '=', hash)
      .where('state', '=', 'unused')
      .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', now)]))
      .returningAll()
      .executeTakeFirst();
  }

  findByHash(hash: string): Promise<CodeRow | undefined> {
    return this.#database.kysely.selectFrom('redemption_codes').selectAll().where('hash', '=', hash).executeTakeFirst();
  }

  /** Id of the account that created a batch. */
  async findCreator(trx: Trx, batchId: number): Promise<number> {
    const batch = await trx
      .selectFrom('redemption_batches')
      .select('created_by')
      .where('id', '=', batchId)
      .executeTakeFirstOrThrow();
    return batch.created_by;
  }

  /** Newest first unless sorted; codes without the sorted value come last. */
  async list(
    filter: CodeFilter,
    now: number,
    { pageSize, offset }: Pick<Page, 'pageSize' | 'offset'>,
    sort?: CodeSort,
  ) {
    const { kysely } = this.#database;
    const [rows, count] = await Promise.all([
      selectListItems(kysely, filter, now)
        .selectAll('r')
        .select(['p.package_code', 'b.note'])
        .$if(sort !== undefined, (query) =>
          query.orderBy(SORT_COLUMNS[sort?.key ?? 'batch'], nullsLast(sort?.descending === true)),
        )
        .orderBy('r.id', 'desc')
        .limit(pageSize)
        .offset(offset)
        .execute(),
      selectListItems(kysely, filter, now)
        .select((row) => row.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow(),
    ]);
    return { rows: rows as CodeListItem[], total: Number(count.total) };
  }

  find(id: number, db: Executor = this.#database.kysely): Promise<CodeListItem | undefined> {
    return selectListItems(db, {}, 0)
      .selectAll('r')
      .select(['p.package_code', 'b.note'])
      .where('r.id', '=', id)
      .executeTakeFirst();
  }

  /** @returns whether the code was unused and therefore changed */
  async setExpiry(trx: Trx, id: number, expiresAt: number | null): Promise<boolean> {
    const update = trx.updateTable('redemption_codes').set({ expires_at: expiresAt });
    const result = await update.where('id', '=', id).where('state', '=', 'unused').executeTakeFirst();
    return wasChanged(result);
  }

  /** @returns whether the code was unused and therefore voided */
  async void(trx: Trx, id: number): Promise<boolean> {
    return wasChanged(await voidUnused(trx).where('id', '=', id).executeTakeFirst());
  }

  /** @returns the number of codes that were unused */
  async voidBatch(trx: Trx, batchId: number): Promise<number> {
    return Number((await voidUnused(trx).where('batch_id', '=', batchId).executeTakeFirst()).numUpdatedRows);
  }

  async batchExists(trx: Trx, id: number): Promise<boolean> {
    const row = await trx
      .selectFrom('redemption_batches')
      .select(sql<number>`1`.as('one'))
      .where('id', '=', id)
      .executeTakeFirst();
    return row !== undefined;
  }
}

const voidUnused = (trx: Trx) =>
  trx.updateTable('redemption_codes').set({ state: 'voided' }).where('state', '=', 'unused');

function selectListItems(db: Executor, { status, batchId, packageCode }: CodeFilter, now: number) {
  let query = db
    .selectFrom('redemption_codes as r')
    .innerJoin('redemption_batches as b', 'b.id', 'r.batch_id')
    .leftJoin('plans as p', 'p.id', 'r.plan_id');
  if (batchId !== undefined) query = query.where('r.batch_id', '=', batchId);
  if (packageCode !== undefined) query = query.where('p.package_code', '=', packageCode);
  if (status === 'used' || status === 'voided') query = query.where('r.state', '=', status);
  if (status === 'unused')
    query = query
      .where('r.state', '=', 'unused')
      .where((row) => row.or([row('r.expires_at', 'is', null), row('r.expires_at', '>', now)]));
  if (status === 'expired') query = query.where('r.state', '=', 'unused').where('r.expires_at', '<=', now);
  return query;
}

/**
 * Crockford's base 32 (https://www.crockford.com/base32.html) lacks the easily confused I, L, O and U; 20 characters
 * carry 100 bits.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 20;

/** A new code, without dashes. */
export const generateCode = (): string => randomText(LENGTH, ALPHABET);

/** Formats a code for display: `XXXXX-XXXXX-XXXXX-XXXXX`. */
export const formatCode = (code: string): string => code.match(/.{5}/g)?.join('-') ?? code;

/** Keeps the first and last characters, by which a code can be recognized in a list. */
export const maskCode = (code: string): string => `${code.slice(0, 5)}-…-${code.slice(-4)}`;

/**
 * Normalizes a typed or pasted code: ignores case, spaces and dashes, and maps similar characters to the intended ones.
 */
export const normalizeCode = (typed: string): string =>
  typed
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');
