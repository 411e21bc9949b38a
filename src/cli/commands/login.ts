import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { renderUnicodeCompact } from 'uqr';
import { getStatus } from '../../contract/service.ts';
import { type DeviceCode, type DeviceTokens, ReelgateError } from '../../sdk/index.ts';
import { hasBrowser, openBrowser } from '../browser.ts';
import type { SignIn } from '../credentials.ts';
import { UsageError } from '../failures.ts';
import type { RunCommand } from '../run.ts';
import { machineName, type Session } from '../session.ts';
import { toSpan } from '../text.ts';

interface LoginOptions {
  readonly browser: boolean;
  readonly qr: boolean;
  readonly renew?: boolean;
  readonly force?: boolean;
  readonly name?: string;
}

/** `reelgate login` */
export function addLoginCommand(program: Command, run: RunCommand): void {
  program
    .command('login')
    .description('Sign in: shows a link and a code to confirm in any browser')
    .option('--no-browser', 'do not open a browser')
    .option('--no-qr', 'do not draw the QR code')
    .option('--name <name>', 'how this machine is shown to you when you confirm', machineName())
    .option('--renew', 'get a new code by itself whenever one expires')
    .option('--force', 'sign in where nobody seems to watch, such as CI')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate login --url https://reelgate.example.com
  $ reelgate login --no-browser      # on a server, by ssh: confirm on your phone or laptop

In CI make a key in the console and set REELGATE_URL and REELGATE_API_KEY instead.`,
    )
    .action((options: LoginOptions, command: Command) =>
      run(command, async (session) => {
        refuseUnwatched(session, options);
        const signIn = await signInWithCode(session, options);
        await keep(session, signIn);
      }),
    );
}

function refuseUnwatched({ output }: Session, { force }: LoginOptions): void {
  const isWatched = output.isWatched && !process.env.CI;
  if (isWatched || force === true) return;
  const place = process.env.CI
    ? 'This looks like CI (the variable CI is set)'
    : 'There is no terminal to show the code on';
  throw new UsageError(
    `${place}, so nobody would confirm the sign-in. ` +
      'Make a key in the console under Tokens and set REELGATE_URL and REELGATE_API_KEY; no sign-in is needed then. ' +
      'If somebody does read this output, add --force.',
  );
}

async function signInWithCode(session: Session, options: LoginOptions): Promise<SignIn> {
  const { reelgate, credentials, output, baseUrl, interrupted: signal } = session;
  const { data: status } = await reelgate.transport.call(getStatus, {}, { signal });
  const id = await credentials.exclusively(() => credentials.deviceId());
  for (;;) {
    const code = await reelgate.deviceAuth.start({ name: options.name ?? machineName(), id }, { signal });
    await show(session, code, options);
    try {
      const tokens = await reelgate.deviceAuth.poll(code, {
        signal,
        onTrouble: (error, waitMs) =>
          output.live(`${error.message} Trying again in ${toSpan(Math.round(waitMs / 1000))} …`, error.message),
      });
      output.clear();
      return toSignIn(tokens, baseUrl, status.api_user_header);
    } catch (error) {
      output.clear();
      if (signal.aborted) output.ask('Cancelled. The code above lets nobody in any more.');
      if (!(error instanceof ReelgateError && error.code === 'expired_token')) throw explain(error);
      if (options.renew !== true && !(await askForNewCode(session))) throw error;
    }
  }
}

async function show({ output }: Session, code: DeviceCode, { browser, qr }: LoginOptions): Promise<void> {
  const link = code.verification_uri_complete;
  output.ask('');
  output.ask(`  Open   ${code.verification_uri}`);
  output.ask(`  Code   ${code.user_code}`);
  output.ask('');
  if (qr && output.isWatched) output.ask(`${renderUnicodeCompact(link, { border: 2 }).replace(/^/gm, '  ')}\n`);
  output.ask(`Confirm there within ${toSpan(code.expires_in)}, and only if it shows this code. Ctrl-C cancels.`);
  if (browser && output.isWatched && hasBrowser()) {
    output.ask('A browser opens; if it does not, use the link.');
    await openBrowser(link);
  }
  output.live('Waiting for you to confirm …', '');
}

/** One key for another try, where there is somebody to press it. */
async function askForNewCode({ output, interrupted: signal }: Session): Promise<boolean> {
  if (process.stdin.isTTY !== true || !output.isWatched) return false;
  // Not `terminal`: the key Ctrl-C stays a signal then.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    await lines.question('The code has expired. Press Enter for a new one, Ctrl-C to stop. ', { signal });
    return true;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    lines.close();
  }
}

/** The service's words are for every client; here it is known what was going on. */
function explain(error: unknown): unknown {
  if (!(error instanceof ReelgateError) || error.code !== 'access_denied') return error;
  return new ReelgateError('The sign-in was denied in the browser. Nobody was signed in.', {
    code: error.code,
    status: error.status,
  });
}

function toSignIn(tokens: DeviceTokens, baseUrl: string, userHeader: string): SignIn {
  return {
    baseUrl,
    userId: tokens.user_id,
    username: tokens.username,
    displayName: tokens.display_name,
    userHeader,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    llmToken: tokens.llm_token,
    accessExpiresAt: Date.now() + tokens.expires_in * 1000,
  };
}

/** Stores it, ends the one it replaces and says what there is now. */
async function keep({ reelgate, credentials, output, baseUrl }: Session, signIn: SignIn): Promise<void> {
  const { place, old } = await credentials.exclusively(async () => {
    const old = await credentials.read(baseUrl).catch(() => undefined);
    return { place: await credentials.write(signIn, 'best'), old };
  });
  // The same account's was replaced by the service; another account's would live on unseen.
  if (old !== undefined && old.userId !== signIn.userId)
    await reelgate.deviceAuth.logout(old.accessToken).catch(() => {
      output.say(`The sign-in of ${old.username} could not be ended; end it in the console under Devices.`);
    });
  const { userId, username, displayName } = signIn;
  output.say(`The tokens are in ${place}.`);
  output.say(`End this sign-in with "reelgate logout", or from anywhere at ${baseUrl}/account/devices.`);
  if (process.env.REELGATE_API_KEY)
    output.say('REELGATE_API_KEY is set and goes on being used for videos and models; unset it to use this sign-in.');
  output.result(
    { signed_in: true, url: baseUrl, user_id: userId, username, display_name: displayName, tokens_in: place },
    `Signed in to ${baseUrl} as ${nameOf(displayName, username)}.`,
  );
}

/** `Ada (ada)`, or the user name alone where there is no other. */
export const nameOf = (displayName: string, username: string): string =>
  displayName === '' || displayName === username ? username : `${displayName} (${username})`;
