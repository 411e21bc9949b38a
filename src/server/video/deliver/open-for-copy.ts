import type { OpenSource } from '../../artifacts/artifact-copier.ts';
import { AppError } from '../../platform/errors.ts';
import type { TaskStore } from '../store.ts';
import type { VendorFiles } from './vendor-files.ts';

/** Opens whole files at their vendors for those who copy them. */
export const createOpenForCopy =
  (store: TaskStore, vendorFiles: VendorFiles): OpenSource =>
  async (taskId, signal) => {
    const task = await store.findById(taskId);
    if (task === undefined || task.deleted === 1 || task.status !== 'SUCCESS') return undefined;
    const { status, headers, body } = await vendorFiles.open(task, { signal });
    if (status !== 200) {
      body.destroy();
      throw new AppError('content_unavailable', { log: { upstreamStatus: status } });
    }
    const length = headers['content-length'];
    return { body, bytes: length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined };
  };
