import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import envPaths from 'env-paths';
import { KeychainError } from './failures.ts';
import { type Keychain, openKeychain } from './keychain.ts';
import { withLock } from './lock.ts';

/** What opens the service; in the keychain where there is one. */
interface Secrets {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly llmToken: string;
  /** Unix milliseconds. */
  readonly accessExpiresAt: number;
}

/** Who signed in; no secret. */
interface Identity {
  readonly baseUrl: string;
  readonly userId: number;
  readonly username: string;
  readonly displayName: string;
  /** Name of the service's header with the user id. */
  readonly userHeader: string;
}

/** What a sign-in left on this machine, per service address. */
export interface SignIn extends Identity, Secrets {}

interface Entry extends Identity {
  /** Absent: they are in the keychain. */
  readonly secrets?: Secrets;
}

interface Stored {
  readonly version: 2;
  /** The same for all sign-ins from this machine. */
  readonly deviceId: string;
  /** The address of the last sign-in. */
  readonly current?: string;
  readonly entries: Readonly<Record<string, Entry>>;
}

export interface CredentialOptions {
  /** Where the file is; default: REELGATE_CONFIG_DIR, else the platform's folder for settings. */
  readonly folder?: string;
  /** `undefined`: secrets stay in the file. Default: what the machine has, unless REELGATE_KEYCHAIN=0. */
  readonly keychain?: () => Promise<Keychain | undefined>;
}

/**
 * Sign-ins on this machine: who, in a file; the tokens in the keychain, or in the same file, which its owner alone can
 * read (0600). The file is replaced whole, so that a stop in the middle leaves the old one.
 */
export class Credentials {
  readonly path: string;
  readonly #openKeychain: () => Promise<Keychain | undefined>;
  #keychain: Promise<Keychain | undefined> | undefined;

  constructor(options: CredentialOptions = {}) {
    const folder = options.folder ?? process.env.REELGATE_CONFIG_DIR ?? envPaths('reelgate', { suffix: '' }).config;
    this.path = join(folder, 'credentials.json');
    this.#openKeychain =
      options.keychain ?? (process.env.REELGATE_KEYCHAIN === '0' ? async () => undefined : openKeychain);
  }

  /** One process at a time: whatever reads the tokens to replace them does both inside. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return withLock(`${this.path}.lock`, work);
  }

  /** The address of the last sign-in. */
  async current(): Promise<string | undefined> {
    return (await this.#load()).current;
  }

  /** Whether there is a sign-in, though its tokens may be out of reach. */
  async knows(baseUrl: string): Promise<boolean> {
    return (await this.#load()).entries[baseUrl] !== undefined;
  }

  /** Throws KeychainError when the tokens are in a keychain that does not hand them out now. */
  async read(baseUrl: string): Promise<SignIn | undefined> {
    const entry = (await this.#load()).entries[baseUrl];
    if (entry === undefined) return undefined;
    const { secrets = await this.#readKeychain(baseUrl), ...identity } = entry;
    return secrets === undefined ? undefined : { ...identity, ...secrets };
  }

  /** Makes one at the first call. Call inside `exclusively`. */
  async deviceId(): Promise<string> {
    const stored = await this.#load();
    await this.#save(stored);
    return stored.deviceId;
  }

  /**
   * Stores a sign-in, on the disk when it resolves, and answers where the tokens are. Call inside `exclusively`.
   *
   * @param place `same`: a pair in the file stays there, so that a refresh leaves no old pair behind; `best`: choose anew
   */
  async write(signIn: SignIn, place: 'same' | 'best' = 'same'): Promise<string> {
    const { accessToken, refreshToken, llmToken, accessExpiresAt, ...identity } = signIn;
    const secrets: Secrets = { accessToken, refreshToken, llmToken, accessExpiresAt };
    const stored = await this.#load();
    const inFile = place === 'same' && stored.entries[signIn.baseUrl]?.secrets !== undefined;
    const keptBy = inFile ? undefined : await this.#writeKeychain(signIn.baseUrl, secrets);
    const entry: Entry = keptBy === undefined ? { ...identity, secrets } : identity;
    await this.#save({
      ...stored,
      current: signIn.baseUrl,
      entries: { ...stored.entries, [signIn.baseUrl]: entry },
    });
    return keptBy ?? `${this.path} (only you can read it)`;
  }

  /** Call inside `exclusively`. */
  async remove(baseUrl: string): Promise<void> {
    const { current, ...stored } = await this.#load();
    const { [baseUrl]: gone, ...entries } = stored.entries;
    if (gone === undefined) return;
    if (gone.secrets === undefined)
      await (await this.#chain())?.remove(baseUrl).catch(() => {
        // It holds nothing any more that opens anything.
      });
    await this.#save({ ...stored, ...(current === undefined || current === baseUrl ? {} : { current }), entries });
  }

  #chain(): Promise<Keychain | undefined> {
    this.#keychain ??= this.#openKeychain();
    return this.#keychain;
  }

  async #readKeychain(baseUrl: string): Promise<Secrets | undefined> {
    const chain = await this.#chain();
    // It was there when the sign-in was stored: another session, or a machine reached from far.
    if (chain === undefined) throw new KeychainError('the keychain');
    const text = await chain.get(baseUrl).catch((error: unknown) => {
      throw new KeychainError(chain.name, error);
    });
    return text === undefined ? undefined : (JSON.parse(text) as Secrets);
  }

  /** Its name, or undefined where there is none or it takes nothing. */
  async #writeKeychain(baseUrl: string, secrets: Secrets): Promise<string | undefined> {
    const chain = await this.#chain();
    if (chain === undefined) return undefined;
    return chain.set(baseUrl, JSON.stringify(secrets)).then(
      () => chain.name,
      () => undefined,
    );
  }

  async #load(): Promise<Stored> {
    try {
      const stored = JSON.parse(await readFile(this.path, 'utf8')) as Stored;
      if (stored.version === 2) return stored;
    } catch (error) {
      if (!(error instanceof SyntaxError) && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    return { version: 2, deviceId: crypto.randomUUID(), entries: {} };
  }

  async #save(stored: Stored): Promise<void> {
    await mkdir(join(this.path, '..'), { recursive: true, mode: 0o700 });
    const draft = `${this.path}.${process.pid}.${Date.now()}`;
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(stored, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, this.path).catch(async (error: unknown) => {
      await rm(draft, { force: true });
      throw error;
    });
    await chmod(this.path, 0o600);
  }
}
