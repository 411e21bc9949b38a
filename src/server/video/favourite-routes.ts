import * as lines from '../../contract/favourites.ts';
import { done, ok } from '../../contract/schemas.ts';
import { notExist } from '../platform/errors.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { FavouriteStore } from './favourite-store.ts';
import type { Task, TaskStore } from './store.ts';

export interface FavouriteRouteParts {
  readonly store: TaskStore;
  readonly favourites: FavouriteStore;
}

/** The stars people give their own videos. */
export function addFavouriteRoutes(routes: Routes, { store, favourites }: FavouriteRouteParts): void {
  const own = async (taskId: string, userId: number): Promise<Task> => {
    const task = await store.ofUser(taskId, userId);
    if (task === undefined) throw notExist('task');
    return task;
  };
  routes.add(lines.listFavourites, async ({ caller }) => ok(await favourites.list(caller.userId)));
  routes.add(lines.addFavourite, async ({ params, caller }) => {
    await favourites.add(await own(params.task_id, caller.userId));
    return done();
  });
  routes.add(lines.removeFavourite, async ({ params, caller }) => {
    await favourites.remove(await own(params.task_id, caller.userId));
    return done();
  });
}
