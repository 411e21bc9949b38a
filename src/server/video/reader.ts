import { isTerminal } from '../../contract/states.ts';
import type { Clock } from '../platform/clock.ts';
import { AppError } from '../platform/errors.ts';
import type { ModelCaller } from '../platform/http/caller.ts';
import type { Looks } from './looks.ts';
import type { Renewals } from './renewals.ts';
import type { Task, TaskStore } from './store.ts';
import type { Vendors } from './vendors.ts';

/** Veo-style tasks are looked at when asked for, but no more often than this. */
const REFRESH_MS = 1_000;
/** And by the synchronizer when nobody has asked for this long. */
export const SWEEP_MS = 60_000;

export interface ReaderParts {
  readonly store: TaskStore;
  readonly looks: Looks;
  readonly renewals: Renewals;
  readonly vendors: Vendors;
  readonly clock: Clock;
  /** Ends when the service stops. */
  readonly stopping: AbortSignal;
}

/** Reads tasks for their owners; a task of another token does not exist for the caller. */
export class TaskReader {
  readonly #store: TaskStore;
  readonly #looks: Looks;
  readonly #renewals: Renewals;
  readonly #vendors: Vendors;
  readonly #clock: Clock;
  readonly #stopping: AbortSignal;
  readonly #refreshes = new Map<string, { readonly startedAt: number; readonly done: Promise<void> }>();

  constructor(parts: ReaderParts) {
    this.#store = parts.store;
    this.#looks = parts.looks;
    this.#renewals = parts.renewals;
    this.#vendors = parts.vendors;
    this.#clock = parts.clock;
    this.#stopping = parts.stopping;
  }

  /** The task in its latest state; throws `task_not_exist`. */
  async own(caller: ModelCaller, publicId: string): Promise<Task> {
    const task = await this.#store.own(publicId, caller.tokenId);
    if (task === undefined) throw new AppError('task_not_exist');
    return this.fresh(task);
  }

  async fresh(task: Task): Promise<Task> {
    if (isTerminal(task.status)) return this.#renewals.unexpired(task);
    if (task.handle === null || this.#vendors.get(task.vendor).refreshOnQuery !== true) return task;
    await this.#refresh(task);
    return (await this.#store.byId(task.id)) ?? task;
  }

  /** One flight per task; whoever comes while it is under way, or right after it, shares it. */
  #refresh(task: Task): Promise<void> {
    const now = this.#clock.now();
    const last = this.#refreshes.get(task.id);
    if (last !== undefined && now - last.startedAt < REFRESH_MS) return last.done;
    const done = this.#looks.look(task, this.#stopping).then(() => this.#store.postpone(task.seq, now + SWEEP_MS));
    this.#refreshes.set(task.id, { startedAt: now, done });
    if (this.#refreshes.size > 10_000) this.#forgetOld(now);
    return done;
  }

  #forgetOld(now: number): void {
    for (const [id, { startedAt }] of this.#refreshes) if (now - startedAt >= REFRESH_MS) this.#refreshes.delete(id);
  }
}
