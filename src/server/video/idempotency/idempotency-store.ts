import type { Selectable } from 'kysely';
import type { Database } from '../../platform/db/database.ts';
import { wasChanged } from '../../platform/db/sql.ts';
import type { Tables, Trx } from '../../tables.ts';
import type { IdempotencyClaim } from './idempotency-key-and-request-hash.ts';

/** A key as one submit claimed it; a row of the same key claimed by another submit is never touched. */
export interface ClaimedKey extends IdempotencyClaim {
  readonly taskId: string;
}

/** Rows of idempotency_keys. Times are Unix milliseconds. */
export class IdempotencyStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** The row of a key claimed after `since`. */
  find({ scope, key }: IdempotencyClaim, since: number): Promise<Selectable<Tables['idempotency_keys']> | undefined> {
    return this.#database.kysely
      .selectFrom('idempotency_keys')
      .selectAll()
      .where('scope', '=', scope)
      .where('key', '=', key)
      .where('created_at', '>', since)
      .executeTakeFirst();
  }

  /**
   * Claims a key inside the reserving transaction, in place of a claim that ended at `expiredBefore`.
   * @param times `aliveUntil`: when the claim counts as abandoned unless it is renewed
   * @returns false where another submit holds it
   */
  async claim(
    trx: Trx,
    { scope, key, requestHash, taskId }: ClaimedKey,
    { now, aliveUntil, expiredBefore }: { now: number; aliveUntil: number; expiredBefore: number },
  ): Promise<boolean> {
    await trx
      .deleteFrom('idempotency_keys')
      .where('scope', '=', scope)
      .where('key', '=', key)
      .where('created_at', '<=', expiredBefore)
      .execute();
    const inserted = await trx
      .insertInto('idempotency_keys')
      .values({
        scope,
        key,
        request_hash: requestHash,
        task_id: taskId,
        result: null,
        alive_until: aliveUntil,
        created_at: now,
      })
      .onConflict((conflict) => conflict.columns(['scope', 'key']).doNothing())
      .executeTakeFirst();
    return wasChanged(inserted);
  }

  async renew({ scope, key, taskId }: ClaimedKey, aliveUntil: number): Promise<void> {
    await this.#database.kysely
      .updateTable('idempotency_keys')
      .where('scope', '=', scope)
      .where('key', '=', key)
      .where('task_id', '=', taskId)
      .set({ alive_until: aliveUntil })
      .execute();
  }

  /** @param result JSON of the SubmitResult */
  async saveResult({ scope, key, taskId }: ClaimedKey, result: string): Promise<void> {
    await this.#database.kysely
      .updateTable('idempotency_keys')
      .where('scope', '=', scope)
      .where('key', '=', key)
      .where('task_id', '=', taskId)
      .set({ result })
      .execute();
  }

  /** Releases a key whose task has failed or was never stored; one whose task may still succeed is kept. */
  async release({ scope, key, taskId }: ClaimedKey): Promise<void> {
    await this.#database.kysely
      .deleteFrom('idempotency_keys')
      .where('scope', '=', scope)
      .where('key', '=', key)
      .where('task_id', '=', taskId)
      .where(({ exists, not, selectFrom }) =>
        not(exists(selectFrom('tasks').select('seq').where('id', '=', taskId).where('status', '<>', 'FAILURE'))),
      )
      .execute();
  }

  async deleteBefore(time: number): Promise<void> {
    await this.#database.kysely.deleteFrom('idempotency_keys').where('created_at', '<', time).execute();
  }
}
