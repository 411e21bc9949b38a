import type { AsyncEntry } from '@napi-rs/keyring';

/** The operating system's store for secrets: one text per service URL. */
export interface Keychain {
  /** For messages: "the macOS keychain". */
  readonly name: string;
  get(account: string): Promise<string | undefined>;
  set(account: string, secret: string): Promise<void>;
  remove(account: string): Promise<void>;
}

const SERVICE = 'reelgate';
/** The keychain may ask the user for a password; without a reaction the command must not hang. */
const TIMEOUT_MS = 20_000;
const NAMES: Readonly<Record<string, string>> = {
  darwin: 'the macOS keychain',
  win32: 'the Windows credential manager',
};

/**
 * Opens the keychain of this machine; undefined where there is none: no desktop session, or the optional module is not
 * installed. Linux's kernel keyring is not used, because its content is lost at a reboot.
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
