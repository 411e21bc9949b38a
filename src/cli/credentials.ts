import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AsyncEntry } from '@napi-rs/keyring';
import envPaths from 'env-paths';
import { isObject } from '../contract/objects.ts';
import { sleep } from '../sdk/transport.ts';
import { readConfigFile, writeConfigFile } from './config-file.ts';
import { KeychainError } from './errors.ts';

/** The secret part of a sign-in; in the keychain if there is one. */
interface StoredTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly llmToken: string;
  /** Unix milliseconds. */
  readonly accessExpiresAt: number;
}

/** The account, without secrets. */
interface Identity {
  readonly userId: number;
  readonly username: string;
  readonly displayName: string;
  /** Name of the service's header that carries the user id. */
  readonly userHeader: string;
}

/** A sign-in stored on this machine. */
export interface StoredCredentials extends Identity, StoredTokens {}

const OF_ORGANIZATION = '#';

/** Under which a sign-in is stored: there is one per service URL and organization. */
export const signInKeyOf = (baseUrl: string, organization: string | undefined): string =>
  organization === undefined ? baseUrl : `${baseUrl}${OF_ORGANIZATION}${organization}`;

interface CredentialFileEntry extends Identity {
  /** Absent when the tokens are in the keychain. */
  readonly secrets?: StoredTokens;
}

interface CredentialFile {
  readonly version: 2;
  /** Shared by all sign-ins on this machine. */
  readonly deviceId: string;
  /** URL of the last sign-in. */
  readonly current?: string;
  readonly entries: Readonly<Record<string, CredentialFileEntry>>;
}

interface CredentialStoreOptions {
  /** Folder of the file; default: REELGATE_CONFIG_DIR, else the platform's configuration folder. */
  readonly folder?: string;
  /** `undefined`: tokens stay in the file. Default: the system's keychain, unless REELGATE_KEYCHAIN=0. */
  readonly keychain?: () => Promise<Keychain | undefined>;
  /** Ends the wait for another process that works on the sign-ins. */
  readonly signal?: AbortSignal;
}

/**
 * Sign-ins on this machine: accounts in a file, tokens in the keychain or in the same file.
 */
export class CredentialStore {
  readonly path: string;
  readonly #openKeychain: () => Promise<Keychain | undefined>;
  readonly #signal: AbortSignal | undefined;
  #keychain: Promise<Keychain | undefined> | undefined;

  constructor(options: CredentialStoreOptions = {}) {
    this.#signal = options.signal;
    this.path = join(options.folder ?? configFolder(), 'credentials.json');
    this.#openKeychain =
      options.keychain ?? (process.env.REELGATE_KEYCHAIN === '0' ? async () => undefined : openKeychain);
  }

  /** Runs work in one process at a time. Code that reads tokens in order to replace them must do both inside. */
  runExclusive<T>(work: () => Promise<T>): Promise<T> {
    return withLock(`${this.path}.lock`, work, this.#signal);
  }

  /** URL of the last sign-in. */
  async currentUrl(): Promise<string | undefined> {
    return (await this.#load()).current;
  }

  /** Whether a sign-in exists, even if its tokens cannot be read now. */
  async has(key: string): Promise<boolean> {
    return (await this.#load()).entries[key] !== undefined;
  }

  /** @throws KeychainError when the tokens are in a keychain that cannot be opened now */
  async read(key: string): Promise<StoredCredentials | undefined> {
    const entry = (await this.#load()).entries[key];
    if (entry === undefined) return undefined;
    const { secrets = await this.#readKeychain(key), ...identity } = entry;
    return secrets === undefined ? undefined : { ...identity, ...secrets };
  }

  /** The device id, created at the first call. Call inside `runExclusive`. */
  async deviceId(): Promise<string> {
    const stored = await this.#load();
    await this.#save(stored);
    return stored.deviceId;
  }

  /**
   * Stores a sign-in durably and returns a description of where the tokens are. Call inside `runExclusive`.
   *
   * @param place `same`, for a refresh: tokens in the file stay there, so that no previous pair is left behind, and the
   *   last sign-in stays the last; `best`, for a sign-in: the keychain if possible
   */
  async write(key: string, signIn: StoredCredentials, place: 'same' | 'best' = 'same'): Promise<string> {
    const { accessToken, refreshToken, llmToken, accessExpiresAt, ...identity } = signIn;
    const secrets: StoredTokens = { accessToken, refreshToken, llmToken, accessExpiresAt };
    const stored = await this.#load();
    const inFile = place === 'same' && stored.entries[key]?.secrets !== undefined;
    const keptBy = inFile ? undefined : await this.#writeKeychain(key, secrets);
    const entry: CredentialFileEntry = keptBy === undefined ? { ...identity, secrets } : identity;
    await this.#save({
      ...stored,
      current: place === 'best' ? key.split(OF_ORGANIZATION, 1)[0] : stored.current,
      entries: { ...stored.entries, [key]: entry },
    });
    return keptBy ?? `${this.path} (only you can read it)`;
  }

  /**
   * Removes a sign-in. Call inside `runExclusive`.
   *
   * @param tokensRevoked whether the service has revoked the tokens. Only then may they stay in a keychain that cannot
   *   be opened: otherwise valid tokens would remain there without an entry that refers to them.
   * @throws KeychainError if valid tokens cannot be deleted; the sign-in is kept, so that the removal can be retried
   */
  async remove(key: string, { tokensRevoked }: { readonly tokensRevoked: boolean }): Promise<void> {
    const { current, ...stored } = await this.#load();
    const { [key]: removed, ...entries } = stored.entries;
    if (removed === undefined) return;
    if (removed.secrets === undefined)
      await this.#removeFromKeychain(key).catch((error: unknown) => {
        if (!tokensRevoked) throw error;
      });
    await this.#save({ ...stored, current: current === key ? undefined : current, entries });
  }

  async #removeFromKeychain(key: string): Promise<void> {
    const keychain = await this.#getKeychain();
    const advice =
      'They are still valid. Unlock it and repeat this, or end the sign-in in the console under Devices and repeat this without --local.';
    if (keychain === undefined) throw new KeychainError('the keychain', { advice });
    await keychain.remove(key).catch((cause: unknown) => {
      throw new KeychainError(keychain.name, { cause, advice });
    });
  }

