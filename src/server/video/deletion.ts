import type { Artifacts } from '../artifacts/module.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import type { ShareStore } from './shares.ts';
import type { TaskQueue } from './task-queue.ts';
import type { Task, TaskStore, VideoUpstreams } from './task-store.ts';

interface VideoDeletionDependencies {
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly artifacts: Pick<Artifacts, 'removeWithTask'>;
  readonly shares: Pick<ShareStore, 'deleteOfTask'>;
  readonly vendorDeletion: VendorVideoDeletion;
  readonly queue: Pick<TaskQueue, 'cancel'>;
  readonly clock: Clock;
}

/**
 * Deletes a finished video for its owner: the local copy and share links at once, the vendor's copy in the background.
 */
export class VideoDeletion {
  readonly #dependencies: VideoDeletionDependencies;
  constructor(dependencies: VideoDeletionDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * A video that waits for a slot is cancelled instead.
   * @throws AppError `task_not_completed`
   */
  async delete(task: Task): Promise<void> {
    const { database, store, artifacts, shares, vendorDeletion, queue, clock } = this.#dependencies;
    if (await queue.cancel(task)) return;
    await database.transaction(async (trx) => {
      if (!(await store.markDeleted(trx, task.id, clock.now())))
        throw new AppError('task_not_completed', { params: { status: task.status } });
      await artifacts.removeWithTask(trx, task.id);
      await shares.deleteOfTask(trx, task.id);
    });
    vendorDeletion.start(task);
  }
}

interface VendorVideoDeletionDependencies {
  readonly upstreams: VideoUpstreams;
  readonly log: Log;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/**
 * Deletes jobs at vendors that support deletion, after the videos were deleted or given up here; some vendors stop a
 * running job by that. Best effort: failures are only logged, and no request waits for the result.
 */
export class VendorVideoDeletion {
  readonly #dependencies: VendorVideoDeletionDependencies;
  constructor(dependencies: VendorVideoDeletionDependencies) {
    this.#dependencies = dependencies;
  }

  start(task: Task): void {
    void this.#delete(task).catch((error: unknown) =>
      this.#dependencies.log.info({ err: error, taskId: task.id }, 'a video was not deleted at its vendor'),
    );
  }

  async #delete(task: Task): Promise<void> {
    const { upstreams, stopping } = this.#dependencies;
    if (task.handle === null || upstreams.adapterOf(task).deleteTask === undefined) return;
    const upstream = await upstreams.find(task);
    await upstream?.call(stopping, async (adapter, handle, context) => adapter.deleteTask?.(handle, context));
  }
}
