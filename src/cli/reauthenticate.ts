import { password as askPassword, text as askText, isCancel } from '@clack/prompts';
import * as endpoints from '../contract/accounts.ts';
import { defined } from '../contract/objects.ts';
import { Reelgate, ReelgateError, type ReelgateOptions } from '../sdk/index.ts';
import type { CommandContext } from './command-context.ts';
import { InterruptedError, UsageError } from './errors.ts';

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
  if (process.stdin.isTTY !== true || !context.output.isInteractive)
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
  const username = signIn?.username ?? (await readAnswer(askText({ message: 'User name or e-mail' })));
  const password = await readAnswer(askPassword({ message: `Password of ${username}` }));
  const service = defined({ baseUrl, organization, signal });
  const anonymous = new Reelgate({ baseUrl, signal });
  const first = await post(anonymous, endpoints.login, { username, password }, {});
  if (!('require_2fa' in first.data))
    return toReauthenticatedClient(service, first.data.id, first.cookie, signIn?.userHeader);
  const code = await readAnswer(askText({ message: 'Code of your authenticator app, or a backup code' }));
  const second = await post(anonymous, endpoints.loginSecondStep, { code: code.trim() }, { cookie: first.cookie });
  return toReauthenticatedClient(service, second.data.id, second.cookie, signIn?.userHeader);
}

type LoginEndpoint = typeof endpoints.login | typeof endpoints.loginSecondStep;

async function post(
  anonymous: Reelgate,
  endpoint: LoginEndpoint,
  body: { username: string; password: string } | { code: string },
  headers: Readonly<Record<string, string>>,
): Promise<{ data: { id: number } | { require_2fa: true; id: never }; cookie: string }> {
  const response = await anonymous.transport.send(endpoint, { body } as never, { headers });
  const result = (await response.json()) as { success: boolean; message?: string; data: { id: number } };
  if (!result.success)
    throw new ReelgateError(result.message ?? 'The login was refused.', {
      status: response.status,
      code: 'wrong_password',
    });
  const cookie = response.headers
    .getSetCookie()
    .map((header) => header.split(';', 1)[0] ?? '')
    .filter((pair) => !pair.endsWith('='))
    .join('; ');
  return { data: result.data, cookie };
}

function toReauthenticatedClient(
  service: Pick<ReelgateOptions, 'baseUrl' | 'organization' | 'signal'>,
  userId: number,
  cookie: string,
  userHeader: string | undefined,
): ReauthenticatedClient {
  return { reelgate: new Reelgate({ ...service, credentials: { userId, userHeader } }), headers: { cookie } };
}

async function readAnswer(question: Promise<string | symbol>): Promise<string> {
  const answer = await question;
  if (isCancel(answer) || typeof answer !== 'string') throw new InterruptedError();
  return answer;
}
