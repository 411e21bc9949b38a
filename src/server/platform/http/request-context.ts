import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Locale } from '../../../contract/messages/messages.ts';
import type { Log } from '../log.ts';
import type { UploadedFile } from './multipart.ts';

interface Seen {
  /** The client's address, proxies of TRUST_PROXY looked through. */
  readonly address: string;
  readonly locale: Locale;
  readonly log: Log;
}

/**
 * What a handler may know of the request beyond its checked parts.
 *
 * A class, because an object literal with getters has a shape of its own each time it is made, and such a shape keeps its
 * request from being collected until the whole heap is gone through.
 */
export class RequestContext {
  readonly #request: FastifyRequest;
  readonly id: string;
  readonly address: string;
  readonly locale: Locale;
  readonly log: Log;
  readonly headers: FastifyRequest['headers'];
  /** Value of the cookie `session`. */
  readonly session: string | undefined;

  constructor(request: FastifyRequest, { address, locale, log }: Seen) {
    this.#request = request;
    this.id = request.id;
    this.address = address;
    this.locale = locale;
    this.log = log;
    this.headers = request.headers;
    this.session = request.cookies.session;
  }

  /** File parts of a multipart body. */
  get files(): readonly UploadedFile[] {
    return this.#request.uploads ?? [];
  }

  /** The body as it came, where a rule needs the very bytes (idempotency). */
  get rawBody(): Buffer | undefined {
    return this.#request.rawBytes;
  }

  /** Ends when the client goes away before the answer is complete. */
  get gone(): AbortSignal {
    return goneSignal(this.#request.raw.socket);
  }
}

/** One signal per connection: a listener per request would pile up on those that are kept alive. */
const gone = new WeakMap<Socket, AbortSignal>();

function goneSignal(socket: Socket): AbortSignal {
  const known = gone.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  socket.once('close', () => controller.abort());
  if (socket.destroyed) controller.abort();
  gone.set(socket, controller.signal);
  return controller.signal;
}
