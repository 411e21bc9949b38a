import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { Alongside } from './submit.ts';

export interface KeyName {
  readonly tokenId: number;
  readonly key: string;
}

/** A key as one submit noted it; another submit's row of the same name is never touched. */
export interface NotedKey extends KeyName {
  readonly taskId: string;
}

/** Rows of idempotency_keys. */
export class IdempotencyStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** The row of a key noted after `since` (milliseconds). */
  find({ tokenId, key }: KeyName, since: number) {
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

  async keepAnswer({ tokenId, key, taskId }: NotedKey, answer: string): Promise<void> {
    await this.#database.kysely
      .updateTable('idempotency_keys')
      .where('token_id', '=', tokenId)
      .where('key', '=', key)
      .where('task_id', '=', taskId)
      .set({ answer })
      .execute();
  }

  /** Lets a key go whose task has failed; one whose task may still come to something is kept. */
  async forget({ tokenId, key, taskId }: NotedKey): Promise<void> {
    await this.#database.kysely
      .deleteFrom('idempotency_keys')
      .where('token_id', '=', tokenId)
      .where('key', '=', key)
      .where('task_id', '=', taskId)
      .where(({ exists, not, selectFrom }) =>
        not(exists(selectFrom('tasks').select('seq').where('id', '=', taskId).where('status', '<>', 'FAILURE'))),
      )
      .execute();
  }

  async removeBefore(time: number): Promise<void> {
    await this.#database.kysely.deleteFrom('idempotency_keys').where('created_at', '<', time).execute();
  }
}
