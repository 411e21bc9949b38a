import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

const gzipAsync = promisify(gzip);
/** Smaller bodies fit into two packets as they are. */
const MIN_LENGTH = 2_048;

/**
 * Fastify's hook `onSend` of endpoints that are `compressed`: sends a large body as gzip (RFC 9110 section 8.4.1.3) where the
 * caller accepts it. Compressed outside the event loop.
 */
export async function compressResponse(
  { headers }: Pick<FastifyRequest, 'headers'>,
  reply: Pick<FastifyReply, 'header' | 'removeHeader'>,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' || payload.length < MIN_LENGTH) return payload;
  reply.header('vary', 'Accept-Encoding');
  if (!acceptsGzip(headers['accept-encoding'])) return payload;
  reply.header('content-encoding', 'gzip').removeHeader('content-length');
  return gzipAsync(payload);
}

/** Whether the header names gzip with a weight other than zero (RFC 9110 section 12.5.3). */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '').split(',');
  return codings.some((coding) => {
    const [name = '', ...parameters] = coding.split(';').map((part) => part.trim().toLowerCase());
    return name === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
