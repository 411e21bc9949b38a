import type { AsyncEntry } from '@napi-rs/keyring';

/** One secret text per service address, kept by the operating system. */
export interface Keychain {
  /** What people call it: "the keychain". */
  readonly name: string;
  get(account: string): Promise<string | undefined>;
  set(account: string, secret: string): Promise<void>;
  remove(account: string): Promise<void>;
}

const SERVICE = 'reelgate';
/** A keychain that asks its owner for something he does not answer is no place to wait at. */
const TIMEOUT_MS = 20_000;
const NAMES: Readonly<Record<string, string>> = {
  darwin: 'the macOS keychain',
  win32: 'the Windows credential manager',
};

/**
 * The keychain of this machine, or undefined where there is none: no desktop session, or the optional module is not
 * installed. Linux's kernel keyring is not used, since it forgets everything at the next start.
 */
export async function openKeychain(): Promise<Keychain | undefined> {
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
    // Throws where there is no such store.
    entryOf('probe');
    return entryOf;
  } catch {
    return undefined;
  }
}
