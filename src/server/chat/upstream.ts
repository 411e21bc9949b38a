import type { ChatVendor } from '../../contract/channels.ts';
import { asObject, defined, type UntrustedObject } from '../../contract/objects.ts';
import type { CallOutcome, Channel, ResolvedModel } from '../channels/directory.ts';
import { AppError } from '../platform/app-error.ts';
import { tryParse } from '../platform/json.ts';
import { maskSecrets } from '../platform/log.ts';
import { type OutboundError, parseRetryAfter, type StreamedRequest } from '../platform/outbound/outbound.ts';
import { toWellFormedText, truncateCodePoints } from '../platform/text.ts';
import {
  chatAuthorizationHeaders,
  credentialMaskOf,
  type ErrorReason,
  endpointUrl,
  openaiUrl,
  toUpstreamModelName,
} from '../upstreams/upstream.ts';
import { convertRequest, findCodec, ResponseConversion } from './conversion/convert.ts';
import { withoutForeignParts } from './conversion/foreign-parts.ts';
import type { ToolOrigin } from './conversion/neutral-form.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  errorIn,
  GEMINI_DIALECT,
  isBlank,
  listOf,
  RESPONSES_DIALECT,
  textOf,
} from './dialects.ts';
import { applyOptionRules } from './options.ts';
import { type ChatRequest, outputLimitFor, removeProperty, toUpstreamBody } from './request.ts';
import { freeformNames } from './responses-body.ts';

/** One attempt of a call at one channel: the request to send, and the dialect of the response. */
export interface UpstreamExchange {
  /** Dialect of the upstream. */
  readonly dialect: Dialect;
  readonly request: StreamedRequest;
  /** Converts the response to the dialect the caller reads; undefined where both are the same. */
  readonly conversion: ResponseConversion | undefined;
  /** Paths of the request's members that are left out: by a rule of the channel, or because they change nothing. */
  readonly dropped: readonly string[];
  /** Whole quota on top of the price, for options that the channel prices. */
  readonly surcharge: number;
}

