import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal } from '../../contract/task-states.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { ModelCaller } from '../platform/http/request-context.ts';
import type { RefreshingTaskReader } from './poller.ts';
import type { Task } from './task-store.ts';

/** Seconds that `?wait=` may ask for. */
const MAX_WAIT_SECONDS = 60;
/** Requests of one key that may wait for videos at a time, in this process. */
const MAX_PER_KEY = 20;
/** How often a followed task is read; any process may have changed it. */
const READ_MS = 1_000;

/** Reads `?wait=` as milliseconds. @throws AppError `invalid_request` */
export function parseWait(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^\d{1,2}$/.test(text) || Number(text) > MAX_WAIT_SECONDS)
    throw invalidRequest(`wait must be from 0 to ${MAX_WAIT_SECONDS}.`, 'wait');
  return Number(text) * 1_000;
}

/** Follows tasks for callers who wait for them, a bounded number per key. */
export class TaskFollower {
  readonly #reader: RefreshingTaskReader;
  readonly #followed = new Map<number, number>();
  readonly #closing = new AbortController();

  constructor(reader: RefreshingTaskReader) {
    this.#reader = reader;
  }

  /**
   * The task once it has ended, or in its state after `waitMs`.
   * @throws AppError `task_not_exist`, `too_many_streams`
   */
  async wait(caller: ModelCaller, publicId: string, waitMs: number, signal: AbortSignal): Promise<Task> {
    const first = await this.#reader.readForQuery(caller, publicId);
    if (waitMs === 0 || isTerminal(first.status)) return first;
    const time = AbortSignal.timeout(waitMs);
    let last = first;
    for await (const task of this.follow(caller, first, AbortSignal.any([signal, time]))) last = task;
    return last;
  }

  /** Ends all waits now, so that a stop of the process does not take as long as they would. */
  close(): void {
    this.#closing.abort();
  }

  /**
   * The task now and after each change of its state or progress, until it has ended or the signal is aborted.
   * @throws AppError `too_many_streams` before the first one
   */
  async *follow(caller: ModelCaller, first: Task, ended: AbortSignal): AsyncGenerator<Task> {
    const { tokenId } = caller;
    const signal = AbortSignal.any([ended, this.#closing.signal]);
    this.assertCapacity(caller);
    this.#followed.set(tokenId, (this.#followed.get(tokenId) ?? 0) + 1);
    try {
      let last: Task | undefined;
      for (let task = first; ; task = await this.#reader.readForQuery(caller, first.public_id)) {
        if (last?.status !== task.status || last.progress !== task.progress) yield task;
        last = task;
        if (isTerminal(task.status)) return;
        await sleep(READ_MS, undefined, { signal }).catch(() => {});
        if (signal.aborted) return;
      }
    } finally {
      const left = (this.#followed.get(tokenId) ?? 1) - 1;
      if (left === 0) this.#followed.delete(tokenId);
      else this.#followed.set(tokenId, left);
    }
  }

  /** @throws AppError `too_many_streams` if the key follows as many as it may */
  assertCapacity({ tokenId }: ModelCaller): void {
    if ((this.#followed.get(tokenId) ?? 0) >= MAX_PER_KEY)
      throw new AppError('too_many_streams', { retryAfterSeconds: 10 });
  }
}