  #getKeychain(): Promise<Keychain | undefined> {
    this.#keychain ??= this.#openKeychain();
    return this.#keychain;
  }

  async #readKeychain(key: string): Promise<StoredTokens | undefined> {
    const keychain = await this.#getKeychain();
    // The keychain was available when the sign-in was stored, so this is another desktop session or an SSH connection.
    if (keychain === undefined) throw new KeychainError('the keychain');
    const text = await keychain.get(key).catch((error: unknown) => {
      throw new KeychainError(keychain.name, { cause: error });
    });
    return text === undefined ? undefined : (JSON.parse(text) as StoredTokens);
  }

  /** @returns the keychain's name; undefined if there is none or it refuses */
  async #writeKeychain(key: string, secrets: StoredTokens): Promise<string | undefined> {
    const keychain = await this.#getKeychain();
    if (keychain === undefined) return undefined;
    return keychain.set(key, JSON.stringify(secrets)).then(
      () => keychain.name,
      () => undefined,
    );
  }

  async #load(): Promise<CredentialFile> {
    const stored = await readConfigFile(this.path).catch((error: unknown) => {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    });
    return isObject(stored) && stored.version === 2 && isObject(stored.entries)
      ? (stored as unknown as CredentialFile)
      : { version: 2, deviceId: crypto.randomUUID(), entries: {} };
  }

  #save(stored: CredentialFile): Promise<void> {
    return writeConfigFile(this.path, stored);
  }
}

/** The operating system's secret store: one text per sign-in. */
export interface Keychain {
  /** Used in messages, such as "the macOS keychain". */
  readonly name: string;
  get(account: string): Promise<string | undefined>;
  set(account: string, secret: string): Promise<void>;
  remove(account: string): Promise<void>;
}

const SERVICE = 'reelgate';
/** The keychain may prompt for a password; the timeout keeps the command from blocking without an answer. */
const TIMEOUT_MS = 20_000;
const NAMES: Readonly<Record<string, string>> = {
  darwin: 'the macOS keychain',
  win32: 'the Windows credential manager',
};

/**
 * Opens this machine's keychain; undefined without a desktop session or the optional module. Linux's kernel keyring is
 * not used, because its content is lost at a reboot.
 */
async function openKeychain(): Promise<Keychain | undefined> {
  const entryOf = await loadEntry();
  if (entryOf === undefined) return undefined;
  const within = () => AbortSignal.timeout(TIMEOUT_MS);
  return {
    name: NAMES[process.platform] ?? 'the desktop keyring',
    get: async (account) => (await entryOf(account).getPassword(within())) ?? undefined,
    set: (account, secret) => entryOf(account).setPassword(secret, within()),
    async remove(account) {
      await entryOf(account).deleteCredential(within());
    },
  };
}

async function loadEntry(): Promise<((account: string) => AsyncEntry) | undefined> {
  try {
    const { AsyncEntry: Entry } = await import('@napi-rs/keyring');
    const entryOf = (account: string) => new Entry(SERVICE, account, { linux: { store: 'secret-service' } });
    // Throws if there is no secret store.
    entryOf('probe');
    return entryOf;
  } catch {
    return undefined;
  }
}

const RETRY_MS = 50;
const MAX_WAIT_MS = 60_000;
/** SQLITE_BUSY */
const BUSY = 5;

/**
 * Runs the work while no other process of this user runs work under the same path. The lock is an operating system
 * lock, taken through SQLite on an empty file: it is released with the process, so that a killed process leaves no lock
 * behind.
 */
async function withLock<T>(path: string, work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = new DatabaseSync(path);
  try {
    file.exec('pragma busy_timeout = 0');
    const deadline = performance.now() + MAX_WAIT_MS;
    while (!tryLock(file)) {
      if (performance.now() > deadline)
        throw new Error(`Another reelgate process has locked ${path} for too long. End it and try again.`);
      await sleep(RETRY_MS * (0.5 + Math.random()), signal);
    }
    return await work();
  } finally {
    file.close();
  }
}

function tryLock(file: DatabaseSync): boolean {
  try {
    file.exec('begin immediate');
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === BUSY) return false;
    throw error;
  }
}

/** Folder of this user's sign-ins and settings. */
export const configFolder = (): string =>
  process.env.REELGATE_CONFIG_DIR || envPaths('reelgate', { suffix: '' }).config;