/** Parameters of an attempt apart from the request. */
interface ExchangeContext {
  readonly timeouts: UpstreamTimeouts;
  /** Id of the request. */
  readonly id: string;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/**
 * Converts a response in the dialect of the request to the form, stream or body, that the caller reads; undefined where
 * none is needed.
 */
export function prepareFormConversion(
  { dialect, responseDialect, model, wantsUsage, body }: ChatRequest,
  { id, nowMs }: Pick<ExchangeContext, 'id' | 'nowMs'>,
): ResponseConversion | undefined {
  const [source, target] = [dialect, responseDialect].map(findCodec);
  if (source === undefined || target === undefined) return undefined;
  const created = Math.floor(nowMs / 1_000);
  return new ResponseConversion(source, target, {
    id,
    model,
    created,
    wantsUsage,
    asked: body,
    origins: freeformTools(body),
  });
}

/** Tools whose input is a plain text, which only the Responses API has. */
const freeformTools = ({ tools }: UntrustedObject): ReadonlyMap<string, ToolOrigin> =>
  new Map([...freeformNames(tools)].map((name) => [name, { isFreeform: true, namespace: undefined, name }]));

/** Target dialect of conversions for each kind of upstream. */
const UPSTREAM_DIALECTS: Readonly<Record<ChatVendor, Dialect>> = {
  openai: CHAT_DIALECT,
  anthropic: ANTHROPIC_MESSAGES_DIALECT,
  gemini: GEMINI_DIALECT,
};

/**
 * The dialect in which an upstream of a vendor is called for a call in a dialect; undefined where it cannot serve such
 * a call. The option `responses` of an OpenAI channel says whether its upstream supports the Responses API (true, the
 * default), does not (false), or supports nothing else (`only`).
 */
export function upstreamDialect(
  asked: Dialect,
  vendor: string,
  { responses }: { readonly responses?: unknown } = {},
): Dialect | undefined {
  if (asked === RESPONSES_DIALECT && vendor === 'openai' && responses === false) return CHAT_DIALECT;
  if (vendor === 'openai' && responses === 'only' && findCodec(asked) !== undefined) return RESPONSES_DIALECT;
  if (asked.vendor === vendor) return asked;
  const spoken = Object.hasOwn(UPSTREAM_DIALECTS, vendor) ? UPSTREAM_DIALECTS[vendor as ChatVendor] : undefined;
  return spoken === undefined || findCodec(asked) === undefined ? undefined : spoken;
}

/**
 * Prepares an attempt. Within one dialect the caller's bytes are sent unchanged except for the few members that must
 * differ; between two dialects the request is converted.
 *
 * @throws AppError `invalid_request` for members that the upstream's dialect cannot express
 */
export function prepareExchange(
  request: ChatRequest,
  model: ResolvedModel,
  channel: Channel,
  { timeouts, id, nowMs }: ExchangeContext,
): UpstreamExchange {
  const { dialect: asked, responseDialect, forwardedHeaders, wantsUsage } = request;
  const dialect = upstreamDialect(asked, channel.vendor, channel.options) ?? asked;
  const { droppedTools, surcharge } = applyOptionRules(request.governedOptions, channel);
  const leftOut = droppedTools.map((index) => `tools.${index}`);
  const limit = outputLimitFor(request, model.target, channel);
  const upstreamModel = toUpstreamModelName(channel, model);
  const target = {
    path: dialect.upstreamPath?.(upstreamModel, request.stream) ?? dialect.path,
    model: upstreamModel,
  };
  const [source, askedCodec, shownCodec] = [dialect, asked, responseDialect].map(findCodec);
  if (dialect === asked || source === undefined || askedCodec === undefined || shownCodec === undefined) {
    const { request: own, dropped } = withoutForeignParts(request, upstreamModel);
    const body = toUpstreamBody(own, { model: upstreamModel, limit, droppedTools });
    const sent = toRequest(channel, target, withoutRefusedOption(request, body), timeouts, forwardedHeaders);
    const conversion = dialect === responseDialect ? undefined : prepareFormConversion(request, { id, nowMs });
    return { dialect, request: sent, conversion, dropped: [...leftOut, ...dropped], surcharge };
  }
  const codecs = { source: askedCodec, target: source };
  const { body, dropped, names, origins, callIds } = convertRequest(request, codecs, {
    dialect,
    model: upstreamModel,
    channel,
    limit,
    droppedTools,
  });
  const context = {
    id,
    model: request.model,
    created: Math.floor(nowMs / 1_000),
    wantsUsage,
    asked: request.body,
    names,
    origins,
    callIds,
  };
  return {
    dialect,
    request: toRequest(channel, target, withoutRefusedOption(request, body), timeouts),
    conversion: new ResponseConversion(source, shownCodec, context),
    dropped: [...leftOut, ...dropped],
    surcharge,
  };
}

const withoutRefusedOption = ({ omitsUsage }: ChatRequest, body: Buffer): Buffer =>
  omitsUsage === true ? removeProperty(body, 'stream_options') : body;

/** Time limits of one attempt, in milliseconds. */
export interface UpstreamTimeouts {
  /** Longest wait for the start of the response; a response that is not streamed starts when it is complete. */
  readonly firstByteMs: number;
  /** Longest time without data within a response. */
  readonly idleMs: number;
  readonly totalMs: number;
}

/** The target of a call: an endpoint of the upstream's dialect, and the upstream's name of the model. */
interface UpstreamTarget {
  readonly path: string;
  readonly model: string;
}

/** Builds the HTTP request of a call to a chat upstream. */
export function toRequest(
  channel: Channel,
  { path, model }: UpstreamTarget,
  body: Buffer,
  times: UpstreamTimeouts,
  headers?: Readonly<Record<string, string>>,
): StreamedRequest {
  return {
    method: 'POST',
    url: channel.vendor === 'openai' ? openaiUrl(channel, path, model) : endpointUrl(channel, path),
    headers: {
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      ...chatAuthorizationHeaders(channel.vendor, String(channel.credentials.api_key), channel),
      ...headers,
      ...channel.extraHeaders,
    },
    body,
    private: channel.private,
    proxy: channel.proxy,
    headersTimeoutMs: times.firstByteMs,
    idleTimeoutMs: times.idleMs,
    totalTimeoutMs: times.totalMs,
  };
}

/**
 * Meaning of the errors of chat upstreams. Sources: platform.openai.com/docs/guides/error-codes,
 * docs.claude.com/en/api/errors.
 */

/** Consequences of an upstream's failure: for the channel, for the next channel, and for the caller. */
export interface UpstreamFailure {
  readonly outcome: Exclude<CallOutcome['outcome'], 'ok'>;
  readonly retryable: boolean;
  readonly error: AppError;
  readonly message: string;
  readonly code: string;
  readonly retryAfterMs?: number;
}

const REASON_BY_STATUS: Readonly<Record<number, ErrorReason>> = {
  401: 'auth',
  402: 'billing',
  403: 'auth',
  404: 'capacity',
  405: 'capacity',
  408: 'capacity',
  409: 'capacity',
  429: 'rate',
};

/** Codes that are more specific than their status. */
const REASON_BY_CODE: Readonly<Record<string, ErrorReason>> = {
  insufficient_quota: 'billing',
  billing_hard_limit_reached: 'billing',
  billing_not_active: 'billing',
  // DashScope
  Arrearage: 'billing',
  // Moonshot, with 429
  exceeded_current_quota_error: 'billing',
  account_deactivated: 'auth',
  // OpenAI, with 429
  access_terminated: 'auth',
  // Groq
  organization_restricted: 'auth',
  invalid_api_key: 'auth',
  unsupported_country_region_territory: 'auth',
  model_not_found: 'model',
  rate_limit_exceeded: 'rate',
  content_policy_violation: 'policy',
  content_filter: 'policy',
  moderation_blocked: 'policy',
  // Anthropic's error types, which come without a code.
  authentication_error: 'auth',
  permission_error: 'auth',
  billing_error: 'billing',
  not_found_error: 'model',
  rate_limit_error: 'rate',
  timeout_error: 'capacity',
  overloaded_error: 'capacity',
  api_error: 'capacity',
  // Google's statuses, which are more specific than their numeric codes.
  UNAUTHENTICATED: 'auth',
  PERMISSION_DENIED: 'auth',
  FAILED_PRECONDITION: 'auth',
  RESOURCE_EXHAUSTED: 'rate',
  NOT_FOUND: 'model',
  UNAVAILABLE: 'capacity',
  INTERNAL: 'capacity',
  DEADLINE_EXCEEDED: 'capacity',
};

/** Failures caused by the channel and not by the request. */
const RETRYABLE_REASONS: ReadonlySet<ErrorReason> = new Set(['auth', 'billing', 'model', 'rate', 'capacity']);

const MAX_MESSAGE = 2_000;
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Parses an error response, which some gateways send with HTTP 200. The result contains none of the channel's secrets,
 * even if the upstream repeats them.
 */
export function parseUpstreamError(
  channel: Channel,
  path: string,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): UpstreamFailure {
  const value = tryParse(body);
  // Google wraps the error of a stream into a list.
  const written = asObject(Array.isArray(value) ? value[0] : value) ?? {};
  const reported = findReportedError(written);
  // Codes of a gateway's own envelope are no statuses.
  const failed = status < 300 ? statusOf(errorIn(written) ?? {}) : status;
  const refusal = toUpstreamFailure(
    channel,
    failed,
    reported,
    parseRetryAfter(headers, Date.now()) ?? retryDelayOf(reported),
  );
  return isUnsupportedByChannel(path, failed, reported) ? { ...refusal, outcome: 'missing' } : refusal;
}

/**
 * The error that a body reports. Servers without OpenAI's envelope write a text in its place (Ollama, TGI, xAI), or
 * FastAPI's `detail`, or a list of errors (Cloudflare).
 */
function findReportedError(body: UntrustedObject): UntrustedObject {
  const { error, detail, errors } = body;
  const wrapped = asObject(error) ?? asObject(listOf(errors)[0]) ?? (isBlank(error) ? errorIn(body) : undefined);
  if (wrapped !== undefined) return wrapped;
  const { loc, msg } = asObject(listOf(detail)[0]) ?? {};
  const place = listOf(loc).filter((each) => typeof each === 'string' || typeof each === 'number');
  const invalid = textOf(msg) === '' ? '' : [place.join('.'), msg].filter((each) => each !== '').join(': ');
  const message = textOf(body.message) || textOf(error) || textOf(detail) || invalid;
  return message === '' ? body : { ...body, message };
}

/**
 * Whether the call requested something the channel does not have: an endpoint besides chat, or embeddings of a chat model
 * (OpenAI's 403 without a code). Other calls are not affected, so it does not open the channel's circuit.
 */
function isUnsupportedByChannel(path: string, status: number, error: UntrustedObject): boolean {
  if (Object.hasOwn(REASON_BY_CODE, toCode(error))) return false;
  if (status === 404 || status === 405) return path !== CHAT_PATH;
  return status === 403 && error.type === 'invalid_request_error';
}

/** The one path every chat upstream supports. */
const CHAT_PATH = '/v1/chat/completions';

function toUpstreamFailure(
  channel: Channel,
  status: number,
  error: UntrustedObject,
  waitMs: number | undefined,
): UpstreamFailure {
  const retryAfterMs = waitMs === undefined ? undefined : Math.min(waitMs, MAX_RETRY_AFTER_MS);
  const code = toCode(error);
  const reason =
    findAccountReason(error) ??
    (isWrongGoogleKey(error) ? 'auth' : undefined) ??
    (isModerated(error) ? 'policy' : undefined) ??
    (Object.hasOwn(REASON_BY_CODE, code) ? REASON_BY_CODE[code] : undefined) ??
    REASON_BY_STATUS[status] ??
    // Redirects are not followed: a redirect means that the channel's base URL is wrong.
    (status >= 500 || status < 400 ? 'capacity' : 'user');
  const message = truncateCodePoints(
    mask(channel, typeof error.message === 'string' ? error.message : ''),
    MAX_MESSAGE,
  );
  const shownCode = mask(channel, code);
  const param = typeof error.param === 'string' ? mask(channel, error.param).slice(0, 200) : undefined;
  return {
    outcome: reason,
    retryable: RETRYABLE_REASONS.has(reason),
    message: message || `HTTP ${status}`,
    code: shownCode,
    error: toClientError(reason, status, { message, code: shownCode, param, retryAfterMs }),
    retryAfterMs,
  };
}

/**
 * Beginnings of messages about the account of the channel, whose status blames the request (400, of Fireworks 412) or
 * its time (429). Upstreams quote a request only later in a message, if at all.
 */
const ACCOUNT_MESSAGES: readonly (readonly [RegExp, ErrorReason])[] = [
  // Anthropic and gateways in front of it
  [
    /^(?:your credit balance is too low|you have (?:insufficient credits|reached your specified api usage limits))\b/i,
    'billing',
  ],
  [/^this organization has been disabled\b/i, 'auth'],
  // xAI
  [/^incorrect api key provided\b/i, 'auth'],
  // Zhipu
  [/^余额不足/, 'billing'],
  // Fireworks
  [/^account \S{1,100} is suspended\b/i, 'billing'],
];

const findAccountReason = ({ message }: UntrustedObject): ErrorReason | undefined =>
  ACCOUNT_MESSAGES.find(([pattern]) => pattern.test(textOf(message)))?.[1];

/** Google answers an unknown key with 400. */
const isWrongGoogleKey = ({ details }: UntrustedObject): boolean =>
  Array.isArray(details) && details.some((each) => asObject(each)?.reason === 'API_KEY_INVALID');

/** OpenRouter answers a flagged input with 403, as it does a wrong key. */
const isModerated = ({ metadata }: UntrustedObject): boolean =>
  Object.hasOwn(asObject(metadata) ?? {}, 'flagged_input');

function toClientError(
  reason: ErrorReason,
  status: number,
  details: { message: string; code: string; param: string | undefined; retryAfterMs: number | undefined },
): AppError {
  if (reason === 'rate') {
    const seconds = Math.max(1, Math.ceil((details.retryAfterMs ?? 1_000) / 1_000));
    return new AppError('rate_limit_exceeded', { params: { seconds }, retryAfterSeconds: seconds });
  }
  if (reason === 'user' || reason === 'policy') {
    const options = defined({
      params: { detail: `The model provider refused the request with HTTP ${status}.` },
      message: details.message || undefined,
      publicCode: details.code || undefined,
      param: details.param,
      status: isAboutRequest(status) ? status : undefined,
    });
    return new AppError('upstream_refused', options);
  }
  if (status === 503 || status === 529) {
    const seconds = details.retryAfterMs === undefined ? undefined : Math.ceil(details.retryAfterMs / 1_000);
    return new AppError('upstream_unavailable', defined({ retryAfterSeconds: seconds }));
  }
  return new AppError(status === 504 || status === 408 ? 'upstream_timeout' : 'upstream_error');
}

/**
 * Statuses that can be passed on to the caller; those about credentials would refer to the channel's, not the caller's.
 */
const isAboutRequest = (status: number): boolean => status >= 400 && status < 500 && status !== 401 && status !== 407;

/** Parses an error reported inside a stream in progress; it is too late for another channel. */
export function parseStreamError(channel: Channel, error: UntrustedObject): UpstreamFailure {
  return toUpstreamFailure(channel, statusOf(error), error, retryDelayOf(error));
}

/** Codes and types that blame the request, of errors that arrive without a status of their own. */
const REQUEST_ERRORS: ReadonlySet<unknown> = new Set(
  (
    'invalid_request_error invalid_request bad_request_error bad_request BadRequestError request_too_large context_length_exceeded ' +
    'string_above_max_length invalid_prompt bio_policy image_content_policy_violation invalid_image invalid_image_format ' +
    'invalid_base64_image invalid_image_url invalid_image_mode unsupported_image_media_type empty_image_file image_too_large ' +
    'image_too_small image_parse_error image_file_too_large image_file_not_found failed_to_download_image ' +
    // DashScope
    'data_inspection_failed DataInspectionFailed invalid_parameter_error InvalidParameter'
  ).split(' '),
);

/** A status of an error, which some upstreams write as text; undefined for any other value. */
const toErrorStatus = (value: unknown): number | undefined =>
  /^[45]\d\d$/.test(typeof value === 'number' ? String(value) : textOf(value)) ? Number(value) : undefined;

/** The status that an error within a response of HTTP 200 stands for; 502 if only the upstream can be to blame. */
function statusOf({ status, code, type }: UntrustedObject): number {
  const named = toErrorStatus(status) ?? toErrorStatus(code);
  if (named !== undefined) return named;
  return REQUEST_ERRORS.has(code) || REQUEST_ERRORS.has(type) ? 400 : 502;
}

/** Converts the failure of an exchange that got no response. */
export function toConnectionFailure(error: OutboundError): UpstreamFailure {
  const late = isTimeout(error);
  return {
    outcome: 'unreachable',
    // A connection lost before the first byte may be retried; after a timeout the caller has already waited too long.
    retryable: !late && error.phase !== 'body',
    error: new AppError(late ? 'upstream_timeout' : error.phase === 'body' ? 'upstream_error' : 'upstream_unavailable'),
    message: error.message,
    code: error.phase,
  };
}

/** A timeout of our own (no cause), or of undici. */
function isTimeout({ phase, cause }: OutboundError): boolean {
  if (phase !== 'sent' && phase !== 'body') return false;
  const code = (cause as { code?: unknown } | undefined)?.code;
  return cause === undefined || code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT';
}

const toCode = ({ code, type, status }: UntrustedObject): string => {
  const word =
    typeof status === 'string' && typeof code === 'number'
      ? status
      : typeof code === 'string'
        ? code
        : typeof code === 'number'
          ? String(code)
          : typeof type === 'string'
            ? type
            : '';
  return /^[\w.:-]{1,100}$/.test(word) ? word : '';
};

/** Masks secrets, because some upstreams quote the headers they were sent. */
const mask = (channel: Channel, text: string): string =>
  toWellFormedText(credentialMaskOf(channel).text(maskSecrets(text)));

/** Google's `RetryInfo`, which replaces the header; milliseconds. */
function retryDelayOf({ details }: UntrustedObject): number | undefined {
  for (const detail of listOf(details)) {
    const [, seconds] = /^(\d{1,6}(?:\.\d{1,9})?)s$/.exec(textOf(asObject(detail)?.retryDelay)) ?? [];
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1_000);
  }
  return undefined;
}

