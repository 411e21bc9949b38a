import { queryOptions } from '@tanstack/react-query';
import type { PartOf } from '../../contract/endpoint.ts';
import { isTerminal } from '../../contract/states.ts';
import { deleteOwnVideo, quoteVideo, submitOwnVideo } from '../../contract/studio.ts';
import { getOwnVideo, listOwnVideos } from '../../contract/video.ts';
import { call } from './client.ts';

export type VideoRow = PartOf<typeof listOwnVideos, 'answer'>['data'][number];
export type VideoDetail = PartOf<typeof getOwnVideo, 'answer'>['data'];
export type VideoBody = PartOf<typeof submitOwnVideo, 'body'>;

export interface VideoFilter {
  readonly status?: string | undefined;
  readonly model?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly q?: string | undefined;
  readonly favourite?: string | undefined;
}

/** How often unfinished videos are looked at: the list costs the service next to nothing. */
const LOOK_MS = 2_000;

export const videosQuery = (page: number, pageSize: number, filter: VideoFilter = {}) =>
  queryOptions({
    queryKey: ['videos', 'list', page, pageSize, filter],
    queryFn: ({ signal }) =>
      call(
        listOwnVideos,
        { query: { page: String(page), page_size: String(pageSize), ...withoutEmpty(filter) } },
        { signal },
      ),
    refetchInterval: ({ state }) => (state.data?.data.some(({ status }) => !isTerminal(status)) ? LOOK_MS : false),
  });

/** One video with the address to play it by, which lives ten minutes: asked for again well before. */
export const videoQuery = (id: string) =>
  queryOptions({
    queryKey: ['videos', 'one', id],
    queryFn: async ({ signal }) => (await call(getOwnVideo, { params: { task_id: id } }, { signal })).data,
    staleTime: 4 * 60_000,
    refetchInterval: ({ state }) => (state.data !== undefined && !isTerminal(state.data.status) ? LOOK_MS : 8 * 60_000),
  });

/** Starts a video; a repeated press with the same key starts nothing twice. */
export async function submitVideo(body: VideoBody, key: string): Promise<string> {
  const { data } = await call(submitOwnVideo, { body }, { headers: { 'idempotency-key': key } });
  return data.task_id;
}

/** What it would cost, in quota; the pictures themselves stay here. */
export async function quote(body: VideoBody, signal: AbortSignal): Promise<number> {
  return (await call(quoteVideo, { body: withoutPictures(body) }, { signal })).data.quota;
}

export const deleteVideo = (id: string) => call(deleteOwnVideo, { params: { task_id: id } });

/** How many pictures there are may matter to a price; what they show does not. */
function withoutPictures(body: VideoBody): VideoBody {
  const stand = (index: number): string => `https://pictures.invalid/${index}.png`;
  return {
    ...body,
    ...(body.image === undefined ? {} : { image: stand(0) }),
    ...(body.images === undefined ? {} : { images: body.images.map((_, index) => stand(index)) }),
  };
}

const withoutEmpty = (filter: VideoFilter): Record<string, string> =>
  Object.fromEntries(
    Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );
