import { createHash, createHmac } from 'node:crypto';
import { DAY_MS } from '../../../contract/time-units.ts';
import type { AdapterContext } from '../../upstreams/upstream.ts';

const LIFETIME_SECONDS = 1_800;
const RENEW_AFTER_SECONDS = 1_500;
const CLOCK_SKEW_SECONDS = 5;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The vendor's token: a JWS in compact form (RFC 7515) by HS256 over the secret's own bytes. Times are Unix seconds. */
export function signToken(accessKey: string, secretKey: string, exp: number, nbf: number): string {
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ iss: accessKey, exp, nbf })}`;
  return `${signed}.${createHmac('sha256', secretKey).update(signed).digest('base64url')}`;
}

/** A vendor's `Date` further away than this is no clock. */
const MAX_CLOCK_DIFFERENCE_MS = DAY_MS;

/**
 * The value of the bearer header: the opaque key unchanged, or a signed token cached for 25 of its 30 minutes.
 *
 * @param rejected the token that the vendor has just refused as not yet or no longer valid, and the time by the vendor's clock (Unix
 * milliseconds, NaN where it gave none), by which the new one is signed
 */
export async function bearerToken(
  context: AdapterContext,
  rejected?: { readonly token: string; readonly nowMs: number },
): Promise<string> {
  const { api_key: apiKey, access_key: accessKey, secret_key: secretKey } = context.credentials;
  if (typeof apiKey === 'string') return apiKey;
  const [access, secret] = [String(accessKey), String(secretKey)];
  const fingerprint = createHash('sha256').update(`${access}\n${secret}`).digest('base64url');
  const make = async () => {
    const nowMs = context.now();
    const vendorMs = rejected?.nowMs ?? Number.NaN;
    const isClock = Math.abs(vendorMs - nowMs) < MAX_CLOCK_DIFFERENCE_MS;
    const nowSeconds = Math.floor((isClock ? vendorMs : nowMs) / 1_000);
    const value = signToken(access, secret, nowSeconds + LIFETIME_SECONDS, nowSeconds - CLOCK_SKEW_SECONDS);
    return { value, expiresAtMs: nowMs + RENEW_AFTER_SECONDS * 1_000 };
  };
  return context.cachedSecret(`kling-token:${fingerprint}`, make, rejected?.token);
}
