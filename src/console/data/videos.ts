import { type QueryClient, queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import type { VideoInput } from '../../contract/generation-ways.ts';
import { defined } from '../../contract/objects.ts';
import * as collectionEndpoints from '../../contract/own-videos.ts';
import {
  cancelOwnVideo,
  deleteOwnVideo,
  listGenerationTimes,
  MAX_COLLECTION_CHANGES,
  putPoster,
  quoteVideo,
  submitOwnVideo,
} from '../../contract/own-videos.ts';
import { isTerminal } from '../../contract/task-states.ts';
import { getOwnVideo, listOwnVideos } from '../../contract/video.ts';
import * as shareEndpoints from '../../contract/video-shares.ts';
import { callApi, queryClient } from './api-client.ts';

/** A video as listed. */
export type Video = EndpointPart<typeof listOwnVideos, 'response'>['data'][number];
/** A video that waits for a slot. */
export type QueuedVideo = Pick<Video, 'task_id' | 'quota'> & { readonly queue: NonNullable<Video['queue']> };

/** Whether a video waits for a slot of its key, account or channel. */
export const isQueued = <V extends Video>(video: V): video is V & QueuedVideo => video.queue !== undefined;
/** A video with all its details. */
export type VideoDetail = EndpointPart<typeof getOwnVideo, 'response'>['data'];
/** Price of a request, and how many such videos the account can pay for. */
export type VideoQuote = EndpointPart<typeof quoteVideo, 'response'>['data'];
/** Request body of a submit. */
export type VideoBody = EndpointPart<typeof submitOwnVideo, 'body'>;

/** Filters of the list of videos, by query parameter. */
export interface VideoFilter {
  readonly status?: string;
  readonly model?: string;
  readonly from?: string;
  readonly to?: string;
  readonly q?: string;
  readonly favourite?: string;
  readonly collection?: string;
  /** `next` of the previous page, for pages beyond the counted total. */
  readonly after?: string;
}

/** Polling interval of unfinished videos; short, because the list is cheap for the service. */
const POLL_INTERVAL_MS = 2_000;

/** Interval at which playback URLs are renewed; they are valid for ten minutes. */
const RENEW_INTERVAL_MS = 8 * 60_000;

/** One page of the user's videos, newest first; polled while any is unfinished. */
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
      state.data?.data.some(({ status }) => !isTerminal(status)) ? POLL_INTERVAL_MS : RENEW_INTERVAL_MS,
  });

/** One video with its details. */
export const videoQuery = (id: string) =>
  queryOptions({
    queryKey: ['videos', 'one', id],
    queryFn: async ({ signal }) => (await callApi(getOwnVideo, { params: { task_id: id } }, { signal })).data,
    staleTime: 4 * 60_000,
    refetchInterval: ({ state }) =>
      state.data !== undefined && !isTerminal(state.data.status) ? POLL_INTERVAL_MS : RENEW_INTERVAL_MS,
  });

/** Usual generation time by model; models with few finished videos are missing. */
export const durationsQuery = queryOptions({
  queryKey: ['video-durations'],
  queryFn: async ({ signal }) => (await callApi(listGenerationTimes, {}, { signal })).data,
  staleTime: 60_000,
});

/** Submits a video; repeating a submit with the same idempotency key starts no second video. */
export async function submitVideo(body: VideoBody, key: string): Promise<string> {
  const { data } = await callApi(submitOwnVideo, { body }, { headers: { 'idempotency-key': key } });
  return data.task_id;
}

/** Price of a video, and how many the account can pay for. @param body from {@link toQuotedBody} */
export async function fetchVideoQuote(body: VideoBody, signal: AbortSignal): Promise<VideoQuote> {
  return (await callApi(quoteVideo, { body }, { signal })).data;
}

/** Deletes a video of the user. */
export const deleteVideo = (id: string) => callApi(deleteOwnVideo, { params: { task_id: id } });

/** Cancels a video that waits for a slot; fails if it has started. */
export const cancelVideo = (id: string) => callApi(cancelOwnVideo, { params: { task_id: id } });

/**
 * The request as far as its price depends on it. Images become placeholder URLs: their number counts, not their
 * content. With a video or audio file the prompt is replaced too, because the service measures the file for each quote.
 */
export function toQuotedBody(body: VideoBody): VideoBody {
  const inputs = (body.inputs ?? []) as readonly VideoInput[];
  if (inputs.length === 0) return body;
  const isMeasured = inputs.some(({ type }) => type !== 'image');
  return {
    ...body,
    prompt: isMeasured && body.prompt !== undefined ? 'video' : body.prompt,
    inputs: inputs.map(({ file_id, data, url, ...input }, index) =>
      input.type === 'image'
        ? { ...input, url: `https://images.invalid/${index}.png` }
        : { ...input, ...defined({ file_id, data, url }) },
    ),
  };
}

const omitEmpty = (filter: VideoFilter): Record<string, string> =>
  Object.fromEntries(
    Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );

/** Pause between two downloads; browsers treat simultaneous downloads as one. */
const DELAY_BETWEEN_FILES_MS = 400;

