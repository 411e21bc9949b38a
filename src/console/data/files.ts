import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { FilePurpose } from '../../contract/file-purposes.ts';
import * as endpoints from '../../contract/files.ts';
import type { InputType } from '../../contract/input-roles.ts';
import { parseErrorResponse } from '../../sdk/errors.ts';
import { callApi, requestHeaders } from './api-client.ts';

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

/** Whether an id names an uploaded file; inputs may also name videos made here. */
export const isFileId = (id: string): boolean => id.startsWith('file-');

/** Type of an input made of a file; undefined for files that are none, such as JSONL. */
export const inputTypeOf = (mimeType: string): InputType | undefined =>
  (['image', 'video', 'audio'] as const).find((type) => mimeType.startsWith(`${type}/`));

const EXTENSIONS: Readonly<Record<InputType, RegExp>> = {
  image: /\.(?:png|jpe?g|webp|gif|bmp|tiff?)$/i,
  video: /\.(?:mp4|mov|webm|m4v)$/i,
  audio: /\.(?:mp3|wav|m4a|ogg)$/i,
};

/** Type by the name, where the browser knows none; the path of a URL counts too. */
export const inputTypeOfName = (name: string): InputType | undefined =>
  (['image', 'video', 'audio'] as const).find((type) => EXTENSIONS[type].test(name));

/** Value of `accept` for file inputs. */
export const ACCEPTED_MEDIA = 'image/*,video/mp4,video/quicktime,video/webm,audio/*,.m4a';

/** The connection failed before the service answered; the upload can be repeated. */
export class UploadInterruptedError extends Error {}

interface UploadOptions {
  /** Share that has been sent, from 0 to 1. */
  readonly onProgress: (share: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Uploads a file. Uses XMLHttpRequest, because `fetch` does not report the progress of an upload.
 *
 * @throws UploadInterruptedError, ReelgateError
 */
export function uploadFile(file: File, { onProgress, signal }: UploadOptions): Promise<OwnFile> {
  const form = new FormData();
  form.append('purpose', purposeOf(file));
  form.append('file', file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(endpoints.uploadOwnFile.method, endpoints.uploadOwnFile.path);
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
    request.addEventListener('abort', () => reject(signal.reason));
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
