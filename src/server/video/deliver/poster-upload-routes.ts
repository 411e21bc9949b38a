import { done } from '../../../contract/success-bodies-and-pagination.ts';
import { putPoster } from '../../../contract/video-storage-and-posters.ts';
import type { Artifacts } from '../../artifacts/make.ts';
import { AppError, invalidRequest, notExistError } from '../../platform/app-error.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import type { TaskStore } from '../task-store.ts';

export interface PosterRouteDependencies {
  readonly store: TaskStore;
  readonly artifacts: Artifacts;
}

/** The browser of a video's owner reads a frame where neither the vendor nor ffmpeg has made a poster. */
export function addPosterRoutes(routes: RouteRegistry, { store, artifacts }: PosterRouteDependencies): void {
  routes.add(putPoster, async ({ params, body, caller }) => {
    const task = await store.findForUser(params.task_id, caller.userId);
    if (task === undefined) throw notExistError('task');
    if (task.status !== 'SUCCESS') throw new AppError('task_not_completed', { params: { status: task.status } });
    const outcome = await artifacts.putPoster(
      { taskId: task.id, userId: task.user_id },
      Buffer.from(body.image, 'base64'),
    );
    if (outcome === undefined) throw new AppError('unavailable');
    if (outcome === 'exists') throw new AppError('already_exists', { params: { what: 'poster' } });
    if (outcome === 'invalid')
      throw invalidRequest('image must be a whole still JPEG or WebP picture of at most 256 KiB.', 'image');
    return done();
  });
}
