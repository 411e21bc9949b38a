import type { EnvelopeKind } from '../../../contract/endpoint.ts';
import { ERRORS, type ErrorCode, type ErrorRow } from '../../../contract/errors.ts';
import { type Locale, toText } from '../../../contract/messages/messages.ts';
import { DatabaseUnavailable } from '../db/errors.ts';
import { AppError } from '../errors.ts';
import { escapeHtml, pageHeaders } from '../html.ts';

export interface RenderedFailure {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string;
  readonly body: string;
}

/** Seconds; what a database that restarts or fails over takes. */
const RETRY_DATABASE_AFTER = 2;

function toAppError(error: unknown, requestId: string): AppError {
  if (error instanceof AppError) return error;
  return error instanceof DatabaseUnavailable
    ? new AppError('unavailable', { retryAfterSeconds: RETRY_DATABASE_AFTER })
    : new AppError('internal_error', { params: { requestId } });
}

/** One failure in one envelope. Pure: anything that is not an AppError is our fault and says nothing of itself. */
export function toFailure(error: unknown, envelope: EnvelopeKind, locale: Locale, requestId: string): RenderedFailure {
  const known = toAppError(error, requestId);
  const row: ErrorRow = ERRORS[known.code];
  const { params, retryAfterSeconds, param, publicCode } = known.options;
  const message = known.options.message ?? toText(known.code, locale, params);
  const code = publicCode ?? known.code;
  return {
    status: statusOf(envelope, known.code, row),
    headers: {
      ...(envelope === 'page' ? PAGE_HEADERS : {}),
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))) }),
      // RFC 6749 section 5.2: a 401 names the scheme to authenticate with.
      ...(envelope === 'oauth' && row.status === 401 ? { 'www-authenticate': 'Basic realm="reelgate"' } : {}),
    },
    contentType: envelope === 'page' ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    body: BODIES[envelope]({ message, code, param: param ?? null, type: row.type, ours: known.code, locale }),
  };
}

function statusOf(envelope: EnvelopeKind, code: ErrorCode, row: ErrorRow): number {
  // On token and refresh missing and misshapen fields are a documented failure; JSON that cannot be read is not.
  if (envelope === 'device') return code === 'invalid_request' ? 200 : row.api;
  return envelope === 'api' ? row.api : row.status;
}

const PAGE_HEADERS = pageHeaders('');

interface Parts {
  readonly message: string;
  readonly code: string;
  readonly ours: ErrorCode;
  readonly param: string | null;
  readonly type: string;
  readonly locale: Locale;
}

/** Our codes that have another name where clients read the words of RFC 6749 and RFC 8628. */
const OAUTH_CODES: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_json: 'invalid_request',
  invalid_text: 'invalid_request',
  body_too_large: 'invalid_request',
  unsupported_media_type: 'invalid_request',
  method_not_allowed: 'invalid_request',
  not_found: 'invalid_request',
  misdirected: 'invalid_request',
  cross_site: 'invalid_request',
  client_unknown: 'invalid_client',
  device_code_invalid: 'invalid_grant',
  device_code_used: 'invalid_grant',
  refresh_token_invalid: 'invalid_grant',
  refresh_token_expired: 'invalid_grant',
  refresh_token_spent: 'invalid_grant',
  record_incomplete: 'server_error',
  internal_error: 'server_error',
  unavailable: 'server_error',
};

const BODIES: Readonly<Record<EnvelopeKind, (parts: Parts) => string>> = {
  api: ({ message }) => JSON.stringify({ success: false, message }),
  video: ({ code, message }) => JSON.stringify({ code, message, data: null }),
  // The documented body of a missing task stays to the letter, on both formats.
  'openai-video': ({ code, message, type, param, ours }) =>
    JSON.stringify(
      ours === 'task_not_exist'
        ? { code, message, data: null }
        : { code, message, data: null, error: { message, type, param, code } },
    ),
  model: ({ code, message, type, param }) => JSON.stringify({ error: { message, type, param, code } }),
  device: ({ code, message, ours }) => JSON.stringify({ success: false, error: OAUTH_CODES[ours] ?? code, message }),
  oauth: ({ code, message, ours }) => JSON.stringify({ error: OAUTH_CODES[ours] ?? code, error_description: message }),
  page: ({ message, locale }) =>
    `<!doctype html><html lang="${locale}"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>Reelgate</title><p>${escapeHtml(message)}</p><p><a href="/">Reelgate</a></p></html>`,
};

/** The envelope of an address that matched no route. */
export function envelopeOfPath(path: string): EnvelopeKind {
  if (path.startsWith('/api/')) return 'api';
  if (path.startsWith('/v1/video')) return 'openai-video';
  if (path.startsWith('/kling/') || path.startsWith('/jimeng/')) return 'video';
  if (path.startsWith('/v1/') || path.startsWith('/v2/')) return 'model';
  if (path.startsWith('/oauth/')) return 'oauth';
  return 'page';
}
