import { Readable } from 'node:stream';
import type { OutboundResponse } from '../outbound/outbound-types.ts';

/**
 * A part of another host's file (RFC 9110 section 15.3.7) as it may be passed on: its length is that of its Content-Range, or
 * the download is aborted.
 *
 * @returns undefined for a response that names no part, or whose length is not the part's; its body is destroyed then
 */
export function verifyPartialContent(response: OutboundResponse): OutboundResponse | undefined {
  const { headers, body } = response;
  const length = partLength(headers['content-range']);
  const announced = headers['content-length'];
  // The outbound client aborts what does not have its Content-Length.
  if (length !== undefined && announced === String(length)) return response;
  if (length === undefined || announced !== undefined) {
    body.destroy();
    return undefined;
  }
  const counted = Readable.from(enforceLength(body, length), { objectMode: false });
  return {
    ...response,
    headers: { ...headers, 'content-length': String(length) },
    body: counted.once('close', () => body.destroy()),
  };
}

function partLength(contentRange: string | undefined): number | undefined {
  const [, first = '', last = '', total = ''] =
    /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/.exec(contentRange ?? '') ?? [];
  if (last === '' || Number(last) < Number(first) || (total !== '*' && Number(last) >= Number(total))) return undefined;
  return Number(last) - Number(first) + 1;
}

async function* enforceLength(body: Readable, length: number): AsyncGenerator<Buffer> {
  let left = length;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    left -= chunk.length;
    if (left < 0) break;
    yield chunk;
  }
  if (left !== 0) throw new Error(`a part of ${length} bytes came with ${length - left}`);
}
