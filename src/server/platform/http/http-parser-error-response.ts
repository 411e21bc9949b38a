import type { Socket } from 'node:net';
import { envelopeOfPath } from '../../../contract/endpoint.ts';
import type { ErrorCode } from '../../../contract/error-codes.ts';
import type { Locale } from '../../../contract/localized-messages/format-message.ts';
import { AppError } from '../app-error.ts';
import { toErrorResponse } from './error-responses.ts';
import { toRequestId } from './request-id.ts';

/** Node's codes for requests that never reach a handler; everything else the parser rejects is malformed. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'header_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};
const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};
const REQUEST_LINE = /^[A-Z]{1,20} (\/[^ ?#\r\n]{0,2000})/;

interface ParserError extends Error {
  readonly code?: string;
  /** The bytes the parser was given last, a Buffer. */
  readonly rawPacket?: unknown;
}

/** Sockets whose request was rejected, with the bytes they had received by then. */
const refused = new WeakMap<Socket, number>();

/** What is received and dropped after an early refusal, at most. */
export const LINGER_MS = 1_000;
export const LINGER_BYTES = 1024 * 1024;

/**
 * Responds to a request the HTTP parser rejected as to other errors: in the envelope of its path, if that was received, with
 * a request id. The connection is closed, since the start of the next request cannot be determined.
 */
export function sendParserError(error: ParserError, socket: Socket, locale: Locale): { id: string; code: ErrorCode } {
  const code = CODES[error.code ?? ''] ?? 'malformed_request';
  const id = toRequestId(undefined);
  // The parser fails again at all that follows.
  const refusedAt = refused.get(socket);
  if (refusedAt !== undefined) {
    if (socket.bytesRead - refusedAt > LINGER_BYTES) socket.destroy();
    return { id, code };
  }
  refused.set(socket, socket.bytesRead);
  if (socket.writable && !isAnswering(socket)) {
    const path =
      REQUEST_LINE.exec(Buffer.isBuffer(error.rawPacket) ? error.rawPacket.toString('latin1') : '')?.[1] ?? '/';
    const { status, headers, contentType, body } = toErrorResponse(
      new AppError(code),
      envelopeOfPath(path),
      locale,
      id,
    );
    const lines = Object.entries({
      ...headers,
      'content-type': contentType,
      'content-length': String(Buffer.byteLength(body)),
      'x-content-type-options': 'nosniff',
      'x-request-id': id,
      connection: 'close',
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${REASONS[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
  }
  // A peer that still writes would lose the response to a reset.
  if (socket.writableEnded) setTimeout(() => socket.destroy(), LINGER_MS).unref();
  else socket.destroySoon();
  return { id, code };
}

/** Whether a response is being sent on the connection; bytes of another one would corrupt it. */
const isAnswering = (socket: Socket): boolean =>
  (socket as Socket & { readonly _httpMessage?: { readonly headersSent: boolean } })._httpMessage?.headersSent === true;
