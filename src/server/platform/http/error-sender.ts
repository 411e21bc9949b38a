import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { envelopeForClient, envelopeOfPath } from '../../../contract/endpoint.ts';
import type { Locale } from '../../../contract/localized-messages/format-message.ts';
import { AppError, invalidRequest } from '../app-error.ts';
import type { Log } from '../log.ts';
import { BadVideoError } from '../media/video-check.ts';
import { negotiateLocale } from '../negotiate-locale.ts';
import { OutboundError } from '../outbound/outbound-types.ts';
import { type ErrorResponse, toErrorResponse } from './error-responses.ts';
import { isOpenAiSdk } from './handler-request-context.ts';

/** The largest body any endpoint takes. */
const MAX_DROPPED_BYTES = 64 * 1024 * 1024;

/** Writes errors: logged where they are ours, in the envelope and the language of the request. */
export class ErrorSender {
  readonly #log: Log;
  readonly #defaultLocale: Locale;

  constructor(options: { readonly log: Log; readonly defaultLocale: Locale }) {
    this.#log = options.log;
    this.#defaultLocale = options.defaultLocale;
  }

  /** For responses outside of Fastify. */
  render(request: IncomingMessage, id: string, error: unknown): ErrorResponse {
    logError(this.#log, error, { requestId: id, route: request.url?.split('?', 1)[0] });
    return toErrorResponse(
      error,
      envelopeForClient(envelopeOfPath(request.url ?? '/'), request.url ?? '/', request.headers),
      this.#localeOf(request),
      id,
    );
  }

  /** @param end ends the response later, its body is written at once; default: it ends here */
  send(
    request: IncomingMessage,
    response: ServerResponse,
    id: string,
    error: unknown,
    headers: object = {},
    end?: () => void,
  ): void {
    const { status, headers: own, contentType, body } = this.render(request, id, error);
    response.writeHead(status, {
      ...own,
      ...headers,
      'content-type': contentType,
      'content-length': Buffer.byteLength(body),
      'x-content-type-options': 'nosniff',
      'x-request-id': id,
    });
    if (end === undefined) return void response.end(body);
    response.write(body);
    end();
  }

  reply(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const declared = request.routeOptions?.config?.endpoint?.envelope ?? envelopeOfPath(request.url);
    const envelope = envelopeForClient(declared, request.url, request.headers);
    const shown = toKnownError(error);
    logError(this.#log, shown, { err: error, requestId: request.id, route: request.routeOptions?.url });
    if (reply.raw.headersSent) {
      reply.raw.destroy();
      return;
    }
    const { status, headers, contentType, body } = toErrorResponse(
      shown,
      envelope,
      this.#localeOf(request.raw),
      request.id,
      { isOpenAiSdk: isOpenAiSdk(request.headers) },
    );
    // Fastify closes the connection after every body it could not parse, which a sender that still writes sees as a broken
    // connection instead of the response. What has a bounded length is received and dropped.
    if (Number(request.headers['content-length']) <= MAX_DROPPED_BYTES) reply.removeHeader('connection');
    void reply
      .status(status)
      .headers(headers)
      .header('content-type', contentType)
      .header('x-request-id', request.id)
      .serializer(String)
      .send(body);
  }

  #localeOf(request: IncomingMessage): Locale {
    return negotiateLocale(request.headers['accept-language'], this.#defaultLocale);
  }
}

/** Errors caused by the caller are not logged; internal errors are, and so are errors with details meant only for the log. */
function logError(log: Log, error: unknown, where: object): void {
  const known = error instanceof AppError && error.code !== 'internal_error';
  if (known && error.options.log === undefined) return;
  log[known ? 'warn' : 'error']({ err: error, ...where, ...(known ? error.options.log : {}) }, 'request failed');
}

const FRAMEWORK_ERRORS: Readonly<Record<string, () => AppError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new AppError('body_too_large', { params: { limit: 'this address takes' } }),
  FST_REQ_FILE_TOO_LARGE: () => new AppError('body_too_large', { params: { limit: '64 MB' } }),
  FST_PARTS_LIMIT: () => invalidRequest('The body has too many parts.'),
  FST_FILES_LIMIT: () => invalidRequest('The body has too many files.'),
  FST_FIELDS_LIMIT: () => invalidRequest('The body has too many fields.'),
  FST_INVALID_MULTIPART_CONTENT_TYPE: () =>
    new AppError('unsupported_media_type', { params: { expected: 'application/json or multipart/form-data' } }),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new AppError('unsupported_media_type', { params: { expected: 'application/json' } }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => invalidRequest('Content-Length does not fit the body.'),
  FST_ERR_CTP_EMPTY_JSON_BODY: () => new AppError('invalid_json'),
  FST_ERR_BAD_URL: () => new AppError('not_found'),
  FST_ERR_MAX_PARAM_LENGTH: () => new AppError('not_found'),
};

/** Fastify's own failures in our codes; anything else stays what it is. */
function toKnownError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  // A relayed body that broke before its first byte.
  if (error instanceof OutboundError) return new AppError('upstream_error', { log: { phase: error.phase } });
  // Found in the body of a short file before its first byte was sent.
  if (error instanceof BadVideoError) return new AppError('content_unavailable', { log: { reason: error.message } });
  const { code, statusCode } = error as Partial<FastifyError>;
  const known = code === undefined ? undefined : FRAMEWORK_ERRORS[code];
  if (known !== undefined) return known();
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return invalidRequest('The request could not be read.');
  return error;
}
