import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { type EnvelopeKind, envelopeForClient, envelopeOfPath } from '../../../contract/endpoint.ts';
import { ERRORS, type ErrorCode, type ErrorDefinition } from '../../../contract/error-codes.ts';
import { formatMessage, type Locale } from '../../../contract/messages/format-message.ts';
import { defined } from '../../../contract/objects.ts';
import { AppError, invalidRequest, isAppError } from '../app-error.ts';
import { DatabaseUnavailableError } from '../db/database.ts';
import { html, STANDALONE_PAGE_HEADERS, START_PAGE_LINKS, standalonePage } from '../html.ts';
import type { Log } from '../log.ts';
import { BadVideoError } from '../media.ts';
import { OutboundError } from '../outbound/outbound.ts';
import { isOpenAiSdk, negotiateLocale } from './route-registry.ts';

/** Error types by HTTP status (docs.claude.com/en/api/errors). */
const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** `{type: "error", error: {type, message}, request_id}`; an unavailable upstream is `overloaded_error` with 529. */
export function toAnthropicError({ internalCode, message, status, requestId }: VendorErrorFacts): VendorFormatError {
  const shown = internalCode === 'upstream_unavailable' ? 529 : status;
  const byStatus = ANTHROPIC_TYPES[shown] ?? (shown >= 500 ? 'api_error' : 'invalid_request_error');
  const type = internalCode === 'quota_not_enough' ? 'billing_error' : byStatus;
  return { status: shown, body: { type: 'error', error: { type, message }, request_id: requestId } };
}

/** Seconds after which a person whose credits are used up may try again, where no renewal is known. */
const CREDITS_RETRY_SECONDS = 3_600;

/**
 * As {@link toAnthropicError}, with the headers that keep Claude Code from repeating requests that cannot succeed: a dead
 * token makes it ask for a new sign-in, a reached limit is reported with the time of its renewal.
 */
export function toClaudeCodeError(facts: VendorErrorFacts, now = Date.now()): VendorFormatError {
  const error = toAnthropicError(facts);
  if (error.status === 401) return { ...error, headers: NO_RETRY };
  if (facts.internalCode !== 'quota_not_enough') return error;
  const { retryAfterSeconds } = facts;
  const seconds = Math.max(1, Math.ceil(retryAfterSeconds ?? CREDITS_RETRY_SECONDS));
  const reset = String(Math.ceil(now / 1_000) + seconds);
  const headers = {
    ...NO_RETRY,
    'retry-after': String(seconds),
    'anthropic-ratelimit-unified-status': 'rejected',
    'anthropic-ratelimit-unified-reset': reset,
    'anthropic-ratelimit-unified-overage-reset': reset,
    'anthropic-ratelimit-unified-overage-utilization': '1',
    'anthropic-ratelimit-unified-overage-surpassed-threshold': '1',
    'anthropic-ratelimit-unified-overage-period': periodOf(seconds),
    'anthropic-ratelimit-unified-overage-disabled-reason':
      retryAfterSeconds === undefined ? 'out_of_credits' : 'org_spend_cap_reached',
  };
  return { ...error, status: 429, headers };
}

const NO_RETRY = { 'x-should-retry': 'false' };

/** The shortest period whose renewal can be this many seconds away. */
const periodOf = (seconds: number): string =>
  seconds <= 86_400 ? 'daily' : seconds <= 7 * 86_400 ? 'weekly' : 'monthly';

/** Errors of the sign-in endpoints that Claude Code distinguishes; all others are those of `oauth`. */
const CLAUDE_CODE_OAUTH_ERRORS: Readonly<Partial<Record<ErrorCode, readonly [status: number, code: string]>>> = {
  slow_down: [429, 'slow_down'],
  rate_limit_exceeded: [429, 'slow_down'],
  device_code_invalid: [400, 'expired_token'],
  device_code_used: [400, 'expired_token'],
  refresh_token_invalid: [401, 'invalid_grant'],
  refresh_token_expired: [401, 'invalid_grant'],
  refresh_token_spent: [401, 'invalid_grant'],
  unavailable: [503, 'temporarily_unavailable'],
};

/** The status of a refresh decides whether the program asks for a new sign-in (401) or tries again later. */
export function toClaudeCodeOauthError({ internalCode, code, message, status }: VendorErrorFacts): VendorFormatError {
  const [shown, error] = CLAUDE_CODE_OAUTH_ERRORS[internalCode] ?? [status, OAUTH_CODES[internalCode] ?? code];
  return { status: shown, body: { error, error_description: message } };
}

/** Status names of Google's APIs by HTTP status (cloud.google.com/apis/design/errors, google.rpc.Code). */
const GEMINI_WORDS: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/**
 * `{error: {code, message, status}}`; the retry delay is in the body (google.rpc.RetryInfo), where Google's clients
 * read it.
 */
