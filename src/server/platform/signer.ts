import { createHmac, hkdfSync } from 'node:crypto';
import { isSameSecret } from './generate-and-hash-tokens.ts';

/** Signs what this service gives to others and must recognize again. */
export interface Signer {
  /** In base64url. */
  sign(text: string): string;
  /** Compares in a time that depends on nothing secret. */
  verify(text: string, signature: string): boolean;
}

/** HMAC-SHA256 under a key derived from MASTER_KEY for one purpose (RFC 5869), so that no signature serves another. */
export function createSigner(masterKey: Buffer, purpose: string): Signer {
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', `reelgate ${purpose}`, 32));
  const sign = (text: string) => createHmac('sha256', key).update(text).digest('base64url');
  return { sign, verify: (text, signature) => isSameSecret(signature, sign(text)) };
}
