import * as endpoints from '../../../contract/favourite-videos.ts';
import { done, ok } from '../../../contract/success-bodies-and-pagination.ts';
import { notExistError } from '../../platform/app-error.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import type { Task, TaskStore } from '../task-store.ts';
import type { FavouriteStore } from './favourite-store.ts';

export interface FavouriteRouteDependencies {
  readonly store: TaskStore;
  readonly favourites: FavouriteStore;
}

/** An account's favourites among its own videos. */
export function addFavouriteRoutes(routes: RouteRegistry, { store, favourites }: FavouriteRouteDependencies): void {
  const own = async (taskId: string, userId: number): Promise<Task> => {
    const task = await store.findForUser(taskId, userId);
    if (task === undefined) throw notExistError('task');
    return task;
  };
  routes.add(endpoints.listFavourites, async ({ caller }) => ok(await favourites.listPublicIds(caller.userId)));
  routes.add(endpoints.addFavourite, async ({ params, caller }) => {
    await favourites.add(await own(params.task_id, caller.userId));
    return done();
  });
  routes.add(endpoints.removeFavourite, async ({ params, caller }) => {
    await favourites.remove(await own(params.task_id, caller.userId));
    return done();
  });
}
