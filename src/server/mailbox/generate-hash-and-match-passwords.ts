import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

/** No 0/O, 1/l/I, o, because users type passwords on phones. 56 characters, 24 of them: 139 bits. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const LENGTH = 24;
const SALT_BYTES = 16;

/** A new mailbox or application password: ASCII letters and digits only, which every mail program sends unchanged. */
export function generatePassword(): string {
  return Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/**
 * `{SSHA512}` as Dovecot and mailcow read it: base64(sha512(password + salt) + salt).
 *
 * A fast hash on purpose. Guessing 139 random bits is out of reach whatever the hash costs, while a mail program that
 * polls every minute would cause that cost at each login. Never used for passwords that a person chose.
 */
export function hashGeneratedPassword(password: string): string {
  const salt = randomBytes(SALT_BYTES);
  return `{SSHA512}${Buffer.concat([sha512(password, salt), salt]).toString('base64')}`;
}

/** Whether the password belongs to a `{SSHA512}` hash; undefined when the hash is of another scheme. */
export function matchesGeneratedPassword(password: string, hash: string): boolean | undefined {
  if (!hash.startsWith('{SSHA512}')) return undefined;
  const bytes = Buffer.from(hash.slice('{SSHA512}'.length), 'base64');
  if (bytes.length <= 64) return undefined;
  return timingSafeEqual(sha512(password, bytes.subarray(64)), bytes.subarray(0, 64));
}

/** Identifies one generation of a credential on the mail server: 20 letters and digits. */
export function generateRef(): string {
  return randomBytes(10).toString('hex');
}

function sha512(password: string, salt: Buffer): Buffer {
  return createHash('sha512').update(password, 'utf8').update(salt).digest();
}
