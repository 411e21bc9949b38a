import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import * as endpoints from '../../contract/files.ts';
import { callApi } from './api-client.ts';

/** An uploaded file with a link that shows it. */
export type OwnFile = endpoints.OwnFile;

const PAGE_SIZE = '50';

/** The account's files, newest first, page by page. */
export const filesPagesQuery = infiniteQueryOptions({
  queryKey: ['files', 'list'],
  queryFn: async ({ signal, pageParam: after }) =>
    (await callApi(endpoints.listOwnFiles, { query: { limit: PAGE_SIZE, after } }, { signal })).data,
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ has_more, last_id }) => (has_more ? (last_id ?? undefined) : undefined),
});

/** One file. Its link is valid for an hour and refetched earlier. */
export const fileQuery = (id: string) =>
  queryOptions({
    queryKey: ['files', 'one', id],
    queryFn: async ({ signal }) => (await callApi(endpoints.getOwnFile, { params: { file_id: id } }, { signal })).data,
    staleTime: 30 * 60_000,
    retry: false,
  });

/** Deletes a file. */
export const deleteFile = (id: string) => callApi(endpoints.deleteOwnFile, { params: { file_id: id } });
