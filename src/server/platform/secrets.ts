import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  randomBytes,
  randomFillSync,
  timingSafeEqual,
} from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Where a sealed value lives. It opens nowhere else, so that swapping two cells of the database is found out. */
export interface SealContext {
  readonly table: string;
  readonly row: string | number;
  readonly column: string;
}

/** Thrown when a sealed value was made under another key or for another place, or was changed. */
export class UnsealError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnsealError';
  }
}

/** Encrypts what the API must be able to show again: AES-256-GCM under MASTER_KEY (NIST SP 800-38D). */
export interface Vault {
  /** Text that carries the key's id, a fresh nonce, the ciphertext and its tag. The same plain text never seals alike. */
  seal(plain: string, context: SealContext): string;
  /** @throws UnsealError */
  open(sealed: string, context: SealContext): string;
  /** Whether a value was sealed under an older key and should be sealed anew. */
  isStale(sealed: string): boolean;
}

const FORMAT = 's1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
export const MASTER_KEY_BYTES = 32;

/** Reads MASTER_KEY's form: 32 bytes in base64. Undefined for anything else. */
export function parseMasterKey(text: string): Buffer | undefined {
  const key = Buffer.from(text.trim(), 'base64');
  return key.length === MASTER_KEY_BYTES ? key : undefined;
}

/** @param current the key that seals; @param previous keys that still open, while values are sealed anew */
export function createVault(current: Buffer, previous: readonly Buffer[] = []): Vault {
  const keys = new Map([...previous, current].map((key) => [keyId(key), key]));
  const currentId = keyId(current);
  return {
    seal(plain, place) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', current, nonce).setAAD(toAad(place));
      const bytes = Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${FORMAT}.${currentId}.${bytes.toString('base64url')}`;
    },
    open(sealed, place) {
      const [format, id = '', text = ''] = sealed.split('.');
      const key = keys.get(id);
      const bytes = Buffer.from(text, 'base64url');
      if (format !== FORMAT || bytes.length < NONCE_BYTES + TAG_BYTES) throw new UnsealError('not a sealed value');
      if (key === undefined) throw new UnsealError(`sealed under a key that is not at hand (${id})`);
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(toAad(place))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        throw new UnsealError('sealed for another place, or changed since');
      }
    },
    isStale: (sealed) => sealed.split('.')[1] !== currentId,
  };
}

function toAad({ table, row, column }: SealContext): Buffer {
  return Buffer.from(`${table}|${row}|${column}`);
}

function keyId(key: Buffer): string {
  return derive(key, 'reelgate key id').subarray(0, 4).toString('hex');
}

function derive(key: Buffer, purpose: string): Buffer {
  if (key.length !== MASTER_KEY_BYTES) throw new RangeError(`a master key has ${MASTER_KEY_BYTES} bytes`);
  return createHmac('sha256', key).update(purpose).digest();
}

/** A value to keep in the database; it detects a wrong master key at start and reveals nothing about the right one. */
export function toKeyCheck(key: Buffer): string {
  return derive(key, 'reelgate key check').toString('base64url');
}

export function matchesKeyCheck(key: Buffer, check: string): boolean {
  return isSameSecret(toKeyCheck(key), check);
}

/** What is stored of a token: SHA-256, hexadecimal. Tokens have enough randomness to need no salt and no slow hash. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** Compares two secrets in a time that depends on neither content nor length. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
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
