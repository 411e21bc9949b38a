import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { Alongside } from './submit.ts';

/** One submit's key, as it was noted. */
export interface NotedKey {
  readonly tokenId: number;
  readonly key: string;
}

/** Rows of idempotency_keys. */
export class IdempotencyStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** The row of a key noted after `since` (milliseconds). */
  find({ tokenId, key }: NotedKey, since: number) {
    return this.#database.kysely
      .selectFrom('idempotency_keys')
      .selectAll()
      .where('token_id', '=', tokenId)
      .where('key', '=', key)
      .where('created_at', '>', since)
      .executeTakeFirst();
  }

  /** Notes a key inside the reserving transaction, in the place of one from before `since`. False: another submit holds it. */
  async note(
    trx: Parameters<Alongside>[0],
    row: NotedKey & {
      readonly bodyHash: string;
      readonly taskId: string;
      readonly now: number;
      readonly since: number;
    },
  ): Promise<boolean> {
    await trx
      .deleteFrom('idempotency_keys')
      .where('token_id', '=', row.tokenId)
      .where('key', '=', row.key)
      .where('created_at', '<=', row.since)
      .execute();
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto('idempotency_keys')
      .values({
        token_id: row.tokenId,
        key: row.key,
        body_hash: row.bodyHash,
        task_id: row.taskId,
        answer: null,
        created_at: row.now,
      })
      .onConflict((conflict) => conflict.columns(['token_id', 'key']).doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }

  async keepAnswer({ tokenId, key }: NotedKey, answer: string): Promise<void> {
    await this.#database.kysely
      .updateTable('idempotency_keys')
      .where('token_id', '=', tokenId)
      .where('key', '=', key)
      .set({ answer })
      .execute();
  }

  async forget({ tokenId, key }: NotedKey): Promise<void> {
    await this.#database.kysely
      .deleteFrom('idempotency_keys')
      .where('token_id', '=', tokenId)
      .where('key', '=', key)
      .execute();
  }

  async removeBefore(time: number): Promise<void> {
    await this.#database.kysely.deleteFrom('idempotency_keys').where('created_at', '<', time).execute();
  }
}
