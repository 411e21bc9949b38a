import type { Role } from '../../contract/account-fields.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';

/** SQL of the verification: what is stored here of what was imported. */
export class VerifyStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Roles of the accounts that are there, removed ones too: their owners may have left since. */
  async accounts(ids: readonly number[]): Promise<ReadonlyMap<number, Role>> {
    if (ids.length === 0) return new Map();
    const { kysely } = this.#database;
    const rows = await kysely.selectFrom('accounts').select(['id', 'role']).where('id', 'in', ids).execute();
    return new Map(rows.map(({ id, role }) => [id, role]));
  }

  /** Imported balances by their cause. */
  async grants(
    refs: readonly string[],
  ): Promise<ReadonlyMap<string, { readonly userId: number; readonly amount: number }>> {
    if (refs.length === 0) return new Map();
    const rows = await this.#database.kysely
      .selectFrom('ledger')
      .select(['ref', 'user_id', 'amount'])
      .where('kind', '=', 'grant')
      .where('ref', 'in', refs)
      .execute();
    return new Map(rows.map((row) => [row.ref, { userId: row.user_id, amount: row.amount }]));
  }

  /** The sum of all balances an import granted, with how many there are. */
  async grantTotal(importId: number): Promise<{ readonly count: number; readonly sum: bigint }> {
    const prefix = `import:${importId}:`;
    const rows = await this.#database.kysely
      .selectFrom('ledger')
      .select(({ fn }) => [fn.countAll<number>().as('count'), fn.sum<number | string | null>('amount').as('sum')])
      .where('kind', '=', 'grant')
      .where('ref', '>=', prefix)
      .where('ref', '<', `${prefix}\uffff`)
      .executeTakeFirstOrThrow();
    return { count: Number(rows.count), sum: BigInt(rows.sum ?? 0) };
  }

  async tokens(hashes: readonly string[]) {
    if (hashes.length === 0) return new Map<string, never>();
    const rows = await this.#database.kysely
      .selectFrom('tokens')
      .leftJoin('token_limits', 'token_limits.token_id', 'tokens.id')
      .select(['tokens.hash', 'tokens.id', 'tokens.user_id', 'tokens.expires_at', 'token_limits.quota_limit'])
      .where('tokens.hash', 'in', hashes)
      .execute();
    return new Map(rows.map((row) => [row.hash, row]));
  }

  /** When these channels were changed last, Unix milliseconds. */
  async channels(ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.kysely
      .selectFrom('channels')
      .select(['id', 'updated_at'])
      .where('id', 'in', ids)
      .execute();
    return new Map(rows.map((row) => [row.id, row.updated_at]));
  }

  /** Quota of codes by their id. */
  async codes(ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.kysely
      .selectFrom('redemption_codes')
      .select(['id', 'quota'])
      .where('id', 'in', ids)
      .execute();
    return new Map(rows.map((row) => [row.id, row.quota]));
  }
}
