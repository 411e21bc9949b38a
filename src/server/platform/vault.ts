import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { isSameSecret } from './tokens.ts';

/**
 * The table, row and column of an encrypted value. The value cannot be decrypted for another cell, so swapped cells are
 * detected.
 */
export interface SealContext {
  readonly table: string;
  readonly row: string | number;
  readonly column: string;
}

/** Thrown when a sealed value was encrypted under another key or for another cell, or was modified. */
export class UnsealError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnsealError';
  }
}

/** Encrypts data that the API must be able to show again: AES-256-GCM under MASTER_KEY (NIST SP 800-38D). */
export interface Vault {
  /**
   * Returns text that contains the key's id, a fresh nonce, the ciphertext and its tag. The same plain text never
   * encrypts alike.
   */
  seal(plain: string, context: SealContext): string;
  /** @throws UnsealError */
  open(sealed: string, context: SealContext): string;
  /** Whether a value was encrypted under an older key and should be encrypted again. */
  isStale(sealed: string): boolean;
}

const FORMAT = 's1';

const NONCE_BYTES = 12;

const TAG_BYTES = 16;

/** Length of a master key. */
export const MASTER_KEY_BYTES = 32;

/** Parses MASTER_KEY: 32 bytes in Base64. Undefined for any other text. */
export function parseMasterKey(text: string): Buffer | undefined {
  const key = Buffer.from(text.trim(), 'base64');
  return key.length === MASTER_KEY_BYTES ? key : undefined;
}

/**
 * @param current the key that encrypts
 * @param previous keys that only decrypt, until all values are encrypted again
 */
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
        throw new UnsealError('sealed for another row, or changed since');
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

/**
 * A check value to store in the database; it detects a wrong master key at start and reveals nothing about the right
 * one.
 */
export function toKeyCheck(key: Buffer): string {
  return derive(key, 'reelgate key check').toString('base64url');
}

/** Whether a key belongs to a check value. */
export function matchesKeyCheck(key: Buffer, check: string): boolean {
  return isSameSecret(toKeyCheck(key), check);
}

interface SealedCell {
  /** Id of the row; values are read in ascending order of ids. */
  readonly id: number;
  readonly context: SealContext;
  readonly sealed: string;
}

/** The encrypted values of one column. */
export interface SealedColumn {
  /** The next values after an id, ordered by id, a few hundred at a time; empty at the end. */
  readAfter(id: number): Promise<readonly SealedCell[]>;
  /**
   * Replaces a value only if it is unchanged since it was read: a concurrent write has already used the current key.
   */
  replace(cell: SealedCell, sealed: string): Promise<unknown>;
}

/**
 * Encrypts all values of older master keys again, while the service runs.
 * @returns the number of values
 */
export async function reencryptColumns(vault: Vault, columns: readonly SealedColumn[]): Promise<number> {
  let count = 0;
  for (const column of columns) {
    let cells = await column.readAfter(0);
    while (cells.length > 0) {
      for (const cell of cells) {
        if (!vault.isStale(cell.sealed)) continue;
        await column.replace(cell, vault.seal(vault.open(cell.sealed, cell.context), cell.context));
        count += 1;
      }
      cells = await column.readAfter(cells.at(-1)?.id ?? 0);
    }
  }
  return count;
}

/**
 * Decrypts every value.
 * @returns the values that cannot be decrypted, as `table row column`
 */
export async function openSealed(vault: Vault, columns: readonly SealedColumn[]): Promise<string[]> {
  const failed: string[] = [];
  for (const column of columns) {
    let cells = await column.readAfter(0);
    while (cells.length > 0) {
      for (const { context, sealed } of cells)
        if (!opens(vault, sealed, context)) failed.push(`${context.table} ${context.row} ${context.column}`);
      cells = await column.readAfter(cells.at(-1)?.id ?? 0);
    }
  }
  return failed;
}

function opens(vault: Vault, sealed: string, context: SealContext): boolean {
  try {
    vault.open(sealed, context);
    return true;
  } catch (error) {
    if (error instanceof UnsealError) return false;
    throw error;
  }
}
