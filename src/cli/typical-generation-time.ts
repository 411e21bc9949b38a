import type { VideoDuration } from '../sdk/index.ts';
import type { CommandContext } from './command-context.ts';

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

/** Whether requests for the account have a credential: a sign-in, or a user access token. */
export const hasAccount = async ({
  baseUrl,
  credentialStore,
}: Pick<CommandContext, 'baseUrl' | 'credentialStore'>): Promise<boolean> =>
  Boolean(process.env.REELGATE_ACCESS_TOKEN) || (await credentialStore.has(baseUrl));
