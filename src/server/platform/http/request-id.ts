import { randomBytes } from 'node:crypto';

const SAFE_REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;

// A random start per process and a counter: unique, and a hundred times cheaper than fresh randomness on hot paths.
const processPrefix = randomBytes(9).toString('base64url');
let count = 0;

/** The caller's own request id where it is harmless in a log line, else a new one. */
export function toRequestId(header: string | string[] | undefined): string {
  if (typeof header === 'string' && SAFE_REQUEST_ID.test(header)) return header;
  count += 1;
  return `${processPrefix}${count.toString(36)}`;
}
