import { argon2Sync, createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** RFC 9106 section 4, second recommended option: 64 MiB, three passes, four lanes. */
const COST = { memory: 65_536, passes: 3, parallelism: 4 } as const;
/** What a file asks for beyond this is not computed: it is none of ours. */
const MAX_COST = { memory: 1_048_576, passes: 16, parallelism: 16 } as const;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** A secret encrypted under a passphrase: argon2id (RFC 9106) and AES-256-GCM. Binary values are base64. */
export interface SealedWithPassphrase {
  readonly kdf: 'argon2id';
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: string;
  /** Nonce, ciphertext and tag. */
  readonly sealed: string;
}

export function sealWithPassphrase(secret: Buffer, passphrase: string): SealedWithPassphrase {
  const salt = randomBytes(16);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', deriveKey(passphrase, salt, COST), nonce);
  const sealed = Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
  return { kdf: 'argon2id', ...COST, salt: salt.toString('base64'), sealed: sealed.toString('base64') };
}

/** @throws Error when the passphrase is another one, or the value was changed */
export function openWithPassphrase({ salt, sealed, ...cost }: SealedWithPassphrase, passphrase: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64');
  const isSane = (['memory', 'passes', 'parallelism'] as const).every((name) => cost[name] <= MAX_COST[name]);
  if (cost.kdf !== 'argon2id' || !isSane || bytes.length < NONCE_BYTES + TAG_BYTES)
    throw new Error('The key in the backup has a form this release does not know.');
  const key = deriveKey(passphrase, Buffer.from(salt, 'base64'), cost);
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    throw new Error('The passphrase is not the one this backup was made with.');
  }
}

const deriveKey = (
  passphrase: string,
  nonce: Buffer,
  { memory, passes, parallelism }: { readonly memory: number; readonly passes: number; readonly parallelism: number },
): Buffer =>
  argon2Sync('argon2id', {
    message: passphrase.normalize('NFC'),
    nonce,
    memory,
    passes,
    parallelism,
    tagLength: KEY_BYTES,
  });