/** Downloads a video in the browser. The URL is requested on click, because it is valid for a few minutes only. */
export async function downloadVideo(queries: QueryClient, id: string): Promise<void> {
  const { play_url: address, prompt } = await queries.fetchQuery(videoQuery(id));
  const link = document.createElement('a');
  // The service adds the extension of the file's media type.
  link.href = `${address}&${new URLSearchParams({ name: videoFileName(prompt, id) })}`;
  link.download = '';
  link.click();
}

const MAX_NAME_LENGTH = 60;

/** Name of a downloaded video, by its prompt: `paper-boat-drifts-down-a-rainy-street`. */
function videoFileName(prompt: string, id: string): string {
  const words = prompt.toLowerCase().match(/[\p{L}\p{N}]{1,60}/gu) ?? [];
  const end = words.findIndex((_, index) => words.slice(0, index + 1).join('-').length > MAX_NAME_LENGTH);
  const name = words.slice(0, end < 0 ? words.length : end).join('-');
  return name || id;
}

/** Downloads several videos sequentially. */
export async function downloadVideos(queries: QueryClient, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await downloadVideo(queries, id);
    await new Promise((resolve) => setTimeout(resolve, DELAY_BETWEEN_FILES_MS));
  }
}

const WIDTH = 640;
const QUALITY = 0.8;
const PREFIX = /^data:image\/(webp|jpeg);base64,/;
/** Videos whose poster this page has already uploaded or failed to create. */
const done = new Set<string>();

/** Uploads the current frame of a video as its poster, once per page; a failure is retried on the next visit. */
export function uploadPoster(taskId: string, video: HTMLVideoElement): void {
  if (done.has(taskId) || video.videoWidth === 0) return;
  done.add(taskId);
  const canvas = document.createElement('canvas');
  canvas.width = Math.min(WIDTH, video.videoWidth);
  canvas.height = Math.round((canvas.width * video.videoHeight) / video.videoWidth);
  canvas.getContext('2d')?.drawImage(video, 0, 0, canvas.width, canvas.height);
  // Browsers without a WebP encoder return PNG instead.
  const webp = canvas.toDataURL('image/webp', QUALITY);
  const url = PREFIX.test(webp) ? webp : canvas.toDataURL('image/jpeg', QUALITY);
  callApi(putPoster, { params: { task_id: taskId }, body: { image: url.replace(PREFIX, '') } }).then(
    // The lists show the poster from now on.
    () => queryClient.invalidateQueries({ queryKey: ['videos', 'list'] }),
    () => {},
  );
}

/** Collections of the account by name. @param taskId a video; `contains` then says whether it is in each */
export const collectionsQuery = (taskId?: string) =>
  queryOptions({
    queryKey: ['videos', 'collections', taskId],
    queryFn: async ({ signal }) =>
      (await callApi(collectionEndpoints.listCollections, { query: defined({ task_id: taskId }) }, { signal })).data,
  });

/** Creates an empty collection. @returns its id */
export const createCollection = async (name: string): Promise<number> =>
  (await callApi(collectionEndpoints.createCollection, { body: { name } })).data.id;

/** Renames a collection. */
export const renameCollection = (id: number, name: string) =>
  callApi(collectionEndpoints.renameCollection, { params: { id: String(id) }, body: { name } });

/** Deletes a collection; its videos stay. */
export const deleteCollection = (id: number) =>
  callApi(collectionEndpoints.deleteCollection, { params: { id: String(id) } });

/** Adds videos to a collection or removes them from it, any number. */
export async function setMembership(id: number, taskIds: readonly string[], isMember: boolean): Promise<void> {
  const endpoint = isMember ? collectionEndpoints.addToCollection : collectionEndpoints.removeFromCollection;
  for (let start = 0; start < taskIds.length; start += MAX_COLLECTION_CHANGES)
    await callApi(endpoint, {
      params: { id: String(id) },
      body: { task_ids: taskIds.slice(start, start + MAX_COLLECTION_CHANGES) },
    });
}

/** A share link of a video. */
export type Share = EndpointPart<typeof shareEndpoints.listShares, 'response'>['data'][number];
type NewShare = EndpointPart<typeof shareEndpoints.createShare, 'body'>;

/** Share links of all videos of the account. */
export const sharesQuery = (page: number, pageSize: number) =>
  queryOptions({
    queryKey: ['shares', 'list', page, pageSize],
    queryFn: ({ signal }) =>
      callApi(shareEndpoints.listShares, { query: { page: String(page), page_size: String(pageSize) } }, { signal }),
  });

/** Share links of one video. */
export const videoSharesQuery = (taskId: string) =>
  queryOptions({
    queryKey: ['shares', 'video', taskId],
    queryFn: async ({ signal }) =>
      (await callApi(shareEndpoints.listVideoShares, { params: { task_id: taskId } }, { signal })).data,
  });

/** Creates a share link. @returns its URL */
export async function createShare(taskId: string, body: NewShare): Promise<string> {
  return (await callApi(shareEndpoints.createShare, { params: { task_id: taskId }, body })).data.url;
}

/** Revokes a share link. */
export async function endShare({ task_id, id }: Share): Promise<void> {
  await callApi(shareEndpoints.deleteShare, { params: { task_id, id: String(id) } });
}
