import { Reelgate } from '../sdk/index.ts';
import { CredentialFile } from './credentials.ts';
import { Output } from './output.ts';

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
  readonly file: CredentialFile;
}

const DEFAULT_URL = 'http://127.0.0.1:3000';

/** The address: the option, the environment, the last sign-in, the default. The key: the environment, the sign-in. */
export async function openSession(options: GlobalOptions): Promise<Session> {
  const file = new CredentialFile();
  const named = options.url ?? process.env.REELGATE_URL;
  const baseUrl = (named ?? (await file.read())?.baseUrl ?? DEFAULT_URL).replace(/\/+$/, '');
  const reelgate = new Reelgate({
    baseUrl,
    credentials: async () => {
      const signIn = await file.read(baseUrl);
      const apiKey = process.env.REELGATE_API_KEY ?? signIn?.llmToken;
      const userId = process.env.REELGATE_USER_ID;
      return {
        apiKey,
        accessToken: process.env.REELGATE_ACCESS_TOKEN ?? signIn?.accessToken,
        userId: userId === undefined ? signIn?.userId : Number(userId),
      };
    },
    ...languageOf(process.env.LC_ALL ?? process.env.LANG),
  });
  return {
    reelgate,
    output: new Output({ json: options.json === true, quiet: options.quiet === true }),
    baseUrl,
    file,
  };
}

/** The person's language, for messages of the service. */
function languageOf(lang: string | undefined): { readonly language?: string } {
  return lang?.startsWith('zh') === true ? { language: 'zh-CN' } : {};
}

/** Ends with the process being interrupted. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort(new Error('interrupted')));
  return controller.signal;
}
