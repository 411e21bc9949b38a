import type { CommandContext } from './command-context.ts';
import type { ReauthenticatedClient } from './reauthentication.ts';

/** See reauthentication.ts, which is loaded when it is needed: help and most commands do without it. */
export async function withReauthentication<T>(
  context: CommandContext,
  work: (owner: ReauthenticatedClient) => Promise<T>,
): Promise<T> {
  const { reauthenticate } = await import('./reauthentication.ts');
  return reauthenticate(context, work);
}
