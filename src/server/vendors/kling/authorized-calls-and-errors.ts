import { asObject } from '../../../contract/is-object.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound-types.ts';
import type { AdapterContext } from '../../upstreams/adapter-context.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import { type ErrorClass, toVendorError } from '../error-mapping.ts';
import { withJsonBody } from '../json-http-calls-and-outcomes.ts';
import type { RequestBody } from '../request-body.ts';
import { asText } from '../untrusted-json.ts';
import { bearerToken } from './bearer-token.ts';

/** Authorized calls of Kling's APIs, and the errors of their envelope. */

/** The vendor's own codes; HTTP 429 alone is ambiguous, since it is also returned for an unpaid account. */
export const ERROR_CLASSES: Readonly<Record<number, ErrorClass>> = {
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
const NOT_YET_VALID = 1003;
const TOKEN_EXPIRED = 1004;
export const NO_SUCH_RESOURCE = 1203;

/** The envelope's code where it is an error; undefined for 0 and for everything that is no code. */
export function errorCode(response: BufferedResponse): number | undefined {
  const code = asObject(response.json)?.code;
  return typeof code === 'number' && Number.isInteger(code) && code !== 0 ? code : undefined;
}

export function parseError(response: BufferedResponse, nowMs: number): VendorError {
  const code = errorCode(response);
  return toVendorError(response, nowMs, {
    code: code === undefined ? '' : String(code),
    message: asText(asObject(response.json)?.message) ?? '',
    meaning: code === undefined ? undefined : ERROR_CLASSES[code],
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
          url: path.startsWith('/') ? context.baseUrl + path : `${context.baseUrl}/v1/videos/${path}`,
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
  // A request whose token was refused as expired has begun no job; a new token is tried once, as the vendor advises.
  const renewed = await bearerToken(context, token);
  return renewed === token ? response : send(renewed);
}
