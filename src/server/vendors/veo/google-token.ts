import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { asObject } from '../../../contract/is-object.ts';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import type { AdapterContext } from '../../upstreams/upstream.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import { asText, isSuccessStatus } from '../untrusted-json.ts';
import { parseGoogleError } from './google-errors.ts';

/** The fields used of a Google service-account key file. */
export interface ServiceAccount {
  readonly client_email: string;
  /** PKCS #8 in PEM. */
  readonly private_key: string;
  readonly private_key_id?: string;
  readonly token_uri?: string;
}

const DEFAULT_TOKEN_URI = 'https://oauth2.googleapis.com/token';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ASSERTION_LIFETIME_SECONDS = 3600;
/** A token is replaced this long before it expires, so that none expires between sending a request and its verification. */
const RENEWAL_MARGIN_MS = 5 * 60_000;
const MIN_LIFETIME_SECONDS = 60;

/** No access token could be obtained; nothing was sent to the video service, so another channel may be tried safely. */
export class TokenRequestFailed extends Error {
  readonly error: VendorError;
  constructor(error: VendorError) {
    super(error.message);
    this.name = 'TokenRequestFailed';
    this.error = error;
  }
}

const invalidServiceAccount = (message: string): TokenRequestFailed =>
  new TokenRequestFailed({ reason: 'auth', retryable: true, httpStatus: 0, code: 'service_account', message });

const toBase64Url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * The signed assertion of RFC 7523 section 2.1, as Google's service accounts use it: RS256, one hour.
 *
 * @param nowMs Unix milliseconds.
 */
export function signAssertion(account: ServiceAccount, key: KeyObject, audience: string, nowMs: number): string {
  const issuedAt = Math.floor(nowMs / 1000);
  const header = { alg: 'RS256', typ: 'JWT', kid: account.private_key_id };
  const claims = {
    iss: account.client_email,
    scope: SCOPE,
    aud: audience,
    iat: issuedAt,
    exp: issuedAt + ASSERTION_LIFETIME_SECONDS,
  };
  const text = `${toBase64Url(header)}.${toBase64Url(claims)}`;
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`;
}

function parsePrivateKey(pem: string): KeyObject {
  try {
    // In keys passed through an environment variable the line ends are written as `\n`.
    return createPrivateKey(pem.replaceAll('\\n', '\n'));
  } catch {
    throw invalidServiceAccount("the service account's private_key is not a readable PEM key");
  }
}

/** The key file names the URL its assertions are sent to; plain HTTP is accepted only when the channel itself is private. */
function tokenUriOf(account: ServiceAccount, context: AdapterContext): string {
  const text = account.token_uri ?? DEFAULT_TOKEN_URI;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && context.options.private === true)) return text;
  throw invalidServiceAccount("the service account's token_uri must be an https address");
}

/** Exchanges the service account's key for an access token. @throws TokenRequestFailed */
async function fetchToken(
  account: ServiceAccount,
  context: AdapterContext,
): Promise<{ value: string; expiresAtMs: number }> {
  const url = tokenUriOf(account, context);
  const assertion = signAssertion(account, parsePrivateKey(account.private_key), url, context.now());
  const response = await context.sendJson({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: GRANT_TYPE, assertion }).toString(),
    signal: context.signal,
  });
  const reply = asObject(response.json) ?? {};
  const token = asText(reply.access_token);
  if (isSuccessStatus(response) && token !== undefined) {
    const lifeS = typeof reply.expires_in === 'number' ? reply.expires_in : MIN_LIFETIME_SECONDS;
    const lifeMs = Math.min(Math.max(lifeS, MIN_LIFETIME_SECONDS), ASSERTION_LIFETIME_SECONDS) * 1000;
    return { value: token, expiresAtMs: context.now() + Math.max(lifeMs - RENEWAL_MARGIN_MS, lifeMs / 2) };
  }
  // RFC 6749 section 5.2: `error` is a string here; it is an object in all other APIs of Google.
  const code = asText(reply.error);
  if (code !== undefined) {
    const message = asText(reply.error_description) ?? code;
    throw new TokenRequestFailed({ reason: 'auth', retryable: true, httpStatus: response.status, code, message });
  }
  // Neither a token nor a refusal (a gateway's page): the exchange failed, whatever the status.
  const error = parseGoogleError(response, context.now(), 'missing');
  throw new TokenRequestFailed({ ...error, reason: error.reason === 'rate' ? 'rate' : 'capacity', retryable: true });
}

/**
 * An access token of the channel's service account, fetched about once an hour.
 *
 * @param rejected A token the vendor has just refused, which is to be replaced.
 * @throws TokenRequestFailed
 */
export async function accessToken(
  account: ServiceAccount,
  context: AdapterContext,
  rejected?: string,
): Promise<string> {
  const key = `google:${account.client_email}:${account.private_key_id ?? ''}`;
  try {
    return await context.cachedSecret(key, () => fetchToken(account, context), rejected);
  } catch (error) {
    // Where the token request itself failed, the generation was never sent: its outcome is not uncertain.
    if (!(error instanceof OutboundError) || error.phase === 'aborted') throw error;
    throw new TokenRequestFailed({
      reason: 'capacity',
      retryable: true,
      httpStatus: 0,
      code: '',
      message: 'no access token: the token endpoint could not be reached',
    });
  }
}
