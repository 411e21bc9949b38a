import type { OutboundAnswer } from '../../platform/outbound/outbound.ts';
import type { ErrorReason, Json, QueryOutcome, VendorError } from '../vendor.ts';
import { asArray, asObject, asText, type Untrusted } from '../vendor-answer.ts';
import { failedTask, type Meaning, reasonOfStatus, toVendorError } from '../vendor-errors.ts';

interface StatusRow {
  readonly grpc: number;
  readonly http: number;
  readonly reason: ErrorReason;
}

/**
 * Google's canonical codes (google/rpc/code.proto): HTTP errors carry the name, operations the number.
 *
 * FAILED_PRECONDITION is billing that is off or a region that is not served, so that another account may do better;
 * INTERNAL is also what an overloaded Veo says inside an operation.
 */
export const GOOGLE_STATUS: Readonly<Record<string, StatusRow>> = {
  CANCELLED: { grpc: 1, http: 499, reason: 'other' },
  UNKNOWN: { grpc: 2, http: 500, reason: 'capacity' },
  INVALID_ARGUMENT: { grpc: 3, http: 400, reason: 'user' },
  DEADLINE_EXCEEDED: { grpc: 4, http: 504, reason: 'capacity' },
  NOT_FOUND: { grpc: 5, http: 404, reason: 'missing' },
  ALREADY_EXISTS: { grpc: 6, http: 409, reason: 'other' },
  PERMISSION_DENIED: { grpc: 7, http: 403, reason: 'auth' },
  RESOURCE_EXHAUSTED: { grpc: 8, http: 429, reason: 'rate' },
  FAILED_PRECONDITION: { grpc: 9, http: 400, reason: 'billing' },
  ABORTED: { grpc: 10, http: 409, reason: 'capacity' },
  OUT_OF_RANGE: { grpc: 11, http: 400, reason: 'user' },
  UNIMPLEMENTED: { grpc: 12, http: 501, reason: 'model' },
  INTERNAL: { grpc: 13, http: 500, reason: 'capacity' },
  UNAVAILABLE: { grpc: 14, http: 503, reason: 'capacity' },
  DATA_LOSS: { grpc: 15, http: 500, reason: 'capacity' },
  UNAUTHENTICATED: { grpc: 16, http: 401, reason: 'auth' },
};

/** `google.rpc.ErrorInfo.reason` in `details`, which says more than the canonical code. */
export const ERROR_INFO: Readonly<Record<string, ErrorReason>> = {
  // A wrong Gemini key is a 400, where everybody else answers 401.
  API_KEY_INVALID: 'auth',
  API_KEY_EXPIRED: 'auth',
  API_KEY_SERVICE_BLOCKED: 'auth',
  ACCESS_TOKEN_EXPIRED: 'auth',
  SERVICE_DISABLED: 'auth',
  CONSUMER_SUSPENDED: 'auth',
  BILLING_DISABLED: 'billing',
  RATE_LIMIT_EXCEEDED: 'rate',
};

/** Refused content is an INVALID_ARGUMENT like any other; only its words tell. Veo ends them with support codes. */
const POLICY_WORDS = /support codes?:|usage guidelines|responsible ai|safety (?:filter|polic)/i;

const readDetails = (error: Untrusted): readonly Untrusted[] =>
  (asArray(error.details) ?? []).map(asObject).filter((detail) => detail !== undefined);

/** RetryInfo's protobuf duration as JSON writes it: seconds and an `s`, such as `34.5s`. */
function readRetryDelay(details: readonly Untrusted[]): number | undefined {
  for (const { retryDelay } of details) {
    const match = /^(\d{1,4}(?:\.\d+)?)s$/.exec(asText(retryDelay) ?? '');
    if (match) return Math.round(Number(match[1]) * 1000);
  }
  return undefined;
}

function refine(reason: ErrorReason, message: string, details: readonly Untrusted[]): ErrorReason {
  for (const detail of details) {
    const word = asText(detail.reason) ?? '';
    const told = Object.hasOwn(ERROR_INFO, word) ? ERROR_INFO[word] : undefined;
    if (told) return told;
  }
  return reason === 'user' && POLICY_WORDS.test(message) ? 'policy' : reason;
}

/**
 * Reads an HTTP error of either route: `{error: {code, message, status, details}}`, by some proxies inside an array.
 *
 * @param notFound What NOT_FOUND means here: at a submit the model is withdrawn or was never enabled for this account,
 *   which another channel may not share; later the operation is gone.
 */
export function readGoogleError(answer: OutboundAnswer, nowMs: number, notFound: 'model' | 'missing'): VendorError {
  const error = asObject(asObject(asArray(answer.json)?.[0] ?? answer.json)?.error) ?? {};
  const details = readDetails(error);
  const code = asText(error.status) ?? '';
  const message = asText(error.message) ?? '';
  const row = Object.hasOwn(GOOGLE_STATUS, code) ? GOOGLE_STATUS[code] : undefined;
  const reason = refine(
    row?.reason ?? (answer.status === 404 ? 'missing' : reasonOfStatus(answer.status)),
    message,
    details,
  );
  const meaning: Meaning = { reason: reason === 'missing' ? notFound : reason };
  const read = toVendorError(answer, nowMs, { code, message, meaning });
  const delayMs = readRetryDelay(details);
  return delayMs === undefined ? read : { ...read, retryAfterMs: delayMs };
}

/** Reads `error` of a finished operation, `{code, message, details?}`; the number is told by its canonical name. */
export function failedOperation(error: Untrusted, raw: Json): QueryOutcome {
  const found = Object.entries(GOOGLE_STATUS).find(([, row]) => row.grpc === error.code);
  const message = asText(error.message) ?? '';
  const code = found?.[0] ?? (typeof error.code === 'number' ? String(error.code) : '');
  const reason = refine(found?.[1].reason ?? 'other', message, readDetails(error));
  return failedTask(raw, { reason, code, message, ...(found ? { httpStatus: found[1].http } : {}) });
}
