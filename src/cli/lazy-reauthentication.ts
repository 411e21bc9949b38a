import type { CommandContext } from './command-context.ts';
import type { ReauthenticatedClient } from './reauthentication.ts';

/** Loads reauthentication.ts on demand, because help and most commands do not need it. */
export async function withReauthentication<T>(
  context: CommandContext,
  work: (owner: ReauthenticatedClient) => Promise<T>,
): Promise<T> {
  const { reauthenticate } = await import('./reauthentication.ts');
  return reauthenticate(context, work);
}
