import type { Reelgate } from '../sdk/index.ts';
import { CredentialProvider } from './credential-provider.ts';
import { CredentialStore, signInKeyOf } from './credentials.ts';
import { createInterruptSignal, UsageError } from './errors.ts';
import { type Output, readLanguage } from './output.ts';

/** Options of every command. */
export interface GlobalOptions {
  readonly url?: string;
  /** Slug of the organization to act for. */
  readonly org?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** Dependencies of a command: the client with credentials, and the output. */
export interface CommandContext {
  readonly reelgate: Reelgate;
  readonly output: Output;
  readonly baseUrl: string;
  /** Slug of the organization to act for. */
  readonly organization: string | undefined;
  /** Under which the sign-in is stored: the URL, and the organization it acts for. */
  readonly signInKey: string;
  readonly credentialStore: CredentialStore;
  readonly credentialProvider: CredentialProvider;
  /** Aborted by Ctrl-C, as is every request that names no signal of its own; pass it to all else that waits. */
  readonly interruptSignal: AbortSignal;
}

const DEFAULT_URL = 'http://127.0.0.1:3000';

/**
 * Creates the context. The service's URL comes from the option, REELGATE_URL, the last sign-in or the default, in this
 * order.
 */
export async function createCommandContext(options: GlobalOptions, output: Output): Promise<CommandContext> {
  useEnvironmentProxy(process.env);
  const interruptSignal = createInterruptSignal();
  const credentialStore = new CredentialStore({ signal: interruptSignal });
  // Imported lazily: loading the contract takes longer than most commands run, and printing help does not need it.
  const { Reelgate: Client } = await import('../sdk/index.ts');
  const { REELGATE_URL } = process.env;
  const baseUrl = parseBaseUrl(options.url || REELGATE_URL || (await credentialStore.currentUrl()) || DEFAULT_URL);
  const organization = parseOrganization(options.org);
  const signInKey = signInKeyOf(baseUrl, organization);
  const credentialProvider = new CredentialProvider({ baseUrl, signInKey, organization }, credentialStore);
  const reelgate: Reelgate = new Client({
    baseUrl,
    signal: interruptSignal,
    organization,
    credentials: (purpose) => credentialProvider.getCredentials(purpose, reelgate),
    refresh: () => credentialProvider.refresh(reelgate),
    ...(readLanguage() === 'zh-CN' && { language: 'zh-CN' }),
  });
  return {
    reelgate,
    output,
    baseUrl,
    organization,
    signInKey,
    credentialStore,
    credentialProvider,
    interruptSignal,
  };
}

/** Names of this machine, which a proxy would take for its own. */
const OWN_NAMES = 'localhost,127.0.0.1,[::1]';

/**
 * Sends requests through the proxy that the environment names, as other command lines do: `fetch` by itself ignores it,
 * and in a network that requires one no service could be reached.
 */
function useEnvironmentProxy(env: NodeJS.ProcessEnv): void {
  const http = toProxyUrl(env.http_proxy || env.HTTP_PROXY);
  const https = toProxyUrl(env.https_proxy || env.HTTPS_PROXY);
  if (!http && !https) return;
  const exceptions = [env.no_proxy || env.NO_PROXY, OWN_NAMES].filter(Boolean).join(',');
  try {
    process
      .getBuiltinModule('node:http')
      .setGlobalProxyFromEnv({ http_proxy: http, https_proxy: https, no_proxy: exceptions });
  } catch {
    throw new UsageError(
      'HTTP_PROXY or HTTPS_PROXY names no proxy that can be used. Give one such as http://proxy.example.com:3128.',
    );
  }
}

/** Without a scheme a proxy is one for HTTP, as for curl. */
const toProxyUrl = (given: string | undefined): string | undefined =>
  !given || given.includes('://') ? given : `http://${given}`;

function parseOrganization(slug: string | undefined): string | undefined {
  if (slug === undefined || /^[a-z0-9][a-z0-9-]{1,38}[a-z0-9]$/.test(slug)) return slug;
  throw new UsageError(`"${slug}" is no organization. "reelgate orgs" lists yours.`);
}

function parseBaseUrl(text: string): string {
  // Variables set by files of Windows end in a carriage return.
  const given = text.trim();
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `https://${given}`);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`"${given}" is not a URL of a service. Give one such as https://reelgate.example.com.`);
  if (url.username !== '' || url.password !== '')
    throw new UsageError(
      'The URL of the service contains a user name or a password, which cannot be sent. Leave them out.',
    );
  // One spelling, under which sign-ins are found again, without the page of a URL from the address bar.
  return url.origin + url.pathname.replace(/\/+$/, '');
}
