import type { CommandContext } from './command-context.ts';
import { UsageError } from './errors.ts';
import type { LoginSession } from './login-session.ts';
import { canPrompt } from './prompts.ts';

/**
 * Runs work that a device sign-in may not do because its effect would outlive the sign-in: directly with
 * REELGATE_ACCESS_TOKEN, otherwise after prompting for the password. The login session ends after the work.
 */
export async function reauthenticate<T>(
  context: CommandContext,
  work: (owner: LoginSession) => Promise<T>,
): Promise<T> {
  if (process.env.REELGATE_ACCESS_TOKEN) return work({ reelgate: context.reelgate, headers: {} });
  if (!canPrompt())
    throw new UsageError(
      'This changes the credentials of the account, so a device sign-in may not do it. Run it in a terminal, where it asks for your password, or set REELGATE_ACCESS_TOKEN and REELGATE_USER_ID; create such a token in the console.',
    );
  // Imported when the password is asked for, because printing help does not need it.
  const { startLoginSession, endLoginSession } = await import('./login-session.ts');
  const owner = await startLoginSession(context);
  try {
    return await work(owner);
  } finally {
    await endLoginSession(owner);
  }
}
