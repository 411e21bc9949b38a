import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Locale } from '../../../contract/localized-messages/format-message.ts';
import { type KeptLongTexts, NO_LONG_TEXTS } from '../keep-long-texts.ts';
import type { Log } from '../log.ts';
import type { UploadedFile } from './multipart.ts';

interface ClientFacts {
  /** The client's IP address; proxies in TRUST_PROXY are skipped. */
  readonly clientIp: string;
  readonly locale: Locale;
  readonly log: Log;
}

/**
 * What a handler may know of the request beyond its checked parts.
 *
 * A class, because an object literal with getters has a shape of its own each time it is made, and such a shape keeps its
 * request from being collected until a full garbage collection.
 */
export class RequestContext {
  readonly #request: FastifyRequest;
  readonly id: string;
  readonly clientIp: string;
  readonly locale: Locale;
  readonly log: Log;
  readonly headers: FastifyRequest['headers'];
  /** Value of the cookie `session`. */
  readonly session: string | undefined;

  constructor(request: FastifyRequest, { clientIp, locale, log }: ClientFacts) {
    this.#request = request;
    this.id = request.id;
    this.clientIp = clientIp;
    this.locale = locale;
    this.log = log;
    this.headers = request.headers;
    this.session = request.cookies.session;
  }

  /** File parts of a multipart body. */
  get files(): readonly UploadedFile[] {
    return this.#request.uploads ?? [];
  }

  /** Long texts of the body in the endpoint's `longTextFields`. Gone once the handler has returned. */
  get longTexts(): KeptLongTexts {
    return this.#request.rawBody?.longTexts ?? NO_LONG_TEXTS;
  }

  /** The body as it came, where a rule needs the very bytes (idempotency). Gone once the handler has returned. */
  get rawBody(): Buffer | undefined {
    return this.#request.rawBody?.bytes;
  }

  /** The same for a handler that goes on using the bytes after it has returned. */
  takeRawBody(): Buffer | undefined {
    const { rawBody } = this.#request;
    this.#request.rawBody = undefined;
    return rawBody?.bytes;
  }

  /** Whether OpenAI's own client sent it. */
  get isOpenAiSdk(): boolean {
    return isOpenAiSdk(this.headers);
  }

  /** Headers for the response of a handler that returns its body. */
  setResponseHeaders(headers: Readonly<Record<string, string>>): void {
    this.#request.responseHeaders = { ...this.#request.responseHeaders, ...headers };
  }

  /** Of the client, or of the proxy in front of it. */
  get socket(): Socket {
    return this.#request.raw.socket;
  }

  /** Aborted when the client disconnects before the response is complete. */
  get disconnected(): AbortSignal {
    return disconnectSignalOf(this.#request.raw.socket);
  }
}

/** The clients that Stainless generates for OpenAI name their language. */
export const isOpenAiSdk = (headers: FastifyRequest['headers']): boolean => headers['x-stainless-lang'] !== undefined;

/** One signal per connection: a listener per request would pile up on those that are kept alive. */
const gone = new WeakMap<Socket, AbortSignal>();

function disconnectSignalOf(socket: Socket): AbortSignal {
  const known = gone.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  socket.once('close', () => controller.abort());
  if (socket.destroyed) controller.abort();
  gone.set(socket, controller.signal);
  return controller.signal;
}
