import { memoizeByObject } from '../../cache.ts';
import type { DispatchRequest } from '../outbound.ts';
import { errors } from '../undici-without-fetch.ts';

const PATH = /^\/[\x21-\xff]*$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What frames a message and keeps a connection is written here alone (RFC 9110 section 7.6.1, RFC 9112 section 6). */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

/** A body up to this is copied behind the head, so that both are one write; a larger one is written by itself. */
const MAX_COPIED_BYTES = 16 * 1024;

/**
 * A request as HTTP/1.1 writes it (RFC 9112 section 3): in one piece or, with a large body, in two.
 *
 * @throws InvalidArgumentError for a path or header that cannot be written, a body that is a stream, and methods beyond GET and POST
 */
export function toRequestPieces({ method, origin, path, headers, body }: DispatchRequest): readonly Buffer[] {
  if (method !== 'GET' && method !== 'POST') throw new errors.InvalidArgumentError(`${method} is not sent here`);
  if (!PATH.test(path)) throw new errors.InvalidArgumentError('the path of the request cannot be written');
  const host = origin.slice(origin.indexOf('//') + 2);
  const first = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${toLines(headers)}`;
  if (body === null) return [toLatin1(method === 'GET' ? `${first}\r\n` : `${first}content-length: 0\r\n\r\n`)];
  if (typeof body !== 'string' && !Buffer.isBuffer(body))
    throw new errors.InvalidArgumentError('a body that is a stream is not sent here');
  const bytes = Buffer.byteLength(body);
  const head = `${first}content-length: ${bytes}\r\n\r\n`;
  if (bytes > MAX_COPIED_BYTES) return [toLatin1(head), typeof body === 'string' ? Buffer.from(body) : body];
  const whole = Buffer.allocUnsafe(head.length + bytes);
  whole.write(head, 'latin1');
  if (typeof body === 'string') whole.write(body, head.length);
  else whole.set(body, head.length);
  return [whole];
}

const toLatin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** The headers of a channel are one object for all its calls: they are checked and written once. */
const toLines = memoizeByObject((headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => {
      if (!NAME.test(name) || !VALUE.test(value) || OWN_HEADERS.has(name.toLowerCase()))
        throw new errors.InvalidArgumentError(`the header ${name} cannot be written`);
      return `${name}: ${value}\r\n`;
    })
    .join(''),
);
