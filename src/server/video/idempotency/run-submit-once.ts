import { DAY_MS } from '../../../contract/time-units.ts';
import { AppError } from '../../platform/app-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Tables } from '../../tables.ts';
import { type SubmitResult, toSubmitResult } from '../submit/submitted-task-and-vendor-response.ts';
import type { TaskStore } from '../task-store.ts';
import type { ClaimKeyInTransaction } from './claim-key-in-transaction-type.ts';
import type { IdempotencyClaim } from './idempotency-key-and-request-hash.ts';
import { IdempotencyStore } from './idempotency-store.ts';

const KEY_TTL_MS = DAY_MS;
/** A submit in progress whose process has not said for so long that it is alive was cut off with its process. */
const LEASE_MS = 8_000;
const RENEW_INTERVAL_MS = 2_500;
/** With the lease: a repeated submit is answered within ten seconds of a crash. */
const RETRY_AFTER_SECONDS = 2;

type Submit = (claimKey: ClaimKeyInTransaction) => Promise<SubmitResult>;

/**
 * Idempotency-Key on submits: for 24 hours the same key and request return the same task, and another request with the key is
 * an error. The key is stored in the transaction that reserves the quota, so that neither exists without the other. A submit
 * whose task failed releases its key: nothing was charged, and trying again is what the caller wants. Where only the response
 * was lost after the vendor had begun, the key stays, since a second submit would begin and charge a second video.
 */
export class Idempotency {
  readonly #keys: IdempotencyStore;
  readonly #tasks: Pick<TaskStore, 'findById'>;
  readonly #clock: Clock;
  /** Submits in progress in this process, by scope and key. */
  readonly #inProgress = new Map<string, { readonly requestHash: string; readonly result: Promise<SubmitResult> }>();

  constructor(database: Database<Tables>, tasks: Pick<TaskStore, 'findById'>, clock: Clock) {
    this.#keys = new IdempotencyStore(database);
    this.#tasks = tasks;
    this.#clock = clock;
  }

  /**
   * @param submit is called where the key is new; it must run the function it is given inside its transaction
   * @throws AppError `idempotency_mismatch`, `idempotency_in_progress`, and what `submit` throws
   */
  runOnce(claim: IdempotencyClaim, submit: Submit): Promise<SubmitResult> {
    const { scope, key, requestHash } = claim;
    const id = `${scope} ${key}`;
    // The row decides between processes; within one, duplicates wait for the first instead of being refused. Nothing is awaited
    // between reading and setting the map, so that exactly one of several concurrent duplicates is the first.
    const running = this.#inProgress.get(id);
    if (running !== undefined) {
      if (running.requestHash !== requestHash) throw new AppError('idempotency_mismatch');
      return running.result;
    }
    const result = this.#resultOf(claim, submit).finally(() => this.#inProgress.delete(id));
    this.#inProgress.set(id, { requestHash, result });
    return result;
  }

  async #resultOf(claim: IdempotencyClaim, submit: Submit): Promise<SubmitResult> {
    const now = this.#clock.now();
    const row = await this.#keys.find(claim, now - KEY_TTL_MS);
    if (row === undefined) return this.#start(claim, submit);
    if (row.request_hash !== claim.requestHash) throw new AppError('idempotency_mismatch');
    if (row.result !== null) return JSON.parse(row.result);
    const task = row.alive_until <= now ? await this.#tasks.findById(row.task_id) : undefined;
    if (task === undefined) throw inProgress();
    return toSubmitResult(task, null);
  }

  async #start(claim: IdempotencyClaim, submit: Submit): Promise<SubmitResult> {
    let taskId: string | undefined;
    const renew = setInterval(() => {
      if (taskId === undefined) return;
      // Without a database the lease ends: a repeated submit is told of the task then, and still begins nothing.
      this.#keys.renew({ ...claim, taskId }, this.#clock.now() + LEASE_MS).catch(() => {});
    }, RENEW_INTERVAL_MS).unref();
    try {
      const result = await submit(async (trx, id) => {
        const now = this.#clock.now();
        const times = { now, aliveUntil: now + LEASE_MS, expiredBefore: now - KEY_TTL_MS };
        if (!(await this.#keys.claim(trx, { ...claim, taskId: id }, times))) throw inProgress();
        taskId = id;
      });
      if (taskId !== undefined) await this.#keys.saveResult({ ...claim, taskId }, JSON.stringify(result));
      return result;
    } catch (error) {
      if (taskId !== undefined) await this.#keys.release({ ...claim, taskId });
      throw error;
    } finally {
      clearInterval(renew);
    }
  }

  /** Deletes expired keys; called every minute. */
  async removeExpired(): Promise<void> {
    await this.#keys.deleteBefore(this.#clock.now() - KEY_TTL_MS);
  }
}

const inProgress = (): AppError => new AppError('idempotency_in_progress', { retryAfterSeconds: RETRY_AFTER_SECONDS });
