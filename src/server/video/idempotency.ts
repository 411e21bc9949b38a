import { createHash } from 'node:crypto';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, invalid } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import { toSubmitAnswer } from './faces/openai.ts';
import { IdempotencyStore } from './idempotency-store.ts';
import type { TaskStore } from './store.ts';
import type { Alongside } from './submit.ts';
import type { Json } from './vendor.ts';

const LIFE_MS = 24 * 3600_000;
/** A submit that has not answered by then was cut off by a stop of its process. */
const ABANDONED_MS = 120_000;

/**
 * Idempotency-Key on submits: the same key and body give the same answer for 24 hours, another body is an error. The key is
 * noted in the transaction that reserves, so that neither can exist without the other. A submit whose task failed leaves no
 * key behind: nothing was charged, and trying again is what the caller wants. Where only the answer went wrong, after the
 * vendor had begun, the key stays: trying again must not begin and charge a second video.
 */
export class Idempotency {
  readonly #keys: IdempotencyStore;
  readonly #store: TaskStore;
  readonly #clock: Clock;
  readonly #underWay = new Map<string, { readonly bodyHash: string; readonly answer: Promise<Json> }>();

  constructor(database: Database<Tables>, store: TaskStore, clock: Clock) {
    this.#keys = new IdempotencyStore(database);
    this.#store = store;
    this.#clock = clock;
  }

  /** `body`: everything two submits must have in common to be one, the address included. */
  once(tokenId: number, key: string, body: Buffer, submit: (alongside: Alongside) => Promise<Json>): Promise<Json> {
    if (!/^[\x21-\x7e]{1,255}$/.test(key))
      throw invalid('Idempotency-Key must be 1 to 255 visible ASCII characters.', 'Idempotency-Key');
    const bodyHash = createHash('sha256').update(body).digest('hex');
    const flight = `${tokenId} ${key}`;
    // The row decides between processes; within one, duplicates wait for the first instead of being sent away. Nothing is
    // awaited between the look and the note, so that of many at once exactly one is the first.
    const running = this.#underWay.get(flight);
    if (running !== undefined) {
      if (running.bodyHash !== bodyHash) throw new AppError('idempotency_mismatch');
      return running.answer;
    }
    const answer = this.#answer(tokenId, key, bodyHash, submit).finally(() => this.#underWay.delete(flight));
    this.#underWay.set(flight, { bodyHash, answer });
    return answer;
  }

  async #answer(
    tokenId: number,
    key: string,
    bodyHash: string,
    submit: (alongside: Alongside) => Promise<Json>,
  ): Promise<Json> {
    const now = this.#clock.now();
    const row = await this.#keys.find({ tokenId, key }, now - LIFE_MS);
    if (row === undefined) return this.#start(tokenId, key, bodyHash, submit);
    if (row.body_hash !== bodyHash) throw new AppError('idempotency_mismatch');
    if (row.answer !== null) return JSON.parse(row.answer);
    const task = row.created_at > now - ABANDONED_MS ? undefined : await this.#store.byId(row.task_id);
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
    let noted: string | undefined;
    try {
      const answer = await submit(async (trx, taskId) => {
        const row = { tokenId, key, bodyHash, taskId, now, since: now - LIFE_MS };
        if (!(await this.#keys.note(trx, row))) throw new AppError('idempotency_in_progress', { retryAfterSeconds: 2 });
        noted = taskId;
      });
      if (noted !== undefined) await this.#keys.keepAnswer({ tokenId, key, taskId: noted }, JSON.stringify(answer));
      return answer;
    } catch (error) {
      if (noted !== undefined) await this.#keys.forget({ tokenId, key, taskId: noted });
      throw error;
    }
  }

  /** Removes keys past their life; called now and then. */
  async sweep(): Promise<void> {
    await this.#keys.removeBefore(this.#clock.now() - LIFE_MS);
  }
}
