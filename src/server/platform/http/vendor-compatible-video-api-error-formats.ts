import type { ErrorCode } from '../../../contract/error-codes.ts';

/** An error as the endpoints in a vendor's own format report it. */
export interface VendorFormatError {
  readonly status: number;
  readonly body: object;
}

/** What the formats of vendors are made from. */
export interface VendorErrorFacts {
  readonly internalCode: ErrorCode;
  /** The vendor's own code, where the error came from it. */
  readonly code: string;
  readonly message: string;
  /** HTTP status in our own formats. */
  readonly status: number;
  readonly requestId: string;
  /** What Retry-After says. */
  readonly retryAfterSeconds: number | undefined;
}

/** HTTP status and code by Kling's public error table; an account without quota gets the code of an expired resource pack. */
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

/** HTTP status and code by Jimeng's public error table. */
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
 * The service's envelope; for a missing or wrong key that of the API gateway in front of it. A task that does not exist is a result
 * there and not an error.
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
