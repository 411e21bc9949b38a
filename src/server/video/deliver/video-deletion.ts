import type { Artifacts } from '../../artifacts/make.ts';
import { AppError } from '../../platform/app-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Tables } from '../../tables.ts';
import type { ShareStore } from '../shares/share-store.ts';
import type { Task, TaskStore } from '../task-store.ts';
import type { VendorVideoDeletion } from './vendor-video-deletion.ts';

export interface VideoDeletionDependencies {
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly artifacts: Pick<Artifacts, 'removeWithTask'>;
  readonly shares: Pick<ShareStore, 'deleteOfTask'>;
  readonly vendorDeletion: VendorVideoDeletion;
  readonly clock: Clock;
}

/** Deletes a finished video for its owner: here with its copy and its links at once, at its vendor in the background. */
export class VideoDeletion {
  readonly #dependencies: VideoDeletionDependencies;
  constructor(dependencies: VideoDeletionDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws AppError `task_not_completed` */
  async delete(task: Task): Promise<void> {
    const { database, store, artifacts, shares, vendorDeletion, clock } = this.#dependencies;
    await database.transaction(async (trx) => {
      if (!(await store.markDeleted(trx, task.id, clock.now())))
        throw new AppError('task_not_completed', { params: { status: task.status } });
      await artifacts.removeWithTask(trx, task.id);
      await shares.deleteOfTask(trx, task.id);
    });
    vendorDeletion.start(task);
  }
}
