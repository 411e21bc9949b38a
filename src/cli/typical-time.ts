import type { VideoDuration } from '../sdk/index.ts';
import type { CommandContext } from './command-context.ts';
import { hasAccount } from './credential-provider.ts';

/**
 * Measured generation time of a model's videos; undefined without a sign-in or with too few finished videos. The figure
 * is optional, so a failure is not an error of the command.
 */
export async function findTypicalGenerationTime(
  context: Pick<CommandContext, 'reelgate' | 'signInKey' | 'credentialStore'>,
  model: string,
): Promise<VideoDuration | undefined> {
  if (!(await hasAccount(context))) return undefined;
  const durations = await context.reelgate.account.videoDurations().catch(() => []);
  return durations.find((each) => each.model === model);
}
