import * as endpoints from '../contract/accounts.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import { Reelgate, ReelgateError } from '../sdk/index.ts';
import { parseBody } from '../sdk/transport.ts';
import type { CommandContext } from './command-context.ts';
import { UsageError } from './errors.ts';
import { askPassword, askText, canPrompt } from './prompts.ts';

const LOGOUT_TIMEOUT_MS = 10_000;

/** A client allowed to do more than a device sign-in, with the headers each call needs. */
export interface ReauthenticatedClient {
  readonly reelgate: Reelgate;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Runs work that a device sign-in may not do because its effect would outlive the sign-in: directly with
 * REELGATE_ACCESS_TOKEN, otherwise after prompting for the password. The login session ends after the work.
 */
export async function reauthenticate<T>(
  context: CommandContext,
  work: (owner: ReauthenticatedClient) => Promise<T>,
): Promise<T> {
  if (process.env.REELGATE_ACCESS_TOKEN) return work({ reelgate: context.reelgate, headers: {} });
  if (!canPrompt())
    throw new UsageError(
      'This changes the credentials of the account, so a device sign-in may not do it. Run it in a terminal, where it asks ' +
        'for your password, or set REELGATE_ACCESS_TOKEN and REELGATE_USER_ID; create such a token in the console.',
    );
  const owner = await logIn(context);
  try {
    return await work(owner);
  } finally {
    // With a signal of its own: Ctrl-C must not leave the session behind.
    const ending = { headers: owner.headers, signal: AbortSignal.timeout(LOGOUT_TIMEOUT_MS) };
    await owner.reelgate.transport.call(endpoints.logout, {}, ending).catch(() => {
      // If ending fails, the session expires after a week.
    });
  }
}

async function logIn({
  baseUrl,
  organization,
  signInKey,
  credentialStore,
  output,
  interruptSignal: signal,
}: CommandContext): Promise<ReauthenticatedClient> {
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

interface LoginSession {
  /** Undefined until the second step, if the account has one. */
  readonly userId: number | undefined;
  readonly cookie: string;
}

/** @throws ReelgateError `wrong_password`, also for a wrong code, or another error of the login */
async function readSession(response: Response): Promise<LoginSession> {
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