export function toGeminiError({ message, status, retryAfterSeconds }: VendorErrorFacts): VendorFormatError {
  const word = GEMINI_WORDS[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT');
  const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterSeconds}s` };
  const details = retryAfterSeconds === undefined ? {} : { details: [retry] };
  return { status, body: { error: { code: status, message, status: word, ...details } } };
}

/** An error in a vendor's own format. */
interface VendorFormatError {
  readonly status: number;
  readonly body: object;
  /** Headers in addition to those of every error. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The facts from which vendor formats build an error. */
interface VendorErrorFacts {
  readonly internalCode: ErrorCode;
  /** The vendor's own code, if the error came from the vendor. */
  readonly code: string;
  readonly message: string;
  /** HTTP status in our own formats. */
  readonly status: number;
  readonly requestId: string;
  /** Value of Retry-After. */
  readonly retryAfterSeconds: number | undefined;
}

/**
 * HTTP status and code according to Kling's public error table; an account without quota gets the code of an expired
 * resource pack.
 */
const KLING_ERRORS: Readonly<Partial<Record<ErrorCode, readonly [status: number, code: number]>>> = {
  invalid_api_key: [401, 1002],
  account_disabled: [429, 1100],
  address_not_allowed: [403, 1103],
  quota_not_enough: [429, 1102],
  model_not_allowed: [403, 1103],
  model_not_found: [404, 1203],
  task_not_exist: [404, 1203],
  not_found: [404, 1202],
  method_not_allowed: [404, 1202],
  rate_limit_exceeded: [429, 1302],
  upstream_unavailable: [503, 5001],
  unavailable: [503, 5001],
  upstream_timeout: [504, 5002],
};
const KLING_POLICY_CODES = ['1300', '1301'];

/** `{code, message, request_id, data}` with the status of the vendor's table. */
export function toKlingError({ internalCode, code, message, status, requestId }: VendorErrorFacts): VendorFormatError {
  const byDefault = status >= 500 ? ([500, 5000] as const) : ([400, 1201] as const);
  const [klingStatus, klingCode] = KLING_POLICY_CODES.includes(code)
    ? ([400, Number(code)] as const)
    : (KLING_ERRORS[internalCode] ?? byDefault);
  return { status: klingStatus, body: { code: klingCode, message, request_id: requestId, data: null } };
}

/** HTTP status and code according to Jimeng's public error table. */
const JIMENG_ERRORS: Readonly<Partial<Record<ErrorCode, readonly [status: number, code: number]>>> = {
  account_disabled: [400, 50400],
  address_not_allowed: [400, 50400],
  quota_not_enough: [400, 50400],
  model_not_allowed: [400, 50400],
  rate_limit_exceeded: [429, 50429],
  upstream_unavailable: [429, 50430],
};

const statusOfJimeng = (code: number): number =>
  code === 50429 || code === 50430 ? 429 : code >= 50500 && code <= 50501 ? 500 : 400;

/**
 * The service's envelope, or for a missing or wrong key that of the API gateway in front of it. There, a missing task
 * is a result and not an error.
 */
export function toJimengError({ internalCode, code, message, status, requestId }: VendorErrorFacts): VendorFormatError {
  if (internalCode === 'invalid_api_key') {
    const error = { CodeN: 100009, Code: 'InvalidAccessKey', Message: message };
    const metadata = { RequestId: requestId, Version: '2022-08-31', Service: 'cv', Region: 'cn-north-1', Error: error };
    return { status: 401, body: { ResponseMetadata: metadata } };
  }
  if (internalCode === 'task_not_exist')
    return { status: 200, body: toJimengBody(10_000, 'Success', { status: 'not_found', video_url: '' }, requestId) };
  const own = /^50\d{3}$/.test(code) ? Number(code) : undefined;
  const byDefault = status >= 500 ? ([500, 50500] as const) : ([400, 50200] as const);
  const [jimengStatus, jimengCode] =
    own === undefined ? (JIMENG_ERRORS[internalCode] ?? byDefault) : ([statusOfJimeng(own), own] as const);
  return { status: jimengStatus, body: toJimengBody(jimengCode, message, null, requestId) };
}

/** The envelope of the service's responses; `status` repeats the code. */
export const toJimengBody = (code: number, message: string, data: object | null, requestId: string, ms = 0) => ({
  code,
  data,
  message,
  request_id: requestId,
  status: code,
  time_elapsed: `${ms.toFixed(3)}ms`,
});

/** An error as it is sent. */
export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string;
  readonly body: string;
}

/** Seconds; the time a database takes to restart or fail over. */
const DATABASE_RETRY_AFTER_SECONDS = 2;

function toAppError(error: unknown, requestId: string): AppError {
  if (error instanceof AppError) return error;
  return error instanceof DatabaseUnavailableError
    ? new AppError('unavailable', { retryAfterSeconds: DATABASE_RETRY_AFTER_SECONDS })
    : new AppError('internal_error', { params: { requestId } });
}

/**
 * Renders one failure in one envelope. Pure. Anything other than an AppError is an internal error whose details stay
 * hidden.
 */
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
  // Matches OpenAI's API; the contract's own queries respond with 400.
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
        'request-id': envelope === 'anthropic' || envelope === 'claude-code' ? requestId : undefined,
        'www-authenticate': envelope === 'oauth' && row.status === 401 ? 'Basic realm="reelgate"' : undefined,
      }),
      ...vendorFormat?.headers,
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

/** Vendor formats, in which the status also depends on the code. */
const VENDOR_FORMATS: Readonly<Partial<Record<EnvelopeKind, (facts: VendorErrorFacts) => VendorFormatError>>> = {
  'claude-code': toClaudeCodeError,
  'claude-code-oauth': toClaudeCodeOauthError,
  kling: toKlingError,
  jimeng: toJimengError,
  anthropic: toAnthropicError,
  gemini: toGeminiError,
};

function statusOf(envelope: EnvelopeKind, code: ErrorCode, row: ErrorDefinition): number {
  // On the token and refresh endpoints, missing and malformed fields are a documented failure, but unreadable JSON is
  // not.
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

/** Codes that have another name for clients that expect RFC 6749 and RFC 8628. */
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
  authorization_code_invalid: 'invalid_grant',
  redirect_uri_invalid: 'invalid_request',
  refresh_token_invalid: 'invalid_grant',
  refresh_token_expired: 'invalid_grant',
  refresh_token_spent: 'invalid_grant',
  record_incomplete: 'server_error',
  identity_rejected: 'invalid_request',
  identity_provider_unavailable: 'server_error',
  internal_error: 'server_error',
  unavailable: 'server_error',
};

/** JSON-RPC 2.0 section 5.1: unreadable JSON, an error of this service, or a request that is refused. */
const rpcCodeOf = (code: ErrorCode, status: number): number =>
  code === 'invalid_json' ? -32_700 : status >= 500 ? -32_603 : -32_600;

const RENDERERS: Readonly<Record<EnvelopeKind, (parts: ErrorContent) => string>> = {
  api: ({ message, code, internalCode }) => {
    const { isCoded = false }: ErrorDefinition = ERRORS[internalCode];
    return JSON.stringify({ success: false, message, code: isCoded ? code : undefined });
  },
  video: ({ code, message }) => JSON.stringify({ code, message, data: null }),
  // A message equal to the code marks a body that the contract fixes literally: that of a query for a missing task.
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
  'claude-code': ({ vendorFormat }) => JSON.stringify(vendorFormat),
  'claude-code-oauth': ({ vendorFormat }) => JSON.stringify(vendorFormat),
  mcp: ({ code, message, internalCode, status }) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: null,
      error: { code: rpcCodeOf(internalCode, status), message, data: { code } },
    }),
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

/** The largest body of any endpoint. */
const MAX_DROPPED_BYTES = 64 * 1024 * 1024;

/** Sends errors in the envelope and language of the request, and logs internal ones. */
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

  /** @param end ends the response later, after its body was written; default: ends it immediately */
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
    // Fastify closes the connection after every body it could not parse, so a sender that is still writing would see a
    // broken connection instead of the response. A body of limited length is therefore received and dropped.
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

/**
 * Errors caused by the caller are not logged; internal errors are, and so are errors with details meant only for the
 * log.
 */
function logError(log: Log, error: unknown, where: object): void {
  const known = error instanceof AppError && error.code !== 'internal_error';
  if (known && error.options.log === undefined) return;
  const details = known ? error.options.log : undefined;
  log[known ? 'warn' : 'error']({ err: error, ...where, ...details }, 'request failed');
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

/** Converts Fastify's own failures to our codes; other errors are returned unchanged. */
function toKnownError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  // A relayed body that failed before its first byte.
  if (error instanceof OutboundError) return new AppError('upstream_error', { log: { phase: error.phase } });
  // Detected in the body of a short file before its first byte was sent.
  if (error instanceof BadVideoError) return new AppError('content_unavailable', { log: { reason: error.message } });
  const { code, statusCode } = error as Partial<FastifyError>;
  const known = code === undefined ? undefined : FRAMEWORK_ERRORS[code];
  if (known !== undefined) return known();
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return invalidRequest('The request could not be read.');
  return error;
}

/** The parts of a failure that a page shows. */
export interface PageFailure {
  readonly code: AppError['code'];
  readonly status: number;
  /** In the language of the page. */
  readonly message: string;
}

/** Runs the work of an HTML page. An error is shown as a page too, from which the person can continue. */
export async function showErrorsAsPage(
  reply: FastifyReply,
  locale: Locale,
  work: () => Promise<FastifyReply>,
  showFailure: (failure: PageFailure) => FastifyReply | Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (!isAppError(error)) throw error;
    const { params, retryAfterSeconds } = error.options;
    if (retryAfterSeconds !== undefined) reply.header('retry-after', String(Math.ceil(retryAfterSeconds)));
    const { code } = error;
    return showFailure({ code, status: ERRORS[code].status, message: formatMessage(code, locale, params) });
  }
}
