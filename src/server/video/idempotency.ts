import { createHash } from 'node:crypto';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, invalid } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import { toSubmitAnswer } from './faces/openai.ts';
import type { TaskStore } from './store.ts';
import type { Alongside } from './submit.ts';
import type { Json } from './vendor.ts';

const LIFE_MS = 24 * 3600_000;
/** A submit that has not answered by then was cut off by a stop of its process. */
const ABANDONED_MS = 120_000;

/**
 * Idempotency-Key on submits: the same key and body give the same answer for 24 hours, another body is an error. The key is
 * noted in the transaction that reserves, so that neither can exist without the other. A submit that failed leaves no key
 * behind: nothing was charged, and trying again is what the caller wants.
 */
export class Idempotency {
  readonly #database: Database<Tables>;
  readonly #store: TaskStore;
  readonly #clock: Clock;
  readonly #underWay = new Map<string, Promise<Json>>();

  constructor(database: Database<Tables>, store: TaskStore, clock: Clock) {
    this.#database = database;
    this.#store = store;
    this.#clock = clock;
  }

  async once(
    tokenId: number,
    key: string,
    body: Buffer,
    submit: (alongside: Alongside) => Promise<Json>,
  ): Promise<Json> {
    if (!/^[\x21-\x7e]{1,255}$/.test(key))
      throw invalid('Idempotency-Key must be 1 to 255 visible ASCII characters.', 'Idempotency-Key');
    const bodyHash = createHash('sha256').update(body).digest('hex');
    const known = await this.#known(tokenId, key, bodyHash);
    if (known !== undefined) return known;
    const flight = `${tokenId} ${key}`;
    // The row decides between processes; within one, duplicates wait for the first instead of being sent away.
    const running = this.#start(tokenId, key, bodyHash, submit);
    this.#underWay.set(flight, running);
    return running.finally(() => this.#underWay.delete(flight));
  }

  async #known(tokenId: number, key: string, bodyHash: string): Promise<Json | undefined> {
    const row = await this.#database.kysely
      .selectFrom('idempotency_keys')
      .selectAll()
      .where('token_id', '=', tokenId)
      .where('key', '=', key)
      .where('created_at', '>', this.#clock.now() - LIFE_MS)
      .executeTakeFirst();
    const running = this.#underWay.get(`${tokenId} ${key}`);
    if (row === undefined && running === undefined) return undefined;
    if (row !== undefined && row.body_hash !== bodyHash) throw new AppError('idempotency_mismatch');
    if (row?.answer != null) return JSON.parse(row.answer);
    if (running !== undefined) {
      const answer = await running;
      // The first may have had another body: its row says so by now.
      return (await this.#known(tokenId, key, bodyHash)) ?? answer;
    }
    if (row === undefined || row.created_at > this.#clock.now() - ABANDONED_MS)
      throw new AppError('idempotency_in_progress', { retryAfterSeconds: 2 });
    const task = await this.#store.byId(row.task_id);
    if (task === undefined) throw new AppError('idempotency_in_progress', { retryAfterSeconds: 2 });
    return toSubmitAnswer({ task, raw: undefined });
  }

  async #start(
    tokenId: number,
    key: string,
    bodyHash: string,
    submit: (alongside: Alongside) => Promise<Json>,
  ): Promise<Json> {
    const now = this.#clock.now();
    let noted = false;
    try {
      const answer = await submit(async (trx, taskId) => {
        await trx
          .deleteFrom('idempotency_keys')
          .where('token_id', '=', tokenId)
          .where('key', '=', key)
          .where('created_at', '<=', now - LIFE_MS)
          .execute();
        const { numInsertedOrUpdatedRows } = await trx
          .insertInto('idempotency_keys')
          .values({ token_id: tokenId, key, body_hash: bodyHash, task_id: taskId, answer: null, created_at: now })
          .onConflict((conflict) => conflict.columns(['token_id', 'key']).doNothing())
          .executeTakeFirst();
        if (numInsertedOrUpdatedRows !== 1n) throw new AppError('idempotency_in_progress', { retryAfterSeconds: 2 });
        noted = true;
      });
      await this.#row(tokenId, key)
        .set({ answer: JSON.stringify(answer) })
        .execute();
      return answer;
    } catch (error) {
      if (noted)
        await this.#database.kysely
          .deleteFrom('idempotency_keys')
          .where('token_id', '=', tokenId)
          .where('key', '=', key)
          .execute();
      throw error;
    }
  }

  #row(tokenId: number, key: string) {
    return this.#database.kysely.updateTable('idempotency_keys').where('token_id', '=', tokenId).where('key', '=', key);
  }

  /** Removes keys past their life; called now and then. */
  async sweep(): Promise<void> {
    await this.#database.kysely
      .deleteFrom('idempotency_keys')
      .where('created_at', '<', this.#clock.now() - LIFE_MS)
      .execute();
  }
}
