import type { Command } from 'commander';
import { FAILURES_EN } from '../../contract/messages/failures-en.ts';
import { defined } from '../../contract/objects.ts';
import { type FailureCause, OPENAI_STATUS } from '../../contract/task-states.ts';
import type { OwnVideo, OwnVideoDetail, Video } from '../../sdk/index.ts';
import { parsePositiveInteger } from '../argument-parsers.ts';
import type { CommandContext } from '../command-context.ts';
import { usesApiKey } from '../credential-provider.ts';
import { UsageError } from '../errors.ts';
import { formatBytes } from '../format-times-and-sizes.ts';
import { formatVideoStatus } from '../format-video-status.ts';
import { type CreditFormat, loadCreditFormat } from '../load-credit-format.ts';
import {
  formatKeyValues,
  formatTable,
  type Rendering,
  relativeTime,
  type Style,
  styled,
} from '../render-output-text.ts';
import type { RunCommand } from '../run-command.ts';

interface ListOptions {
  readonly limit: number;
  readonly page?: number;
  readonly after?: string;
}

/** A video of the account or of one API key; of a key the cost and the prompt are not known. */
interface VideoSummary extends Video {
  readonly prompt?: string;
  /** Quota it cost; 0 when it failed. */
  readonly quota?: number;
  /** Of a failure: why, in terms common to all vendors. */
  readonly cause?: FailureCause;
}

/** `reelgate video list` and `reelgate video get` */
export function addOwnVideoCommands(video: Command, run: RunCommand): void {
  video
    .command('list')
    .option('-n, --limit <n>', 'how many, at most 50 when signed in', parsePositiveInteger, 20)
    .option('--page <n>', 'the page, when signed in', parsePositiveInteger)
    .option('--after <id>', 'those older than this one, with REELGATE_API_KEY')
    .description('List your videos, newest first: all of the account, or those of REELGATE_API_KEY')
    .action((options: ListOptions, command: Command) =>
      run(command, (context) => (usesApiKey() ? listOfKey(context, options) : listOfAccount(context, options))),
    );

  video
    .command('get')
    .argument('<id>', 'a task id')
    .description('Show a task')
    .action((id: string, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        if (usesApiKey()) {
          const found = await reelgate.videos.get(id);
          return output.result(found, formatDetails({ ...found, id: found.id || id }));
        }
        const own = await reelgate.account.video(id);
        const summary = { ...toSummary(own), request: own.request, refunded: own.refunded, imported: own.imported };
        output.result(summary, formatDetails(summary, formatCost(own, await loadCreditFormat(reelgate))));
      }),
    );

  video
    .command('storage')
    .description('Show the space of the stored copies of your videos; needs a sign-in')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const storage = await reelgate.account.storage();
        output.result(
          storage,
          storage.enabled
            ? formatKeyValues({
                Copies: String(storage.files),
                Space: `${formatBytes(storage.used_bytes)} of ${formatBytes(storage.limit_bytes)}`,
                Kept: storage.days === 0 ? 'indefinitely' : `${storage.days} days`,
              })
            : 'This service keeps no copies: videos are served by their vendors.',
        );
      }),
    );
}

async function listOfKey({ reelgate, output }: CommandContext, { limit, page, after }: ListOptions): Promise<void> {
  if (page !== undefined) throw new UsageError('--page is for a sign-in. With REELGATE_API_KEY use --after.');
  const { data, has_more } = await reelgate.videos.list(defined({ limit, after }));
  output.list(data, formatList(data), data.length === 0, NONE);
  if (has_more) output.info(`There are older ones: --after ${data.at(-1)?.id}`);
}

async function listOfAccount(context: CommandContext, { limit, page = 1, after }: ListOptions): Promise<void> {
  if (after !== undefined) throw new UsageError('--after is for REELGATE_API_KEY. When signed in use --page.');
  const pageSize = Math.min(50, limit);
  const { data, total } = await context.reelgate.account.videos({ page, pageSize });
  const videos = data.map(toSummary);
  context.output.list(videos, formatList(videos), videos.length === 0, NONE);
  if (total > page * pageSize)
    context.output.info(`Page ${page} of ${Math.ceil(total / pageSize)}: --page ${page + 1}`);
}

const NONE = 'No videos yet. Generate one with "reelgate video create".';

const STATUS_STYLES: Readonly<Record<Video['status'], Style>> = {
  queued: 'secondary',
  in_progress: 'active',
  completed: 'good',
  failed: 'bad',
  unknown: 'secondary',
};

const styledStatus = (video: VideoSummary): Rendering => styled(STATUS_STYLES[video.status], formatVideoStatus(video));

const formatList = (videos: readonly VideoSummary[]): Rendering =>
  formatTable(
    ['TASK', 'STATUS', 'MODEL', 'STARTED', 'REASON'],
    videos.map((each) => [
      each.id,
      styledStatus(each),
      each.model,
      each.created_at > 0 ? relativeTime(each.created_at) : '',
      each.cause === undefined ? (each.error?.message ?? '') : FAILURES_EN[each.cause].text,
    ]),
  );

const formatDetails = (video: VideoSummary, cost?: string): Rendering =>
  formatKeyValues({
    Task: video.id,
    Status: styledStatus(video),
    Model: video.model,
    Prompt: video.prompt,
    Cost: cost,
    Started: video.created_at > 0 ? relativeTime(video.created_at) : undefined,
    Reason: video.cause && FAILURES_EN[video.cause].text,
    'What to do': video.cause && FAILURES_EN[video.cause].advice,
    Vendor: [video.error?.code, video.error?.message].filter(Boolean).join(' '),
    URL: video.metadata?.url,
  });

/** A failed video costs nothing; one under way has its price reserved; an imported one was paid elsewhere. */
function formatCost({ status, quota, refunded, imported }: OwnVideoDetail, credits: CreditFormat): string {
  if (imported) return `${credits(quota)}, before the import`;
  if (refunded || status === 'FAILURE') return 'not charged';
  return `${credits(quota)}${status === 'SUCCESS' ? '' : ', reserved'}`;
}

/** The account's own view in the keys of a video object. `fail_reason` of a success is the URL of the video. */
function toSummary(own: OwnVideo): VideoSummary {
  const failed = own.status === 'FAILURE';
  return {
    id: own.task_id,
    status: OPENAI_STATUS[own.status],
    progress: Number.parseInt(own.progress, 10) || 0,
    model: own.model,
    created_at: own.submit_time,
    prompt: own.prompt,
    quota: own.quota,
    ...(failed && {
      error: defined({ message: own.fail_reason, code: own.error_code || undefined }),
      cause: own.fail_cause || 'unknown',
    }),
  };
}
