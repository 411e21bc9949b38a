import type { CommandContext } from './command-context.ts';
import type { ReauthenticatedClient } from './reauthenticate.ts';

/** Loads reauthenticate.ts on demand, because help and most commands do not need it. */
export async function reauthenticateLazily<T>(
  context: CommandContext,
  work: (owner: ReauthenticatedClient) => Promise<T>,
): Promise<T> {
  const { reauthenticate } = await import('./reauthenticate.ts');
  return reauthenticate(context, work);
}
