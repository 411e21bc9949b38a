import type { Log } from '../../platform/log.ts';
import type { Task } from '../task-store.ts';
import type { VideoUpstreams } from '../video-upstream-types.ts';

export interface VendorVideoDeletionDependencies {
  readonly upstreams: VideoUpstreams;
  readonly log: Log;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/** Deletes videos at vendors that offer it, after they were deleted here. Best effort: nobody waits, and failures are only logged. */
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
