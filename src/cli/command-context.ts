import type { Reelgate } from '../sdk/index.ts';
import { CredentialProvider } from './credential-provider.ts';
import { CredentialStore } from './credentials.ts';
import { createInterruptSignal, UsageError } from './errors.ts';
import { readLanguage } from './language.ts';
import type { Output } from './output.ts';

/** Options of every command. */
export interface GlobalOptions {
  readonly url?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** What a command works with: the client with credentials, and the output. */
export interface CommandContext {
  readonly reelgate: Reelgate;
  readonly output: Output;
  readonly baseUrl: string;
  readonly credentialStore: CredentialStore;
  readonly credentialProvider: CredentialProvider;
  /** Aborted by Ctrl-C; pass it to everything that waits. */
  readonly interruptSignal: AbortSignal;
}

const DEFAULT_URL = 'http://127.0.0.1:3000';

/** The service's URL is the option, else REELGATE_URL, else that of the last sign-in, else the default. */
export async function createCommandContext(options: GlobalOptions, output: Output): Promise<CommandContext> {
  const credentialStore = new CredentialStore();
  // The contract takes longer to load than most commands run; help needs none of it.
  const { Reelgate: Client } = await import('../sdk/index.ts');
  const { REELGATE_URL } = process.env;
  const baseUrl = parseBaseUrl(options.url || REELGATE_URL || (await credentialStore.currentUrl()) || DEFAULT_URL);
  const credentialProvider = new CredentialProvider(baseUrl, credentialStore);
  const reelgate: Reelgate = new Client({
    baseUrl,
    credentials: (purpose) => credentialProvider.getCredentials(purpose, reelgate),
    refresh: () => credentialProvider.refresh(reelgate),
    ...(readLanguage() === 'zh-CN' && { language: 'zh-CN' }),
  });
  return {
    reelgate,
    output,
    baseUrl,
    credentialStore,
    credentialProvider,
    interruptSignal: createInterruptSignal(),
  };
}

function parseBaseUrl(text: string): string {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`"${text}" is no URL of a service. Give one such as https://reelgate.example.com.`);
  return url.replace(/\/+$/, '');
}
