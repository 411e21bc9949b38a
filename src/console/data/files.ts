import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { FilePurpose } from '../../contract/file-purposes.ts';
import * as endpoints from '../../contract/files.ts';
import { uploadOwnFile } from '../../contract/files.ts';
import { parseErrorResponse, ReelgateError } from '../../sdk/errors.ts';
import { callApi, onSignedOut, requestHeaders } from './api-client.ts';

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

/** The connection failed before the service answered; the upload can be repeated. */
export class UploadInterruptedError extends Error {}

interface UploadOptions {
  /** Share that has been sent, from 0 to 1. */
  readonly onProgress: (share: number) => void;
  readonly signal: AbortSignal;
}

/** Uploads a file; once more, if the session has ended and there is a new one. @throws UploadInterruptedError, ReelgateError */
export async function uploadFile(file: File, options: UploadOptions): Promise<OwnFile> {
  try {
    return await sendFile(file, options);
  } catch (error) {
    if (!(error instanceof ReelgateError && error.status === 401 && (await onSignedOut()))) throw error;
    options.signal.throwIfAborted();
    return sendFile(file, options);
  }
}

/** Uses XMLHttpRequest, because `fetch` does not report the progress of an upload. */
function sendFile(file: File, { onProgress, signal }: UploadOptions): Promise<OwnFile> {
  const form = new FormData();
  form.append('purpose', purposeOf(file));
  form.append('file', file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(uploadOwnFile.method, uploadOwnFile.path);
    for (const [name, value] of Object.entries(requestHeaders())) request.setRequestHeader(name, value);
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total));
    request.addEventListener('load', () => {
      const body = parseJson(request.responseText);
      const failure = parseErrorResponse(request.status, new Headers(), body);
      if (body === undefined || (failure?.status ?? 0) >= 500) reject(new UploadInterruptedError());
      else if (failure !== undefined) reject(failure);
      else resolve((body as { readonly data: OwnFile }).data);
    });
    request.addEventListener('error', () => reject(new UploadInterruptedError()));
    request.addEventListener('abort', () => reject(signal.reason as Error));
    signal.addEventListener('abort', () => request.abort());
    request.send(form);
  });
}

const purposeOf = ({ name, type }: File): FilePurpose =>
  /\.jsonl$/i.test(name) ? 'batch' : type.startsWith('image/') ? 'vision' : 'user_data';

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const REVOKE_DELAY_MS = 10_000;

/** Starts a browser download of content generated on this page. */
export function downloadFile(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_DELAY_MS);
}

/** Starts a browser download of rows as CSV. Cells a spreadsheet would run as a formula are escaped. */
export async function downloadRowsAsCsv(
  name: string,
  columns: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): Promise<void> {
  const { stringify } = await import('csv-stringify/browser/esm/sync');
  const text = stringify(
    rows.map((row) => [...row]),
    { header: true, columns: [...columns], escape_formulas: true },
  );
  // The byte order mark makes spreadsheet programs read the file as UTF-8.
  downloadFile(name, new Blob(['\uFEFF', text], { type: 'text/csv;charset=utf-8' }));
}
