import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import * as endpoints from '../../contract/batches.ts';
import { throwForStatus } from '../../sdk/errors.ts';
import { callApi, sendRequest } from './api-client.ts';
import { downloadFile } from './files.ts';

/** A batch. */
export type Batch = endpoints.Batch;
/** A checked sheet with its quote. */
export type Sheet = endpoints.Sheet;
/** A line of a batch. */
export type BatchLine = endpoints.BatchLine;
/** A change of a batch by its owner. */
export type BatchChange = keyof typeof CHANGES;

const PAGE_SIZE = '20';
/** Time between two reads of a page with an unfinished batch. */
const REFETCH_MS = 3_000;

const CHANGES = {
  pause: endpoints.pauseOwnBatch,
  resume: endpoints.resumeOwnBatch,
  cancel: endpoints.cancelOwnBatch,
  retry: endpoints.retryOwnBatch,
} as const;

/** Whether a batch has reached a final status. */
export const hasEnded = ({ status }: Batch): boolean =>
  status === 'completed' || status === 'failed' || status === 'expired' || status === 'cancelled';

/** The account's batches, newest first, page by page. */
export const batchPagesQuery = infiniteQueryOptions({
  queryKey: ['batches', 'list'],
  queryFn: async ({ signal, pageParam: after }) =>
    (await callApi(endpoints.listOwnBatches, { query: { limit: PAGE_SIZE, after } }, { signal })).data,
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ has_more, last_id }) => (has_more ? (last_id ?? undefined) : undefined),
  refetchInterval: ({ state }) =>
    state.data?.pages.some(({ data }) => data.some((batch) => !hasEnded(batch))) === true ? REFETCH_MS : false,
});

/** One batch, refetched until it has ended. */
export const batchQuery = (id: string) =>
  queryOptions({
    queryKey: ['batches', 'one', id],
    queryFn: async ({ signal }) =>
      (await callApi(endpoints.getOwnBatch, { params: { batch_id: id } }, { signal })).data,
    refetchInterval: ({ state }) => (state.data === undefined || hasEnded(state.data) ? false : REFETCH_MS),
    retry: false,
  });

/** Lines of a batch, page by page. */
export const batchLinesQuery = (batch: Batch, state: 'running' | 'completed' | 'failed' | undefined) =>
  infiniteQueryOptions({
    queryKey: ['batches', 'lines', batch.id, state ?? 'all'],
    queryFn: async ({ signal, pageParam: after }) => {
      const input = { params: { batch_id: batch.id }, query: { after, state } };
      return (await callApi(endpoints.listOwnBatchLines, input, { signal })).data;
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: hasEnded(batch) ? false : REFETCH_MS,
  });

/** Pauses, resumes, cancels or repeats a batch. */
export const changeBatch = async (id: string, change: BatchChange): Promise<Batch> =>
  (await callApi(CHANGES[change], { params: { batch_id: id }, body: {} })).data;

/** Checks and prices a sheet; starts it if that is asked for and every row is valid. */
export const checkSheet = async (sheet: endpoints.NewSheet): Promise<Sheet> =>
  (await callApi(endpoints.createSheetBatch, { body: sheet })).data;

/** Starts a batch of an uploaded file. */
export const createBatch = async (batch: endpoints.NewBatch): Promise<Batch> =>
  (await callApi(endpoints.createOwnBatch, { body: batch })).data;

/** Downloads the results of a batch as CSV. @throws ReelgateError */
export async function downloadResults(id: string): Promise<void> {
  const response = await throwForStatus(await sendRequest(endpoints.exportOwnBatch, { params: { batch_id: id } }));
  downloadFile(`${id}.csv`, await response.blob());
}
