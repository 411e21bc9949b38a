import type { FilePurpose } from '../../contract/file-purposes.ts';
import { uploadOwnFile } from '../../contract/files.ts';
import { parseErrorResponse } from '../../sdk/errors.ts';
import { requestHeaders } from './api-client.ts';
import type { OwnFile } from './files.ts';

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
