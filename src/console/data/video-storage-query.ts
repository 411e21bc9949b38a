import { queryOptions } from '@tanstack/react-query';
import { getStorage } from '../../contract/own-videos.ts';
import { callApi } from './api-client.ts';

/** Space of the stored copies of the own videos. */
export const storageQuery = queryOptions({
  queryKey: ['videos', 'storage'],
  queryFn: async ({ signal }) => (await callApi(getStorage, {}, { signal })).data,
});
