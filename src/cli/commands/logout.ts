import type { Command } from 'commander';
import { ReelgateError } from '../../sdk/index.ts';
import type { RunCommand } from '../run.ts';
import type { Session } from '../session.ts';

interface LogoutOptions {
  readonly everywhere?: boolean;
  readonly local?: boolean;
}

/** `reelgate logout` */
export function addLogoutCommand(program: Command, run: RunCommand): void {
  program
    .command('logout')
    .description('End the sign-in of this machine; its tokens stop at once')
    .option('--everywhere', "end the account's sign-ins on all other devices too")
    .option('--local', 'only forget the tokens here, when the service cannot be reached')
    .addHelpText('after', '\nExamples:\n  $ reelgate logout\n  $ reelgate logout --everywhere')
    .action((options: LogoutOptions, command: Command) =>
      run(command, async (session) => {
        const { output, baseUrl } = session;
        const others = options.everywhere === true ? await endOthers(session) : 0;
        const known = await endThis(session, options);
        const text = known ? `Signed out of ${baseUrl}.` : `You were not signed in to ${baseUrl}.`;
        const more = options.everywhere === true ? ` ${others} other sign-in${others === 1 ? '' : 's'} ended.` : '';
        output.result({ signed_out: known, url: baseUrl, others_ended: others }, text + more);
        if (process.env.REELGATE_API_KEY) output.say('REELGATE_API_KEY is still set and still opens the service.');
      }),
    );
}

async function endOthers({ reelgate }: Session): Promise<number> {
  const others = (await reelgate.account.devices()).filter(({ current }) => !current);
  for (const { id } of others) await reelgate.account.endDevice(id);
  return others.length;
}

/** Whether there was one. No refresh of another process comes between, or its new pair would stay alive. */
function endThis({ reelgate, credentials, output, baseUrl }: Session, { local }: LogoutOptions): Promise<boolean> {
  return credentials.exclusively(async () => {
    const known = await credentials.knows(baseUrl);
    const signIn = local === true ? undefined : await credentials.read(baseUrl);
    if (signIn !== undefined)
      await reelgate.deviceAuth.logout(signIn.accessToken).catch((error: unknown) => {
        if (!(error instanceof ReelgateError) || error.isPassing || error.status >= 500) throw toAdvice(error);
        output.say('The service had ended this sign-in before.');
      });
    await credentials.remove(baseUrl);
    return known;
  });
}

function toAdvice(error: unknown): unknown {
  if (!(error instanceof ReelgateError)) return error;
  const { code, status, requestId } = error;
  const message = `${error.message} You are still signed in. Try again, or forget the tokens here with --local.`;
  return new ReelgateError(message, { code, status, requestId, cause: error });
}
