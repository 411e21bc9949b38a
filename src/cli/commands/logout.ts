import type { Command } from 'commander';
import { ReelgateError } from '../../sdk/errors.ts';
import type { CommandContext } from '../command-context.ts';
import type { RunCommand } from '../run-command.ts';

interface LogoutOptions {
  readonly everywhere?: boolean;
  readonly local?: boolean;
}

/** `reelgate logout` */
export function addLogoutCommand(program: Command, run: RunCommand): void {
  program
    .command('logout')
    .description('End the sign-in of this machine; its tokens are revoked at once')
    .option('--everywhere', "end the account's sign-ins on all other devices too")
    .option('--local', 'only delete the tokens here, when the service cannot be reached')
    .addHelpText('after', '\nExamples:\n  $ reelgate logout\n  $ reelgate logout --everywhere')
    .action((options: LogoutOptions, command: Command) =>
      run(command, async (context) => {
        const { output, baseUrl } = context;
        const others = options.everywhere === true ? await endOtherSignIns(context) : 0;
        const known = await endThisSignIn(context, options);
        const text = known ? `Signed out of ${baseUrl}.` : `You were not signed in to ${baseUrl}.`;
        const more = options.everywhere === true ? ` ${others} other sign-in${others === 1 ? '' : 's'} ended.` : '';
        output.result({ signed_out: known, url: baseUrl, others_ended: others }, text + more);
        if (process.env.REELGATE_API_KEY) output.info('REELGATE_API_KEY is still set and still works.');
      }),
    );
}

async function endOtherSignIns({ reelgate }: CommandContext): Promise<number> {
  const others = (await reelgate.account.devices()).filter(({ current }) => !current);
  for (const { id } of others) await reelgate.account.endDevice(id);
  return others.length;
}

/** @returns whether there was one. Exclusive, since tokens that another process refreshes meanwhile would stay valid. */
function endThisSignIn(
  { reelgate, credentialStore, output, baseUrl }: CommandContext,
  { local }: LogoutOptions,
): Promise<boolean> {
  return credentialStore.runExclusive(async () => {
    const known = await credentialStore.has(baseUrl);
    const signIn = local === true ? undefined : await credentialStore.read(baseUrl);
    if (signIn !== undefined)
      await reelgate.deviceAuth.logout(signIn.accessToken).catch((error: unknown) => {
        if (!(error instanceof ReelgateError) || error.isTransient || error.status >= 500) throw withAdvice(error);
        output.info('The service had already ended this sign-in.');
      });
    await credentialStore.remove(baseUrl, { tokensRevoked: local !== true });
    return known;
  });
}

function withAdvice(error: unknown): unknown {
  if (!(error instanceof ReelgateError)) return error;
  const { code, status, requestId } = error;
  const message = `${error.message} You are still signed in. Try again, or only delete the tokens here with --local.`;
  return new ReelgateError(message, { code, status, requestId, cause: error });
}
