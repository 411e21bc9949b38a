import { queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import * as endpoints from '../../contract/video-shares.ts';
import { callApi } from './api-client.ts';

/** A share link of a video. */
export type Share = EndpointPart<typeof endpoints.listShares, 'response'>['data'][number];
type NewShare = EndpointPart<typeof endpoints.createShare, 'body'>;

/** Share links of all videos of the account. */
export const sharesQuery = (page: number, pageSize: number) =>
  queryOptions({
    queryKey: ['shares', 'list', page, pageSize],
    queryFn: ({ signal }) =>
      callApi(endpoints.listShares, { query: { page: String(page), page_size: String(pageSize) } }, { signal }),
  });

/** Share links of one video. */
export const videoSharesQuery = (taskId: string) =>
  queryOptions({
    queryKey: ['shares', 'video', taskId],
    queryFn: async ({ signal }) =>
      (await callApi(endpoints.listVideoShares, { params: { task_id: taskId } }, { signal })).data,
  });

/** Creates a share link. @returns its URL */
export async function createShare(taskId: string, body: NewShare): Promise<string> {
  return (await callApi(endpoints.createShare, { params: { task_id: taskId }, body })).data.url;
}

/** Revokes a share link. */
export async function endShare({ task_id, id }: Share): Promise<void> {
  await callApi(endpoints.deleteShare, { params: { task_id, id: String(id) } });
}
