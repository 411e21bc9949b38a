import type { Database } from '../../platform/db/database.ts';
import type { Executor, Tables, Trx } from '../../tables.ts';

/** Sources kept for one account; the least recently used go first. */
const MAX_PER_ACCOUNT = 20;

/** SQL of `known_login_sources`: devices and networks from which an account has logged in. */
export class KnownSourceStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Which of the sources the account has logged in from since `usedSince` (Unix milliseconds). */
  async findKnown(
    userId: number,
    sources: readonly string[],
    usedSince: number,
    db: Executor = this.#database.kysely,
  ): Promise<ReadonlySet<string>> {
    if (sources.length === 0) return new Set();
    const rows = await db
      .selectFrom('known_login_sources')
      .select('source')
      .where('user_id', '=', userId)
      .where('source', 'in', [...sources])
      .where('last_used_at', '>=', usedSince)
      .execute();
    return new Set(rows.map((row) => row.source));
  }

  /** Remembers sources of a login that succeeded. */
  async remember(trx: Trx, userId: number, sources: readonly string[], now: number): Promise<void> {
    for (const source of sources) {
      await trx
        .insertInto('known_login_sources')
        .values({ user_id: userId, source, last_used_at: now })
        .onConflict((conflict) => conflict.columns(['user_id', 'source']).doUpdateSet({ last_used_at: now }))
        .execute();
    }
    const surplus = await trx
      .selectFrom('known_login_sources')
      .select('source')
      .where('user_id', '=', userId)
      .orderBy('last_used_at', 'desc')
      .orderBy('source')
      .offset(MAX_PER_ACCOUNT)
      .limit(MAX_PER_ACCOUNT)
      .execute();
    if (surplus.length === 0) return;
    await trx
      .deleteFrom('known_login_sources')
      .where('user_id', '=', userId)
      .where(
        'source',
        'in',
        surplus.map((row) => row.source),
      )
      .execute();
  }

  async deleteOfUser(trx: Trx, userId: number): Promise<void> {
    await trx.deleteFrom('known_login_sources').where('user_id', '=', userId).execute();
  }

  async deleteUnusedSince(time: number): Promise<void> {
    await this.#database.kysely.deleteFrom('known_login_sources').where('last_used_at', '<', time).execute();
  }
}
