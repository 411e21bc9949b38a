import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import envPaths from 'env-paths';

/** What a sign-in left on this machine, per service address. */
export interface SignIn {
  readonly baseUrl: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly llmToken: string;
  readonly userId: number;
  readonly username: string;
  /** Unix milliseconds. */
  readonly accessExpiresAt: number;
}

interface Stored {
  readonly version: 1;
  readonly deviceId: string;
  readonly current?: string;
  readonly signIns: Readonly<Record<string, SignIn>>;
}

/**
 * Sign-ins in a file that its owner alone can read. It is replaced whole, so that a stop in the middle leaves the old one.
 */
export class CredentialFile {
  readonly path: string;
  constructor(folder: string = process.env.REELGATE_CONFIG_DIR ?? envPaths('reelgate', { suffix: '' }).config) {
    this.path = join(folder, 'credentials.json');
  }

  async read(baseUrl?: string): Promise<SignIn | undefined> {
    const stored = await this.#load();
    const key = baseUrl ?? stored.current;
    return key === undefined ? undefined : stored.signIns[key];
  }

  /** The same for all sign-ins from this machine. */
  async deviceId(): Promise<string> {
    const stored = await this.#load();
    await this.#save(stored);
    return stored.deviceId;
  }

  async write(signIn: SignIn): Promise<void> {
    const stored = await this.#load();
    await this.#save({ ...stored, current: signIn.baseUrl, signIns: { ...stored.signIns, [signIn.baseUrl]: signIn } });
  }

  async remove(baseUrl: string): Promise<void> {
    const { [baseUrl]: _gone, ...signIns } = (await this.#load()).signIns;
    const stored = await this.#load();
    const { current: _current, ...rest } = stored;
    await this.#save({
      ...rest,
      ...(stored.current === baseUrl ? {} : stored.current === undefined ? {} : { current: stored.current }),
      signIns,
    });
  }

  async #load(): Promise<Stored> {
    try {
      const stored = JSON.parse(await readFile(this.path, 'utf8')) as Stored;
      if (stored.version === 1) return stored;
    } catch (error) {
      if (!(error instanceof SyntaxError) && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    return { version: 1, deviceId: crypto.randomUUID(), signIns: {} };
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
