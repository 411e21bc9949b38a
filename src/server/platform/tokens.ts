import { createHmac, hash, hkdfSync, randomFillSync, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** What is stored of a token: SHA-256, hexadecimal. Tokens have enough randomness to need no salt and no slow hash. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** Compares two secrets in a time that depends on neither content nor length. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}

const LETTERS_AND_DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Drawn in advance: the generator takes as long for thirty bytes as for thousands. What was given out is not kept. */
const randomPool = Buffer.alloc(4_096);

let randomPoolOffset = randomPool.length;

function randomByte(): number {
  if (randomPoolOffset === randomPool.length) {
    randomFillSync(randomPool);
    randomPoolOffset = 0;
  }
  const byte = randomPool.readUInt8(randomPoolOffset);
  randomPool[randomPoolOffset++] = 0;
  return byte;
}

/** Uniformly random characters of an alphabet of at most 256; 62 letters and digits carry 5.95 bits each. */
export function randomText(length: number, alphabet = LETTERS_AND_DIGITS): string {
  // Bytes past the last whole multiple of the alphabet are thrown away: they would favour its first characters.
  const limit = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    const byte = randomByte();
    if (byte < limit) text += alphabet[byte % alphabet.length];
  }
  return text;
}

const CHECKSUM_LENGTH = 6;

/**
 * A bearer token: `prefix`, then `length` random letters and digits. With `checksum` six more follow, a CRC-32 of all
 * before, so that scanners for leaked secrets and our own authentication can recognize invalid tokens without a query.
 */
export function randomToken(prefix: string, length: number, options: { readonly checksum?: boolean } = {}): string {
  const token = prefix + randomText(length);
  return options.checksum ? token + checksumOf(token) : token;
}

/** Whether a token made with `checksum` is whole. */
export function hasValidChecksum(token: string): boolean {
  return (
    token.length > CHECKSUM_LENGTH && checksumOf(token.slice(0, -CHECKSUM_LENGTH)) === token.slice(-CHECKSUM_LENGTH)
  );
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = LETTERS_AND_DIGITS[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

const BASE62_DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const TIME_LENGTH = 7;

/**
 * A public task id: `task_` and 32 letters and digits, the last 25 of them random (148 bits), not to be guessed or counted.
 * The first seven rise with time, so that new rows of every index by it are stored on the same few index pages: wholly random ones cost a
 * page of the disk each, which was a quarter of the price of a submit.
 */
export function newTaskId(now = Date.now()): string {
  let time = '';
  for (let rest = now; time.length < TIME_LENGTH; rest = Math.floor(rest / BASE62_DIGITS.length))
    time = `${BASE62_DIGITS[rest % BASE62_DIGITS.length]}${time}`;
  return `task_${time}${randomText(32 - TIME_LENGTH)}`;
}

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
