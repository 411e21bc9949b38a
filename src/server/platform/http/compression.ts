import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Content codings that responses are sent in, the smaller one first. */
export type ContentCoding = 'br' | 'gzip';

/** Smaller bodies fit into one packet uncompressed. */
const MIN_LENGTH = 1_024;
/** Faster than gzip's default, and an eighth smaller. */
const BROTLI_QUALITY = 5;

const brotliAsync = promisify(brotliCompress);
const gzipAsync = promisify(gzip);

/**
 * Fastify `onSend` hook of endpoints that are `compressed`: sends a large body as Brotli or gzip (RFC 9110 section
 * 8.4.1) if the caller accepts it. Compresses outside the event loop.
 */
export async function compressResponse(
  { headers }: Pick<FastifyRequest, 'headers'>,
  reply: Pick<FastifyReply, 'header' | 'removeHeader'>,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' || payload.length < MIN_LENGTH) return payload;
  reply.header('vary', 'Accept-Encoding');
  const accepted = headers['accept-encoding'];
  const coding = (['br', 'gzip'] as const).find((each) => acceptsCoding(accepted, each));
  if (coding === undefined) return payload;
  reply.header('content-encoding', coding).removeHeader('content-length');
  return coding === 'gzip' ? gzipAsync(payload) : brotliAsync(payload, brotliOptions(payload.length));
}

const brotliOptions = (length: number) => ({
  params: {
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: length,
  },
});

/** Whether an Accept-Encoding header names the coding with a weight other than zero (RFC 9110 section 12.5.3). */
export function acceptsCoding(header: string | string[] | undefined, coding: ContentCoding): boolean {
  return String(header ?? '')
    .split(',')
    .some((each) => {
      const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
      return name === coding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    });
}
