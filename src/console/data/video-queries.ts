import { queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import { deleteOwnVideo, listGenerationTimes, quoteVideo, submitOwnVideo } from '../../contract/own-videos.ts';
import { isTerminal } from '../../contract/task-states.ts';
import { getOwnVideo, listOwnVideos } from '../../contract/video.ts';
import { callApi } from './api-client.ts';

export type Video = EndpointPart<typeof listOwnVideos, 'response'>['data'][number];
export type VideoDetail = EndpointPart<typeof getOwnVideo, 'response'>['data'];
export type VideoQuote = EndpointPart<typeof quoteVideo, 'response'>['data'];
export type VideoBody = EndpointPart<typeof submitOwnVideo, 'body'>;

export interface VideoFilter {
  readonly status?: string | undefined;
  readonly model?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly q?: string | undefined;
  readonly favourite?: string | undefined;
  /** `next` of the page before, for pages beyond what is counted. */
  readonly after?: string | undefined;
}

/** How often unfinished videos are polled; short, because the list is cheap for the service. */
const POLL_INTERVAL_MS = 2_000;

export const videosQuery = (page: number, pageSize: number, filter: VideoFilter = {}) =>
  queryOptions({
    queryKey: ['videos', 'list', page, pageSize, filter],
    queryFn: ({ signal }) =>
      callApi(
        listOwnVideos,
        { query: { page: String(page), page_size: String(pageSize), ...omitEmpty(filter) } },
        { signal },
      ),
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => !isTerminal(status)) ? POLL_INTERVAL_MS : false,
  });

/** One video with its playback URL, which is valid for ten minutes and therefore refetched earlier. */
export const videoQuery = (id: string) =>
  queryOptions({
    queryKey: ['videos', 'one', id],
    queryFn: async ({ signal }) => (await callApi(getOwnVideo, { params: { task_id: id } }, { signal })).data,
    staleTime: 4 * 60_000,
    refetchInterval: ({ state }) =>
      state.data !== undefined && !isTerminal(state.data.status) ? POLL_INTERVAL_MS : 8 * 60_000,
  });

/** How long the videos of each model take; models that have few finished ones are missing. */
export const durationsQuery = queryOptions({
  queryKey: ['video-durations'],
  queryFn: async ({ signal }) => (await callApi(listGenerationTimes, {}, { signal })).data,
  staleTime: 60_000,
});

/** Starts a video; a repeated press with the same key starts nothing twice. */
export async function submitVideo(body: VideoBody, key: string): Promise<string> {
  const { data } = await callApi(submitOwnVideo, { body }, { headers: { 'idempotency-key': key } });
  return data.task_id;
}

/** What it would cost, and how many the account can pay for; the pictures themselves stay here. */
export async function fetchVideoQuote(body: VideoBody, signal: AbortSignal): Promise<VideoQuote> {
  return (await callApi(quoteVideo, { body: withoutPictures(body) }, { signal })).data;
}

export const deleteVideo = (id: string) => callApi(deleteOwnVideo, { params: { task_id: id } });

/** How many pictures there are may matter to a price; what they show does not. */
function withoutPictures(body: VideoBody): VideoBody {
  const placeholderUrl = (index: number): string => `https://pictures.invalid/${index}.png`;
  return {
    ...body,
    image: body.image === undefined ? undefined : placeholderUrl(0),
    images: body.images?.map((_, index) => placeholderUrl(index)),
  };
}

const omitEmpty = (filter: VideoFilter): Record<string, string> =>
  Object.fromEntries(
    Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );
