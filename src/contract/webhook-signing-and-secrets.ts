/**
 * Signatures of Standard Webhooks 1.0.0 (https://www.standardwebhooks.com), the symmetric kind: HMAC-SHA256 over
 * `<webhook-id>.<webhook-timestamp>.<body>` with the bytes behind `whsec_`.
 */
const SECRET_PREFIX = 'whsec_';

/** The three headers of a delivery. `timestamp`: Unix seconds of this attempt. */
export interface WebhookHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/** @param key 24 to 64 random bytes */
export const formatWebhookSecret = (key: Uint8Array): string => SECRET_PREFIX + btoa(String.fromCharCode(...key));

/** @throws TypeError for anything but `whsec_` and Base64 */
export function parseWebhookSecret(secret: string): Uint8Array<ArrayBuffer> {
  const text = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : '';
  if (!/^[A-Za-z0-9+/]{16,}={0,2}$/.test(text)) throw new TypeError('A webhook secret is whsec_ and Base64.');
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** @param secrets the present one first; each adds a signature, so that a receiver may still have the one before */
export async function signWebhook(
  secrets: readonly string[],
  delivery: { readonly id: string; readonly timestamp: number; readonly body: string },
): Promise<WebhookHeaders> {
  const { id, timestamp, body } = delivery;
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const signatures = await Promise.all(secrets.map((secret) => hmac(parseWebhookSecret(secret), signed)));
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
  };
}

async function hmac(key: Uint8Array<ArrayBuffer>, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const { subtle } = globalThis.crypto;
  const imported = await subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return btoa(String.fromCharCode(...new Uint8Array(await subtle.sign('HMAC', imported, bytes))));
}
