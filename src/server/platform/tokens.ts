import { createHmac, hash, hkdfSync, randomInt, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * The stored form of a token: SHA-256, hexadecimal. Tokens are random enough to need neither a salt nor a slow hash.
 */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** Compares two secrets in a time that depends on neither their content nor their length. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}

const LETTERS_AND_DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Uniformly random characters of an alphabet; 62 letters and digits carry 5.95 bits each. */
export const randomText = (length: number, alphabet = LETTERS_AND_DIGITS): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

/** The lowest `length` digits of a whole number in base 62, most significant first. */
function toBase62(value: number, length: number): string {
  let digits = '';
  for (let rest = value; digits.length < length; rest = Math.floor(rest / 62))
    digits = `${LETTERS_AND_DIGITS[rest % 62]}${digits}`;
  return digits;
}

/**
 * Prefixes that identify the kind of a credential. Each kind is looked up in its own table only, so that none is
 * accepted as another.
 */
export const CREDENTIAL_PREFIX = {
  session: 'rgs_',
  pendingLogin: 'rgpl_',
  knownDevice: 'rgkd_',
  management: 'rgut_',
  device: 'rgat_',
  /** An OAuth access_token, which opens only what its scopes say. */
  grant: 'rgoa_',
  refresh: 'rgrt_',
  clientSecret: 'rgcs_',
  model: 'sk-',
  emailLink: 'rgel_',
  invitation: 'rgin_',
} as const;

const CHECKSUM_LENGTH = 6;

/**
 * A bearer token: `prefix`, then `length` random letters and digits. With `checksum` six more follow, a CRC-32 of all
 * characters before in base 62, so that scanners for leaked secrets can recognize our tokens.
 */
export function randomToken(prefix: string, length: number, options: { readonly checksum?: boolean } = {}): string {
  const token = prefix + randomText(length);
  return options.checksum ? token + toBase62(crc32(token), CHECKSUM_LENGTH) : token;
}

const TIME_LENGTH = 7;

/**
 * A public task id: `task_` and 32 letters and digits, the last 25 of them random (148 bits), so that ids can be
 * neither guessed nor counted. The first seven increase with time, so that new rows are stored on the same few pages of
 * every index on the id: fully random ids cost one disk page each, which was a quarter of the cost of a submit.
 */
export const newTaskId = (now = Date.now()): string => `task_${timeText(now)}${randomText(32 - TIME_LENGTH)}`;

/** Seven letters and digits that increase with time, until the year 2081. */
const timeText = (unixMs: number): string => toBase62(unixMs, TIME_LENGTH);

/** A public id that contains its time, by which a list continues after a row that was deleted in the meantime. */
export const newTimedId = (prefix: string, unixMs: number): string => `${prefix}${timeText(unixMs)}${randomText(24)}`;

/** Unix milliseconds of an id of `newTimedId`; undefined for any other text. */
export function timeOfId(prefix: string, id: string): number | undefined {
  const rest = id.startsWith(prefix) ? id.slice(prefix.length) : '';
  if (!/^[0-9A-Za-z]{31}$/.test(rest)) return undefined;
  return [...rest.slice(0, TIME_LENGTH)].reduce((time, digit) => time * 62 + LETTERS_AND_DIGITS.indexOf(digit), 0);
}

/** Signs data that the service hands out and must recognize later. */
export interface Signer {
  /** Returns the signature in base64url. */
  sign(text: string): string;
  /** Compares in a time that depends on no secret. */
  verify(text: string, signature: string): boolean;
}

/**
 * HMAC-SHA256 under a key derived from MASTER_KEY for one purpose (RFC 5869), so that a signature is valid for no other
 * purpose.
 */
export function createSigner(masterKey: Buffer, purpose: string): Signer {
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', `reelgate ${purpose}`, 32));
  const sign = (text: string) => createHmac('sha256', key).update(text).digest('base64url');
  return { sign, verify: (text, signature) => isSameSecret(signature, sign(text)) };
}
