import { buffer } from 'node:stream/consumers';
import type { VideoSources } from '../../artifacts/artifact-copier.ts';
import { AppError } from '../../platform/app-error.ts';
import type { VendorRegistry } from '../../vendors/registry.ts';
import type { Task, TaskStore } from '../task-store.ts';
import { toSubject, toVideoData } from '../video-event.ts';
import type { VendorFiles } from './vendor-files.ts';

export interface VideoSourceDependencies {
  readonly store: TaskStore;
  readonly vendors: VendorRegistry;
  readonly vendorFiles: VendorFiles;
}

/** A cover is no poster above 256 KiB; none is read further than this. */
const MAX_COVER_BYTES = 1024 ** 2;

/** Opens whole files and covers at their vendors for those who copy them. */
export function createVideoCopySources({ store, vendors, vendorFiles }: VideoSourceDependencies): VideoSources {
  const findFinished = async (taskId: string): Promise<Task | undefined> => {
    const task = await store.findById(taskId);
    return task === undefined || task.deleted === 1 || task.status !== 'SUCCESS' ? undefined : task;
  };
  return {
    async describe(taskId) {
      const task = await findFinished(taskId);
      return task && { subject: toSubject(task), data: toVideoData(task, 'SUCCESS', task.finish_time) };
    },
    async openVideo(taskId, signal) {
      const task = await findFinished(taskId);
      if (task === undefined) return undefined;
      // Hundreds of files are copied at once: none holds more in memory than what is being written.
      const { status, headers, body } = await vendorFiles.open(task, { signal, readAheadBytes: 0 });
      if (status !== 200) {
        body.destroy();
        throw new AppError('content_unavailable', { log: { upstreamStatus: status } });
      }
      const length = headers['content-length'];
      return { body, bytes: length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined };
    },
    async openCover(taskId, signal) {
      const task = await findFinished(taskId);
      if (task === undefined || vendors.get(task.vendor).hasCover !== true) return undefined;
      const { body } = await vendorFiles.open(task, { signal, variant: 'thumbnail', maxBytes: MAX_COVER_BYTES });
      return buffer(body);
    },
  };
}
