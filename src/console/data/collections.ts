import { queryOptions } from '@tanstack/react-query';
import { defined } from '../../contract/objects.ts';
import * as endpoints from '../../contract/own-videos.ts';
import { MAX_COLLECTION_CHANGES } from '../../contract/own-videos.ts';
import { callApi } from './api-client.ts';

/** Collections of the account by name. @param taskId a video; `contains` then says whether it is in each */
export const collectionsQuery = (taskId?: string) =>
  queryOptions({
    queryKey: ['videos', 'collections', taskId],
    queryFn: async ({ signal }) =>
      (await callApi(endpoints.listCollections, { query: defined({ task_id: taskId }) }, { signal })).data,
  });

/** Creates an empty collection. @returns its id */
export const createCollection = async (name: string): Promise<number> =>
  (await callApi(endpoints.createCollection, { body: { name } })).data.id;

/** Renames a collection. */
export const renameCollection = (id: number, name: string) =>
  callApi(endpoints.renameCollection, { params: { id: String(id) }, body: { name } });

/** Deletes a collection; its videos stay. */
export const deleteCollection = (id: number) => callApi(endpoints.deleteCollection, { params: { id: String(id) } });

/** Adds videos to a collection or removes them from it, any number. */
export async function setMembership(id: number, taskIds: readonly string[], isMember: boolean): Promise<void> {
  const endpoint = isMember ? endpoints.addToCollection : endpoints.removeFromCollection;
  for (let start = 0; start < taskIds.length; start += MAX_COLLECTION_CHANGES)
    await callApi(endpoint, {
      params: { id: String(id) },
      body: { task_ids: taskIds.slice(start, start + MAX_COLLECTION_CHANGES) },
    });
}
