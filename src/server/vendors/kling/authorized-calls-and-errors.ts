import { asObject } from '../../../contract/is-object.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, endpointUrl, withoutVersion } from '../../upstreams/upstream.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import { type ErrorClass, isSuccessCode, readReason, toVendorError } from '../error-mapping.ts';
import { withJsonBody } from '../json-http-calls-and-outcomes.ts';
import type { RequestBody } from '../request-body.ts';
import { asCode, isSuccessStatus, ownEntry } from '../untrusted-json.ts';
import { bearerToken } from './bearer-token.ts';

/** Authorized calls of Kling's APIs, and the errors of their envelope. */

/**
 * The vendor's own codes (kling.ai/document-api, "Error Codes"; 1300 and 1301 are its content checks, 1101 and 1102 its balance). HTTP 429
 * alone is ambiguous, since it is also returned for an unpaid account.
 */
export const ERROR_CLASSES: Readonly<Record<string, ErrorClass>> = {
  1000: { reason: 'auth' },
  1001: { reason: 'auth' },
  1002: { reason: 'auth' },
  1003: { reason: 'auth' },
  1004: { reason: 'auth' },
  1100: { reason: 'auth' },
  1101: { reason: 'billing' },
  1102: { reason: 'billing' },
  1103: { reason: 'model' },
  1200: { reason: 'user' },
  1201: { reason: 'user' },
  1202: { reason: 'user' },
  1203: { reason: 'model' },
  1300: { reason: 'policy' },
  1301: { reason: 'policy' },
  1302: { reason: 'rate' },
  1303: { reason: 'rate' },
  1304: { reason: 'auth' },
  5000: { reason: 'capacity' },
  5001: { reason: 'capacity' },
  5002: { reason: 'capacity' },
};
const NOT_YET_VALID = '1003';
const TOKEN_EXPIRED = '1004';
export const NO_SUCH_RESOURCE = '1203';

/** The envelope's code where it is an error, which relays write as text too; undefined for success and where there is none. */
export function errorCode(response: BufferedResponse): string | undefined {
  const code = asCode(asObject(response.json)?.code);
  return code === undefined || isSuccessCode(code) ? undefined : code;
}

/** An absent code reports success, one of another type is damaged. */
export function isSuccessEnvelope(response: BufferedResponse): boolean {
  const envelope = asObject(response.json);
  const isReadable =
    envelope !== undefined && ['undefined', 'string', 'number'].includes(typeof (envelope.code ?? undefined));
  return isSuccessStatus(response) && isReadable && errorCode(response) === undefined;
}

export function parseError(response: BufferedResponse, nowMs: number): VendorError {
  const code = errorCode(response) ?? '';
  return toVendorError(response, nowMs, {
    code,
    message: readReason(response.json).message ?? '',
    meaning: ownEntry(ERROR_CLASSES, code),
    isPage: code === '',
  });
}

/** @param path below `/v1/videos/`, or with a leading slash below the base URL */
export async function sendAuthorized(
  context: AdapterContext,
  path: string,
  body?: RequestBody,
): Promise<BufferedResponse> {
  const send = (token: string) =>
    context.sendJson(
      withJsonBody(
        {
          method: body ? 'POST' : 'GET',
          url: path.startsWith('/')
            ? withoutVersion(context.baseUrl) + path
            : endpointUrl(context, `/v1/videos/${path}`),
          headers: { authorization: `Bearer ${token}` },
          signal: context.signal,
        },
        body,
      ),
    );
  const token = await bearerToken(context);
  const response = await send(token);
  const code = errorCode(response);
  if (response.status !== 401 || (code !== TOKEN_EXPIRED && code !== NOT_YET_VALID)) return response;
  // A request whose token was refused has begun no job; a new one by the vendor's own clock is tried once.
  const renewed = await bearerToken(context, { token, nowMs: Date.parse(response.headers.date ?? '') });
  return renewed === token ? response : send(renewed);
}
