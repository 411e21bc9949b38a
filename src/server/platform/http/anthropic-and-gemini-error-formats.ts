import type { VendorErrorFacts, VendorFormatError } from './vendor-compatible-video-api-error-formats.ts';

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

/** `{type: "error", error: {type, message}, request_id}`; an upstream that is not available is `overloaded_error` with 529. */
export function toAnthropicError({ internalCode, message, status, requestId }: VendorErrorFacts): VendorFormatError {
  const shown = internalCode === 'upstream_unavailable' ? 529 : status;
  const byStatus = ANTHROPIC_TYPES[shown] ?? (shown >= 500 ? 'api_error' : 'invalid_request_error');
  const type = internalCode === 'quota_not_enough' ? 'billing_error' : byStatus;
  return { status: shown, body: { type: 'error', error: { type, message }, request_id: requestId } };
}

/** Words of Google's APIs by HTTP status (cloud.google.com/apis/design/errors, google.rpc.Code). */
const GEMINI_WORDS: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** `{error: {code, message, status}}`; when to come again is said in the body (google.rpc.RetryInfo), where Google's clients read it. */
export function toGeminiError({ message, status, retryAfterSeconds }: VendorErrorFacts): VendorFormatError {
  const word = GEMINI_WORDS[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT');
  const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterSeconds}s` };
  const details = retryAfterSeconds === undefined ? {} : { details: [retry] };
  return { status, body: { error: { code: status, message, status: word, ...details } } };
}
