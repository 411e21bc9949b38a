import { createHash } from 'node:crypto';
import type { Selectable } from 'kysely';
import { DAY_MS } from '../../contract/time-units.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import { readIdempotencyKey } from '../platform/idempotency-key.ts';
import type { Tables, Trx } from '../tables.ts';
import { type SubmitResult, type TaskStore, toSubmitResult } from './task-store.ts';

const KEY_TTL_MS = DAY_MS;
/** A submit in progress whose process has not renewed its lease for this long was interrupted when the process died. */
const LEASE_MS = 8_000;
const RENEW_INTERVAL_MS = 2_500;
/** With the lease: a repeated submit gets its answer within ten seconds of a crash. */
const RETRY_AFTER_SECONDS = 2;

type Submit = (claimKey: ClaimKeyInTransaction) => Promise<SubmitResult>;

/**
 * Idempotency-Key on submits: for 24 hours the same key and request return the same task, and a different request with
 * the same key is an error. The key is stored in the transaction that reserves the quota, so that neither exists
 * without the other. A submit whose task failed releases its key: nothing was charged, and the caller wants to retry.
 * Where only the response was lost after the vendor had started, the key stays, because a second submit would start and
 * charge a second video.
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
   * Runs `submit` once per key.
   * @param submit called if the key is new; must run the function it receives inside its transaction
   * @throws AppError `idempotency_mismatch`, `idempotency_in_progress`, and any error of `submit`
   */
  runOnce(claim: IdempotencyClaim, submit: Submit): Promise<SubmitResult> {
    const { scope, key, requestHash } = claim;
    const id = `${scope} ${key}`;
    // Between processes the row decides; within one, duplicates wait for the first instead of being refused. There is
    // no await between reading and writing the map, so exactly one of several concurrent duplicates is the first.
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
    const row = await this.#keys.find(claim, now - ttlOf(claim));
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
      // If the database is unavailable, the lease expires: a repeated submit then finds the stored task and still
      // starts nothing.
      this.#keys.renew({ ...claim, taskId }, this.#clock.now() + LEASE_MS).catch(() => {});
    }, RENEW_INTERVAL_MS).unref();
    try {
      const result = await submit(async (trx, id) => {
        const now = this.#clock.now();
        const times = { now, aliveUntil: now + LEASE_MS, expiredBefore: now - ttlOf(claim) };
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

  /** Deletes expired keys. Called every minute. */
  async removeExpired(): Promise<void> {
    await this.#keys.deleteBefore(this.#clock.now() - KEY_TTL_MS);
  }
}

const ttlOf = ({ ttlMs = KEY_TTL_MS }: IdempotencyClaim): number => ttlMs;

const inProgress = (): AppError => new AppError('idempotency_in_progress', { retryAfterSeconds: RETRY_AFTER_SECONDS });

/** A key as claimed by one submit. Rows of the same key claimed by another submit are never changed. */
interface ClaimedKey extends IdempotencyClaim {
  readonly taskId: string;
}

/** Rows of idempotency_keys. Times are Unix milliseconds. */
class IdempotencyStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Finds the row of a key claimed after `since`. */
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
   * Claims a key inside the reserving transaction, replacing a claim that ended at `expiredBefore`.
   * @param times `aliveUntil`: when the claim counts as abandoned unless renewed
   * @returns false when another submit holds the key
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

  /** Releases a key whose task has failed or was never stored; the key of a task that may still succeed is kept. */
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

/** A submit that must run once only. */
export interface IdempotencyClaim {
  /** Owner of the key; keys of different scopes are independent. */
  readonly scope: number;
  readonly key: string;
  /** SHA-256 of everything that two submits must have in common to count as identical. */
  readonly requestHash: string;
  /** How long the key counts; default and maximum: a day. */
  readonly ttlMs?: number;
}

/**
 * The claim of a request with an Idempotency-Key; undefined without one.
 * @param content everything that determines the video, including the bytes of the body
 * @throws AppError `invalid_request` for a key that is empty, too long or not visible ASCII
 */
export function toIdempotencyClaim(
  scope: number,
  header: string | string[] | undefined,
  content: () => readonly (Buffer | string)[],
): IdempotencyClaim | undefined {
  const key = readIdempotencyKey(header);
  if (key === undefined) return undefined;
  const hash = createHash('sha256');
  for (const part of content()) hash.update(part);
  return { scope, key, requestHash: hash.digest('hex') };
}

/** Claims an idempotency key inside the transaction that reserves the quota and inserts the task. */
export type ClaimKeyInTransaction = (trx: Trx, taskId: string) => Promise<void>;
