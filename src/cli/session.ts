import { hostname } from 'node:os';
import { Reelgate } from '../sdk/index.ts';
import { Caller } from './caller.ts';
import { Credentials } from './credentials.ts';
import { UsageError } from './failures.ts';
import { interruptSignal } from './interrupted.ts';
import type { Output } from './output.ts';

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
  readonly caller: Caller;
  /** Aborted by Ctrl-C; give it to whatever waits. */
  readonly interrupted: AbortSignal;
}

const DEFAULT_URL = 'http://127.0.0.1:3000';

/** The address: the option, the environment, the last sign-in, the default. */
export async function openSession(options: GlobalOptions, output: Output): Promise<Session> {
  const credentials = new Credentials();
  const { REELGATE_URL, LC_ALL, LANG } = process.env;
  const baseUrl = toBaseUrl(options.url || REELGATE_URL || (await credentials.current()) || DEFAULT_URL);
  const caller = new Caller(baseUrl, credentials);
  const reelgate: Reelgate = new Reelgate({
    baseUrl,
    credentials: (purpose) => caller.present(purpose, reelgate),
    renew: () => caller.renew(reelgate),
    ...languageOf(LC_ALL || LANG),
  });
  return { reelgate, output, baseUrl, credentials, caller, interrupted: interruptSignal() };
}

function toBaseUrl(text: string): string {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
    throw new UsageError(`"${text}" is no address of a service. Give one such as https://reelgate.example.com.`);
  return address.replace(/\/+$/, '');
}

/** The person's language, for messages of the service. */
function languageOf(lang: string | undefined): { readonly language?: string } {
  return lang?.startsWith('zh') === true ? { language: 'zh-CN' } : {};
}

/** How this machine is named to the person who confirms a sign-in. */
export const machineName = (): string => `Reelgate CLI on ${hostname()}`;
