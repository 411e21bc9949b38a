import { hostname } from 'node:os';
import { Reelgate } from '../sdk/index.ts';
import { Credentials, type SignIn } from './credentials.ts';
import type { Output } from './output.ts';
import { isEnding, renewSignIn } from './refresh.ts';

/** Options every command takes. */
export interface GlobalOptions {
  readonly url?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** What a command works with: the service, as whoever is signed in, and somewhere to write. */
export interface Session {
  readonly reelgate: Reelgate;
  readonly output: Output;
  readonly baseUrl: string;
  readonly credentials: Credentials;
  /** Aborted by Ctrl-C; give it to whatever waits. */
  readonly interrupted: AbortSignal;
}

const DEFAULT_URL = 'http://127.0.0.1:3000';

/** The address: the option, the environment, the last sign-in, the default. The key: the environment, the sign-in. */
export async function openSession(options: GlobalOptions, output: Output): Promise<Session> {
  const { REELGATE_URL, REELGATE_API_KEY, REELGATE_ACCESS_TOKEN, REELGATE_USER_ID } = process.env;
  const credentials = new Credentials();
  const baseUrl = toBaseUrl(options.url ?? REELGATE_URL ?? (await credentials.current()) ?? DEFAULT_URL);
  /** The sign-in whose access_token was sent last. */
  let used: SignIn | undefined;
  const reelgate: Reelgate = new Reelgate({
    baseUrl,
    credentials: async (purpose) => {
      if (purpose === 'none') return {};
      if (purpose === 'model' && REELGATE_API_KEY) return { apiKey: REELGATE_API_KEY };
      if (purpose === 'account' && REELGATE_ACCESS_TOKEN)
        return { accessToken: REELGATE_ACCESS_TOKEN, userId: Number(REELGATE_USER_ID ?? Number.NaN) || undefined };
      used = await credentials.read(baseUrl);
      if (used === undefined) return {};
      // Model calls too, so that who makes videos only is not signed out after 90 days. A failure shows where it matters.
      if (isEnding(used, Date.now()))
        used = (await renewSignIn(credentials, reelgate.deviceAuth, used).catch(() => undefined)) ?? used;
      const { llmToken: apiKey, accessToken, userId, userHeader } = used;
      return { apiKey, accessToken, userId, userHeader };
    },
    renew: async () => {
      if (used === undefined) return false;
      return (await renewSignIn(credentials, reelgate.deviceAuth, used)) !== undefined;
    },
    ...languageOf(process.env.LC_ALL ?? process.env.LANG),
  });
  return { reelgate, output, baseUrl, credentials, interrupted: interruptSignal() };
}

function toBaseUrl(text: string): string {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
    throw new Error(`"${text}" is no address of a service. Give one such as https://reelgate.example.com.`);
  return address.replace(/\/+$/, '');
}

/** The person's language, for messages of the service. */
function languageOf(lang: string | undefined): { readonly language?: string } {
  return lang?.startsWith('zh') === true ? { language: 'zh-CN' } : {};
}

/** How this machine is named to the person who confirms a sign-in. */
export const machineName = (): string => `Reelgate CLI on ${hostname()}`;

/** Ends with the process being interrupted; a second Ctrl-C ends the process at once. */
function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort(new Error('interrupted')));
  return controller.signal;
}
