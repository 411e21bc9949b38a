import type { EnvelopeKind } from '../../../contract/endpoint.ts';
import { ERRORS, type ErrorCode, type ErrorDefinition } from '../../../contract/error-codes.ts';
import { formatMessage, type Locale } from '../../../contract/localized-messages/format-message.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import { AppError } from '../app-error.ts';
import { DatabaseUnavailableError } from '../db/database-errors.ts';
import { html } from '../html-template.ts';
import { START_PAGE_LINKS, standalonePage } from '../standalone-page.ts';
import { STANDALONE_PAGE_HEADERS } from '../standalone-page-headers.ts';
import { toAnthropicError, toGeminiError } from './anthropic-and-gemini-error-formats.ts';
import { toJimengError, toKlingError, type VendorErrorFacts } from './vendor-compatible-video-api-error-formats.ts';

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string;
  readonly body: string;
}

/** Seconds; what a database that restarts or fails over takes. */
const DATABASE_RETRY_AFTER_SECONDS = 2;

function toAppError(error: unknown, requestId: string): AppError {
  if (error instanceof AppError) return error;
  return error instanceof DatabaseUnavailableError
    ? new AppError('unavailable', { retryAfterSeconds: DATABASE_RETRY_AFTER_SECONDS })
    : new AppError('internal_error', { params: { requestId } });
}

/** One failure in one envelope. Pure: anything that is not an AppError is our fault and says nothing of itself. */
export function toErrorResponse(
  error: unknown,
  envelope: EnvelopeKind,
  locale: Locale,
  requestId: string,
  { isOpenAiSdk = false }: { readonly isOpenAiSdk?: boolean } = {},
): ErrorResponse {
  const known = toAppError(error, requestId);
  const { status = ERRORS[known.code].status } = known.options;
  const row: ErrorDefinition = { ...ERRORS[known.code], status };
  const { params, retryAfterSeconds, param, publicCode, messageKey = known.code } = known.options;
  // As OpenAI's API answers; the contract's own queries have 400.
  const isMissingForSdk = isOpenAiSdk && envelope === 'openai-video' && known.code === 'task_not_exist';
  const given = isMissingForSdk ? undefined : known.options.message;
  const message = given ?? formatMessage(messageKey, locale, params);
  const code = publicCode ?? known.code;
  const facts = { internalCode: known.code, code, message, status: row.status, requestId, retryAfterSeconds };
  const vendorFormat = VENDOR_FORMATS[envelope]?.(facts);
  return {
    status: vendorFormat?.status ?? (isMissingForSdk ? 404 : statusOf(envelope, known.code, row)),
    headers: {
      ...(envelope === 'page' && STANDALONE_PAGE_HEADERS),
      ...known.options.headers,
      ...defined({
        'retry-after': retryAfterSeconds === undefined ? undefined : String(Math.max(1, Math.ceil(retryAfterSeconds))),
        // RFC 6749 section 5.2: a 401 names the scheme to authenticate with.
        'request-id': envelope === 'anthropic' ? requestId : undefined,
        'www-authenticate': envelope === 'oauth' && row.status === 401 ? 'Basic realm="reelgate"' : undefined,
      }),
    },
    contentType: envelope === 'page' ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    body: RENDERERS[envelope]({
      vendorFormat: vendorFormat?.body,
      message,
      code,
      param: param ?? null,
      type: row.type,
      internalCode: known.code,
      status: row.status,
      locale,
    }),
  };
}

/** Formats of other makers, in which the status depends on the code too. */
const VENDOR_FORMATS: Readonly<
  Partial<Record<EnvelopeKind, (facts: VendorErrorFacts) => { readonly status: number; readonly body: object }>>
> = {
  kling: toKlingError,
  jimeng: toJimengError,
  anthropic: toAnthropicError,
  gemini: toGeminiError,
};

function statusOf(envelope: EnvelopeKind, code: ErrorCode, row: ErrorDefinition): number {
  // On token and refresh missing and misshapen fields are a documented failure; JSON that cannot be read is not.
  if (envelope === 'device') return code === 'invalid_request' ? 200 : row.apiStatus;
  return envelope === 'api' ? row.apiStatus : row.status;
}

interface ErrorContent {
  readonly message: string;
  readonly code: string;
  readonly internalCode: ErrorCode;
  readonly param: string | null;
  readonly type: string;
  readonly status: number;
  readonly locale: Locale;
  readonly vendorFormat: object | undefined;
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

const RENDERERS: Readonly<Record<EnvelopeKind, (parts: ErrorContent) => string>> = {
  api: ({ message }) => JSON.stringify({ success: false, message }),
  video: ({ code, message }) => JSON.stringify({ code, message, data: null }),
  // A message that is the code is one whose body the contract fixes to the letter: that of a query for a missing task.
  'openai-video': ({ code, message, type, param }) =>
    JSON.stringify(
      message === code
        ? { code, message, data: null }
        : { code, message, data: null, error: { message, type, param, code } },
    ),
  model: ({ code, message, type, param }) => JSON.stringify({ error: { message, type, param, code } }),
  device: ({ code, message, internalCode }) =>
    JSON.stringify({ success: false, error: OAUTH_CODES[internalCode] ?? code, message }),
  oauth: ({ code, message, internalCode }) =>
    JSON.stringify({ error: OAUTH_CODES[internalCode] ?? code, error_description: message }),
  kling: ({ vendorFormat }) => JSON.stringify(vendorFormat),
  jimeng: ({ vendorFormat }) => JSON.stringify(vendorFormat),
  anthropic: ({ vendorFormat }) => JSON.stringify(vendorFormat),
  gemini: ({ vendorFormat }) => JSON.stringify(vendorFormat),
  page: ({ message, locale, status }) =>
    standalonePage({
      locale,
      title: String(status),
      main: html`<section><h1>${status}</h1><p>${message}</p><p><a href="/">${START_PAGE_LINKS[locale]}</a></p></section>`,
    }),
};
