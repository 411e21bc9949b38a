import { asObject } from '../../../contract/is-object.ts';
import type { FailureCause } from '../../../contract/video-failure-causes.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import { signVolcengineRequest } from '../../platform/outbound/sign-volcengine-request.ts';
import type { AdapterContext } from '../../upstreams/upstream.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import { type ErrorClass, isSuccessCode, readReason, toVendorError } from '../error-mapping.ts';
import { withSerializedBody } from '../json-http-calls-and-outcomes.ts';
import type { RequestBody } from '../request-body.ts';
import { serializeJsonBody } from '../serialize-json-body.ts';
import { asCode, asText, isSuccessStatus, ownEntry } from '../untrusted-json.ts';

/** Volcengine's visual service, the same for videos and images: two signed actions, two envelopes of errors. */

export const OK = 10_000;
const refusedAs = (cause: FailureCause): ErrorClass => ({ reason: 'policy', cause });
/** The vendor's moderation service is unavailable: a fault of the vendor, which affects all its accounts. */
const MODERATION_OUTAGE: ErrorClass = { reason: 'capacity', retryable: false, cause: 'vendor_check_down' };

/**
 * 504xx and 505xx: volcengine.com/docs/85621, "Error codes" of each interface page; 50411 to 50522 are its content checks. Names: the
 * front gateway's common errors (volcengine.com/docs/6369/68677).
 */
export const ERROR_CLASSES: Readonly<Record<string, ErrorClass>> = {
  50200: { reason: 'user' },
  50215: { reason: 'user' },
  50400: { reason: 'model' },
  50411: refusedAs('picture_refused'),
  50412: refusedAs('prompt_refused'),
  50413: refusedAs('prompt_refused'),
  50429: { reason: 'rate' },
  50430: { reason: 'rate' },
  50500: { reason: 'capacity' },
  50501: { reason: 'capacity' },
  50511: refusedAs('result_refused'),
  50512: refusedAs('result_refused'),
  50516: refusedAs('result_refused'),
  50517: refusedAs('result_refused'),
  50518: refusedAs('copyright_refused'),
  50519: refusedAs('copyright_refused'),
  50520: MODERATION_OUTAGE,
  50521: MODERATION_OUTAGE,
  50522: MODERATION_OUTAGE,
  SignatureDoesNotMatch: { reason: 'auth' },
  InvalidAccessKey: { reason: 'auth' },
  InvalidCredential: { reason: 'auth' },
  InvalidTimestamp: { reason: 'auth' },
  AccessDenied: { reason: 'auth' },
  MissingAuthenticationToken: { reason: 'auth' },
  InvalidAuthorization: { reason: 'auth' },
  InvalidSecretToken: { reason: 'auth' },
  RequestExpired: { reason: 'auth' },
  AccountOverdue: { reason: 'billing' },
  InsufficientBalance: { reason: 'billing' },
  FlowLimitExceeded: { reason: 'rate' },
  RequestLimitExceeded: { reason: 'rate' },
  InternalError: { reason: 'capacity' },
  InternalServiceError: { reason: 'capacity' },
  InternalServiceTimeout: { reason: 'capacity' },
  ServiceUnavailable: { reason: 'capacity' },
  ServiceUnavailableTemp: { reason: 'capacity' },
};
/** In the response to a poll these concern the job: its input or its output was refused. */
export const TERMINAL_CODES: ReadonlySet<number> = new Set([
  50215, 50411, 50412, 50413, 50511, 50512, 50516, 50517, 50518, 50519, 50520, 50521, 50522,
]);

/** The business envelope's code, success included; relays write it as text too. */
export function parseCode(response: BufferedResponse): number | undefined {
  const code = asCode(asObject(response.json)?.code);
  if (code === undefined) return undefined;
  return isSuccessCode(code) ? OK : /^\d{1,9}$/.test(code) ? Number(code) : undefined;
}

/** Either envelope: the service's, or the front gateway's for signatures and rights. */
export function parseError(response: BufferedResponse, nowMs: number): VendorError {
  const envelope = asObject(response.json);
  const gateway = asObject(asObject(envelope?.ResponseMetadata)?.Error);
  const business = parseCode(response);
  const code = asText(gateway?.Code) ?? (business === undefined || business === OK ? '' : String(business));
  const message = asText(gateway?.Message) ?? readReason(envelope).message ?? '';
  return toVendorError(response, nowMs, {
    code,
    message,
    meaning: ownEntry(ERROR_CLASSES, code),
    isPage: code === '',
  });
}

export const isError = (response: BufferedResponse): boolean => {
  const code = parseCode(response);
  const hasGatewayError = asObject(asObject(asObject(response.json)?.ResponseMetadata)?.Error) !== undefined;
  return !isSuccessStatus(response) || hasGatewayError || (code !== undefined && code !== OK);
};

const ACTIONS = { submit: 'CVSync2AsyncSubmitTask', query: 'CVSync2AsyncGetResult' } as const;

export function sendAction(
  context: AdapterContext,
  action: keyof typeof ACTIONS,
  fields: RequestBody,
): Promise<BufferedResponse> {
  const url = `${context.baseUrl}/?Action=${ACTIONS[action]}&Version=2022-08-31`;
  const body = serializeJsonBody(fields);
  const { access_key: accessKey, secret_key: secretKey } = context.credentials;
  const key = { accessKey: String(accessKey), secretKey: String(secretKey), region: 'cn-north-1', service: 'cv' };
  const pieces = typeof body === 'string' ? [body] : body.pieces();
  const unsigned = { method: 'POST', url, pieces, headers: { 'content-type': 'application/json' } } as const;
  const headers = signVolcengineRequest(unsigned, key, context.now());
  return context.sendJson(withSerializedBody({ method: 'POST', url, headers, signal: context.signal }, body));
}
