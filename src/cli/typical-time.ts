import type { VideoDuration } from '../sdk/index.ts';
import type { CommandContext } from './command-context.ts';
import { hasAccount } from './credential-provider.ts';

/**
 * How long videos of a model take, as measured; undefined without a sign-in, and where too few videos are known. It is
 * additional information, so a failure is no error of the command.
 */
export async function findTypicalGenerationTime(
  context: Pick<CommandContext, 'reelgate' | 'baseUrl' | 'credentialStore'>,
  model: string,
): Promise<VideoDuration | undefined> {
  if (!(await hasAccount(context))) return undefined;
  const durations = await context.reelgate.account.videoDurations().catch(() => []);
  return durations.find((each) => each.model === model);
}
