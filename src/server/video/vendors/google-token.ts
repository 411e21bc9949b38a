import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import type { VendorCall, VendorError } from '../vendor.ts';
import { asObject, asText } from '../vendor-answer.ts';
import { readGoogleError } from './google-errors.ts';

/** The parts of a Google service-account key file that matter here. */
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
const ASSERTION_LIFE_S = 3600;
/** A token is given up this long before its end, so that no request leaves with one that dies on the way. */
const MARGIN_MS = 5 * 60_000;
const SHORTEST_LIFE_S = 60;

/** No access token could be had; nothing was asked of the video service, so another channel may be tried safely. */
export class TokenRefused extends Error {
  readonly error: VendorError;
  constructor(error: VendorError) {
    super(error.message);
    this.name = 'TokenRefused';
    this.error = error;
  }
}

const unusable = (message: string): TokenRefused =>
  new TokenRefused({ reason: 'auth', retryable: true, httpStatus: 0, code: 'service_account', message });

const toBase64Url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * The signed assertion of RFC 7523 section 2.1, as Google's service accounts use it: RS256, one hour.
 *
 * @param nowMs Unix milliseconds.
 */
export function signAssertion(account: ServiceAccount, key: KeyObject, audience: string, nowMs: number): string {
  const issuedAt = Math.floor(nowMs / 1000);
  const header = {
    alg: 'RS256',
    typ: 'JWT',
    ...(account.private_key_id === undefined ? {} : { kid: account.private_key_id }),
  };
  const claims = {
    iss: account.client_email,
    scope: SCOPE,
    aud: audience,
    iat: issuedAt,
    exp: issuedAt + ASSERTION_LIFE_S,
  };
  const text = `${toBase64Url(header)}.${toBase64Url(claims)}`;
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`;
}

function readKey(pem: string): KeyObject {
  try {
    // Keys that went through an environment variable arrive with their line ends written out.
    return createPrivateKey(pem.replaceAll('\\n', '\n'));
  } catch {
    throw unusable("the service account's private_key is not a readable PEM key");
  }
}

/** The key file names where its assertions go; over plain HTTP only when the channel itself is private. */
function readTokenUri(account: ServiceAccount, call: VendorCall): string {
  const text = account.token_uri ?? DEFAULT_TOKEN_URI;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && call.options.private === true)) return text;
  throw unusable("the service account's token_uri must be an https address");
}

/** Exchanges the service account's key for an access token. @throws TokenRefused */
async function fetchToken(account: ServiceAccount, call: VendorCall): Promise<{ value: string; expiresAtMs: number }> {
  const url = readTokenUri(account, call);
  const assertion = signAssertion(account, readKey(account.private_key), url, call.now());
  const answer = await call.json({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: GRANT_TYPE, assertion }).toString(),
    signal: call.signal,
  });
  const reply = asObject(answer.json) ?? {};
  const token = asText(reply.access_token);
  if (answer.status === 200 && token !== undefined) {
    const lifeS = typeof reply.expires_in === 'number' ? reply.expires_in : SHORTEST_LIFE_S;
    const lifeMs = Math.min(Math.max(lifeS, SHORTEST_LIFE_S), ASSERTION_LIFE_S) * 1000;
    return { value: token, expiresAtMs: call.now() + Math.max(lifeMs - MARGIN_MS, lifeMs / 2) };
  }
  // RFC 6749 section 5.2: `error` is a word here, where the rest of Google has an object.
  const code = asText(reply.error);
  if (code !== undefined) {
    const message = asText(reply.error_description) ?? code;
    throw new TokenRefused({ reason: 'auth', retryable: true, httpStatus: answer.status, code, message });
  }
  // Neither a token nor a refusal (a gateway's page): the exchange failed, whatever the status.
  const error = readGoogleError(answer, call.now(), 'missing');
  throw new TokenRefused({ ...error, reason: error.reason === 'rate' ? 'rate' : 'capacity', retryable: true });
}

/**
 * An access token of the channel's service account, fetched about once an hour.
 *
 * @param rejected A token that has just been refused, to have it replaced.
 * @throws TokenRefused
 */
export async function accessToken(account: ServiceAccount, call: VendorCall, rejected?: string): Promise<string> {
  const key = `google:${account.client_email}:${account.private_key_id ?? ''}`;
  try {
    return await call.cached(key, () => fetchToken(account, call), rejected);
  } catch (error) {
    // Where the token's own exchange broke, the generation was never asked for: nothing about it is uncertain.
    if (!(error instanceof OutboundError) || error.phase === 'aborted') throw error;
    throw new TokenRefused({
      reason: 'capacity',
      retryable: true,
      httpStatus: 0,
      code: '',
      message: 'no access token: the token endpoint could not be reached',
    });
  }
}
