import * as endpoints from '../contract/accounts.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import { Reelgate, ReelgateError } from '../sdk/index.ts';
import { parseBody } from '../sdk/transport.ts';
import type { CommandContext } from './command-context.ts';
import { askPassword, askText } from './prompts.ts';

/** A client allowed to do more than a device sign-in, with the headers each call needs. */
export interface LoginSession {
  readonly reelgate: Reelgate;
  readonly headers: Readonly<Record<string, string>>;
}

/** Prompts for the password, and the second step if the account has one, and starts a session with them. */
export async function startLoginSession({
  baseUrl,
  organization,
  signInKey,
  credentialStore,
  output,
  interruptSignal: signal,
}: CommandContext): Promise<LoginSession> {
  const signIn = (await credentialStore.read(signInKey)) ?? (await credentialStore.read(baseUrl));
  output.notice('This changes the credentials of the account, so your password is required.');
  const username = signIn?.username ?? (await askText('User name or e-mail'));
  const password = await askPassword(`Password of ${username}`);
  const { transport } = new Reelgate({ baseUrl, signal });
  let session = await readSession(await transport.send(endpoints.login, { body: { username, password } }));
  if (session.userId === undefined) {
    const code = await askText('Code of your authenticator app, or a backup code');
    const headers = { cookie: session.cookie };
    session = await readSession(
      await transport.send(endpoints.loginSecondStep, { body: { code: code.trim() } }, { headers }),
    );
  }
  const credentials = { userId: session.userId, userHeader: signIn?.userHeader };
  return {
    reelgate: new Reelgate({ baseUrl, organization, signal, credentials }),
    headers: { cookie: session.cookie },
  };
}

const LOGOUT_TIMEOUT_MS = 10_000;

/** Ends the session. If that fails, it expires after a week. */
export async function endLoginSession({ reelgate, headers }: LoginSession): Promise<void> {
  // With a signal of its own: Ctrl-C must not leave the session behind.
  const signal = AbortSignal.timeout(LOGOUT_TIMEOUT_MS);
  await reelgate.transport.call(endpoints.logout, {}, { headers, signal }).catch(() => {});
}

interface StartedSession {
  /** Undefined until the second step, if the account has one. */
  readonly userId: number | undefined;
  readonly cookie: string;
}

/** @throws ReelgateError `wrong_password`, also for a wrong code, or another error of the login */
async function readSession(response: Response): Promise<StartedSession> {
  const body = await response
    .text()
    .then((text) => parseBody(response, text))
    .catch((error: unknown) => {
      if (!(error instanceof ReelgateError) || error.code !== 'refused') throw error;
      throw new ReelgateError(error.message, { status: error.status, code: 'wrong_password' });
    });
  const { data } = body as EndpointPart<typeof endpoints.login, 'response'>;
  const cookie = response.headers
    .getSetCookie()
    .map((header) => header.split(';', 1)[0] ?? '')
    .filter((pair) => !pair.endsWith('='))
    .join('; ');
  return { userId: 'id' in data ? data.id : undefined, cookie };
}
