import { password as askPassword, text as askText, isCancel } from '@clack/prompts';
import * as lines from '../contract/accounts.ts';
import { Reelgate, ReelgateError } from '../sdk/index.ts';
import { UsageError } from './failures.ts';
import { Interrupted } from './interrupted.ts';
import type { Session } from './session.ts';

/** The service as the account's owner, with what each call needs to prove it. */
export interface Owner {
  readonly reelgate: Reelgate;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Work a device sign-in may not do, since it would outlive it: with REELGATE_ACCESS_TOKEN as it is, else after the password
 * was asked for. That login lasts for this one piece of work.
 */
export async function asOwner<T>(session: Session, work: (owner: Owner) => Promise<T>): Promise<T> {
  if (process.env.REELGATE_ACCESS_TOKEN) return work({ reelgate: session.reelgate, headers: {} });
  if (process.stdin.isTTY !== true || !session.output.isWatched)
    throw new UsageError(
      'This changes what opens the account, so a device sign-in may not do it. Run it in a terminal, where it asks for ' +
        'your password, or set REELGATE_ACCESS_TOKEN and REELGATE_USER_ID; the console makes such a token.',
    );
  const owner = await logIn(session);
  try {
    return await work(owner);
  } finally {
    await owner.reelgate.transport.call(lines.logout, {}, { headers: owner.headers }).catch(() => {
      // It ends by itself a week later.
    });
  }
}

async function logIn({ baseUrl, credentials, output }: Session): Promise<Owner> {
  const signIn = await credentials.read(baseUrl);
  output.ask('This changes what opens the account, so your password is needed once more.');
  const username = signIn?.username ?? (await answer(askText({ message: 'User name or e-mail' })));
  const password = await answer(askPassword({ message: `Password of ${username}` }));
  const visitor = new Reelgate({ baseUrl });
  const first = await post(visitor, lines.login, { username, password }, {});
  if (!('require_2fa' in first.data)) return toOwner(baseUrl, first.data.id, first.cookie, signIn?.userHeader);
  const code = await answer(askText({ message: 'Code of your authenticator app, or a backup code' }));
  const second = await post(visitor, lines.loginSecondStep, { code: code.trim() }, { cookie: first.cookie });
  return toOwner(baseUrl, second.data.id, second.cookie, signIn?.userHeader);
}

type LoginLine = typeof lines.login | typeof lines.loginSecondStep;

async function post(
  visitor: Reelgate,
  line: LoginLine,
  body: { username: string; password: string } | { code: string },
  headers: Readonly<Record<string, string>>,
): Promise<{ data: { id: number } | { require_2fa: true; id: never }; cookie: string }> {
  const response = await visitor.transport.send(line, { body } as never, { headers });
  const read = (await response.json()) as { success: boolean; message?: string; data: { id: number } };
  if (!read.success)
    throw new ReelgateError(read.message ?? 'The login was refused.', {
      status: response.status,
      code: 'wrong_password',
    });
  const cookie = response.headers
    .getSetCookie()
    .map((each) => each.split(';', 1)[0] ?? '')
    .filter((each) => !each.endsWith('='))
    .join('; ');
  return { data: read.data, cookie };
}

function toOwner(baseUrl: string, userId: number, cookie: string, userHeader: string | undefined): Owner {
  const credentials = { userId, ...(userHeader === undefined ? {} : { userHeader }) };
  return { reelgate: new Reelgate({ baseUrl, credentials }), headers: { cookie } };
}

async function answer(question: Promise<string | symbol>): Promise<string> {
  const given = await question;
  if (isCancel(given) || typeof given !== 'string') throw new Interrupted();
  return given;
}