/**
 * A response that started with success and proved invalid: no
 * other channel is tried, because this one may have billed it.
 */
const invalidResponse = (message: string, code: string): UpstreamFailure => ({
  outcome: 'capacity',
  retryable: false,
  error: new AppError('upstream_error'),
  message,
  code,
});
/** The response exceeds the size limit. */
export const responseTooLong = (): UpstreamFailure =>
  invalidResponse('the answer is longer than it may be', 'too_long');
/** The response is not JSON. */
export const malformedResponse = (): UpstreamFailure => invalidResponse('the answer is not JSON', 'malformed');
/** Nothing was generated, so another channel may be tried. */
export const emptyResponse = (): UpstreamFailure => ({
  ...invalidResponse('the answer is empty', 'empty'),
  retryable: true,
});
/** The response ended for a reason that no table lists. */
export const unknownStopReason = (reason: string): UpstreamFailure =>
  invalidResponse(`the answer ended for the reason ${reason}`, 'stop_reason');
/** The stream contained comments and no data. */
export const onlyComments = (): UpstreamFailure => ({
  ...invalidResponse('the stream has comments and no events', 'comments'),
  error: new AppError('upstream_timeout'),
});
/** The stream ended without its end marker. */
export const truncatedStream = (): UpstreamFailure => invalidResponse('the stream ended without its end', 'cut');

const CODES_THAT_IMPLY_NO_CHARGE: ReadonlySet<string> = new Set(['upstream_error', 'upstream_unavailable']);

/** A partial response is charged, so its error must not have a code that implies no charge. */
export const toPartialResponseError = (error: AppError): AppError =>
  CODES_THAT_IMPLY_NO_CHARGE.has(error.code) ? new AppError('answer_broken_off') : error;
