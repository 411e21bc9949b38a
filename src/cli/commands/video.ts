import { stat } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { FAILURES_EN } from '../../contract/messages/failures-en.ts';
import { type FailureCause, OPENAI_STATUS } from '../../contract/task-states.ts';
import type {
  CreateVideoRequest,
  OwnVideo,
  OwnVideoDetail,
  ShareInfo,
  Video,
  VideoDuration,
  VideoQuote,
} from '../../sdk/index.ts';
import { parsePositiveInteger, parseRowId } from '../argument-parsers.ts';
import type { CommandContext } from '../command-context.ts';
import { usesApiKey } from '../credential-provider.ts';
import { type CreditFormat, loadCreditFormat } from '../credit-format.ts';
import { UsageError } from '../errors.ts';
import {
  addGenerationOptions,
  addOptionToError,
  addWaitOptions,
  type GenerationOptions,
  toCreateRequest,
  type WaitOptions,
} from '../generation-options.ts';
import {
  authorColumn,
  dateTime,
  formatBytes,
  formatDateTime,
  formatDuration,
  formatKeyValues,
  formatTable,
  phrase,
  type Rendering,
  relativeTime,
  type Style,
  styled,
  type Text,
  word,
} from '../output.ts';
import { askPassword, canPrompt, readTextArgument } from '../prompts.ts';
import type { RunCommand } from '../run-command.ts';
import {
  findTypicalGenerationTime,
  formatVideoStatus,
  generateVideo,
  startVideo,
  waitForVideo,
} from '../video-wait.ts';

interface CreateOptions extends WaitOptions, GenerationOptions {
  readonly model?: string;
  readonly wait: boolean;
  readonly dryRun?: boolean;
}

/** `reelgate video …` */
export function addVideoCommands(program: Command, run: RunCommand): void {
  const video = program.command('video').description('Generate, follow and download videos');

  addWaitOptions(
    addGenerationOptions(
      video
        .command('create')
        .option('-m, --model <id>', 'the model; default: the one of "reelgate config", see "reelgate models"'),
    ),
  )
    .argument('<prompt>', 'what the video shows; - reads it from standard input')
    .addOption(new Option('--no-wait', 'print the task id and do not wait').conflicts('out'))
    .option('--dry-run', 'show what it would cost and how many you can make; start nothing')
    .description('Generate a video and wait for it')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate video create "a cat on a red sofa" --model kling-v3 --out cat.mp4
  $ reelgate video create "she turns her head" --model kling-v3 --image first.png --seconds 5 --out turn.mp4
  $ reelgate video create "@Image1 walks in" --model MiniMax-H3 --image ref=cat.png --audio steps.mp3 --out walk.mp4
  $ ID=$(reelgate video create "a kite" --model kling-v3 --no-wait) && reelgate video wait "$ID" --out kite.mp4`,
    )
    .action((prompt: string, options: CreateOptions, command: Command) =>
      run(command, async (context) => {
        const { reelgate, output } = context;
        const { requireModel } = await import('../default-models.ts');
        const model = await requireModel(context, 'video', options.model);
        const text = await readPrompt(prompt, context);
        const request = await toCreateRequest(context, model, text, options);
        if (options.dryRun === true) return showQuote(context, request);
        const start = () =>
          reelgate.videos.create(request).catch((error: unknown) => {
            throw addOptionToError(error);
          });
        if (options.wait) return generateVideo(context, model, options, start);
        const { id } = await startVideo(context, start);
        output.result({ id }, id);
      }),
    );

  addWaitOptions(video.command('wait'))
    .argument('<id>', 'a task id')
    .description('Wait for a task that was started before')
    .action((id: string, options: WaitOptions, command: Command) =>
      run(command, (context) => waitForVideo(context, id, options)),
    );

  addOwnVideoCommands(video, run);
  addShareCommands(video, run);

  video
    .command('download')
    .argument('<id>', 'a task id')
    .option('-o, --out <file>', 'where to save it; default: its id here, with the extension of its type')
    .option('-f, --force', 'replace the file if it exists')
    .description('Download a finished video; an interrupted download is resumed')
    .action((id: string, options: { out?: string; force?: boolean }, command: Command) =>
      run(command, async (context) => {
        const { assertWritable, downloadTo } = await import('../video-download.ts');
        await assertWritable(options);
        const { file, bytes } = await downloadTo(context, id, options);
        context.output.result({ id, file, bytes }, `Saved ${file} (${formatBytes(bytes)}).`);
      }),
    );

  video
    .command('delete')
    .argument('<id>', 'a finished task')
    .description('Remove a video from the list')
    .action((id: string, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        await reelgate.videos.delete(id);
        output.result({ id, deleted: true }, `Deleted ${id}.`);
      }),
    );

  video
    .command('cancel')
    .argument('<id>', 'a task that waits for its start')
    .description('Cancel a video that has not started; nothing is charged')
    .action((id: string, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        await reelgate.videos.cancel(id);
        output.result({ id, cancelled: true }, `Cancelled ${id}. Nothing is charged.`);
      }),
    );

  addChangeCommands(video, run);

  addWaitOptions(video.command('remix'))
    .argument('<id>', 'a finished Sora-style task')
    .argument('<prompt>', 'what to change; - reads it from standard input')
    .description('Generate a new video from a finished one')
    .action((id: string, prompt: string, options: WaitOptions, command: Command) =>
      run(command, async (context) => {
        const text = await readPrompt(prompt, context);
        await generateVideo(context, undefined, options, () => context.reelgate.videos.remix(id, text));
      }),
    );
}

/** Of a pipe whose first command failed, nothing arrives: a video without a prompt would be generated and charged. */
async function readPrompt(argument: string, { interruptSignal }: CommandContext): Promise<string> {
  const prompt = await readTextArgument(argument, interruptSignal);
  if (argument === '-' && prompt.trim() === '') throw new UsageError('There is no text.');
  return prompt;
}

interface ChangeCommandOptions extends WaitOptions {
  readonly model?: string;
  readonly seconds?: number;
}

/** `reelgate video edit` and `reelgate video extend` */
function addChangeCommands(video: Command, run: RunCommand): void {
  for (const [name, what, description] of [
    ['edit', 'what to change; - reads it from standard input', 'Edit a finished video or a file'],
    ['extend', 'what happens next; - reads it from standard input', 'Continue a finished video or a file'],
  ] as const) {
    const command = addWaitOptions(video.command(name))
      .argument('<source>', 'the id of a finished video or of a file, or a path')
      .argument('<prompt>', what)
      .option('-m, --model <id>', 'the model; default: the one of the video')
      .description(description);
    if (name === 'extend') command.option('-s, --seconds <n>', 'length of the new part', parsePositiveInteger);
    command.action((source: string, prompt: string, options: ChangeCommandOptions, given: Command) =>
      run(given, async (context) => {
        const { model, seconds } = options;
        const text = await readPrompt(prompt, context);
        await generateVideo(context, model, options, async () => {
          const id = (await uploadSource(context, source, model)) ?? source;
          return context.reelgate.videos[name](id, text, { model, seconds });
        });
      }),
    );
  }
}

/**
 * Uploads the video at a path.
 *
 * @returns the id of the uploaded file; undefined if there is no such path, which then is an id
 */
async function uploadSource(
  { reelgate, output }: CommandContext,
  path: string,
  model: string | undefined,
): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || found.isDirectory()) return undefined;
  if (model === undefined) throw new UsageError('A file needs a model: choose one with --model.');
  const { openUploadSource } = await import('../upload-source.ts');
  const { id } = await reelgate.files.create({ ...(await openUploadSource(path)), purpose: 'user_data' });
  output.info(phrase`File ${id}`);
  return id;
}

interface ListOptions {
  readonly limit: number;
  readonly page?: number;
  readonly after?: string;
  readonly collection?: number;
}

/** A video of the account or of an API key; a key does not have access to the cost. */
interface VideoSummary extends Video {
  /** Cost in quota; 0 for a failed video. */
  readonly quota?: number;
  /** Reason of a failure, in terms common to all vendors. */
  readonly cause?: FailureCause;
  /** The member who submitted it for an organization. */
  readonly submitted_by?: string;
}

/** `reelgate video list` and `reelgate video get` */
function addOwnVideoCommands(video: Command, run: RunCommand): void {
  video
    .command('list')
    .option('-n, --limit <n>', 'how many, at most 50 when signed in', parsePositiveInteger, 20)
    .option('--page <n>', 'the page, when signed in', parsePositiveInteger)
    .option('--after <id>', 'those older than this one, with REELGATE_API_KEY')
    .option('--collection <id>', 'those of a collection, when signed in', parseRowId)
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
                Space: phrase`${formatBytes(storage.used_bytes)} of ${formatBytes(storage.limit_bytes)}`,
                Kept: storage.days === 0 ? word('indefinitely') : phrase`${storage.days} days`,
              })
            : 'This service keeps no copies: videos are served by their vendors.',
        );
      }),
    );
}

async function listOfKey({ reelgate, output }: CommandContext, { limit, page, after }: ListOptions): Promise<void> {
  if (page !== undefined) throw new UsageError('--page is for a sign-in. With REELGATE_API_KEY use --after.');
  const { data, has_more } = await reelgate.videos.list({ limit, after });
  output.list(data, formatList(data), NONE);
  if (has_more) output.info(`There are older ones: --after ${data.at(-1)?.id}`);
}

async function listOfAccount(
  context: CommandContext,
  { limit, page = 1, after, collection }: ListOptions,
): Promise<void> {
  if (after !== undefined) throw new UsageError('--after is for REELGATE_API_KEY. When signed in use --page.');
  const pageSize = Math.min(50, limit);
  const { data, total } = await context.reelgate.account.videos({ page, pageSize, collection });
  const videos = data.map(toSummary);
  context.output.list(videos, formatList(videos), NONE);
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

function formatList(videos: readonly VideoSummary[]): Rendering {
  const author = authorColumn(videos, (video) => video.submitted_by);
  return formatTable(
    ['TASK', 'STATUS', 'MODEL', 'STARTED', 'PROMPT', 'REASON', ...author.head],
    videos.map((each) => [
      each.id,
      styledStatus(each),
      each.model,
      each.created_at > 0 ? relativeTime(each.created_at) : '',
      shorten(each.prompt ?? ''),
      each.cause === undefined ? (each.error?.message ?? '') : word(FAILURES_EN[each.cause].text),
      ...author.cells(each),
    ]),
  );
}

const PROMPT_LENGTH = 48;

/** The start of a prompt in one line. */
const shorten = (prompt: string): string => {
  const line = prompt.replace(/\s+/g, ' ').trim();
  return line.length > PROMPT_LENGTH ? `${line.slice(0, PROMPT_LENGTH - 1)}…` : line;
};

const formatDetails = (video: VideoSummary, cost?: Text): Rendering =>
  formatKeyValues({
    Task: video.id,
    Status: styledStatus(video),
    Model: video.model,
    Member: video.submitted_by,
    Prompt: video.prompt ?? undefined,
    Cost: cost,
    Started: video.created_at > 0 ? relativeTime(video.created_at) : undefined,
    Reason: video.cause && word(FAILURES_EN[video.cause].text),
    'What to do': video.cause && word(FAILURES_EN[video.cause].advice),
    Vendor: [video.error?.code, video.error?.message].filter(Boolean).join(' '),
    URL: video.metadata?.url,
  });

/**
 * Failed videos cost nothing, unfinished ones have their price reserved, and imported ones were charged by another
 * program.
 */
function formatCost({ status, quota, refunded, imported }: OwnVideoDetail, credits: CreditFormat): Text {
  if (imported) return phrase`${credits(quota)}, before the import`;
  if (refunded || status === 'FAILURE') return word('not charged');
  return status === 'SUCCESS' ? credits(quota) : phrase`${credits(quota)}, reserved`;
}

/** Converts a video of the account to the keys of a video object. `fail_reason` of a success is the video's URL. */
function toSummary(own: OwnVideo): VideoSummary {
  const failed = own.status === 'FAILURE';
  return {
    id: own.task_id,
    // A task that has not started is `unknown` in the contract's table, but one that waits in the queue is `queued`.
    status: own.queue === undefined ? OPENAI_STATUS[own.status] : 'queued',
    progress: Number.parseInt(own.progress, 10) || 0,
    model: own.model,
    created_at: own.submit_time,
    prompt: own.prompt,
    quota: own.quota,
    queue: own.queue,
    submitted_by: own.submitted_by,
    ...(failed && {
      error: { message: own.fail_reason, code: own.error_code || undefined },
      cause: own.fail_cause || 'unknown',
    }),
  };
}

interface ShareOptions {
  readonly expires?: number;
  /** True: prompts for the password. */
  readonly password?: string | true;
  readonly title?: string;
}

const SECONDS_BY_UNIT = { m: 60, h: 3_600, d: 86_400 } as const;

/** Converts `30m`, `12h` or `7d` to seconds. */
function parsePeriod(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('Give a number with m, h or d, such as 7d.');
  return Number(count) * SECONDS_BY_UNIT[unit as keyof typeof SECONDS_BY_UNIT];
}

/** `reelgate video share`, `shares` and `unshare` */
function addShareCommands(video: Command, run: RunCommand): void {
  video
    .command('share')
    .argument('<id>', 'the task id of a finished video')
    .option(
      '--expires <period>',
      'how long the link works, such as 12h or 7d; default: until the video is deleted',
      parsePeriod,
    )
    .option(
      '--password [password]',
      'asked for before the video is shown; without a value it is read from the terminal',
    )
    .option('--title <text>', 'shown on the page; default: none')
    .description('Create a link by which anyone who has it can watch a video; needs a sign-in')
    .action((id: string, { expires, password, title }: ShareOptions, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const given = password === true ? await readPassword() : password;
        const made = await reelgate.shares.create(id, { expires_in_seconds: expires, password: given, title });
        output.result(made, made.url);
      }),
    );
  video
    .command('shares')
    .argument('[id]', 'a task id; default: all videos')
    .description('List the links that work')
    .action((id: string | undefined, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const shares = await reelgate.shares.list(id);
        output.list(shares, formatShares(shares), 'No links. Create one with "reelgate video share ID".');
      }),
    );
  video
    .command('unshare')
    .argument('<id>', 'a task id')
    .argument('<share>', 'an id from "reelgate video shares"', parseRowId)
    .description('Revoke a link at once')
    .action((id: string, share: number, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        await reelgate.shares.revoke(id, share);
        output.result({ id: share, removed: true }, `Link ${share} was revoked.`);
      }),
    );
}

async function readPassword(): Promise<string> {
  if (!canPrompt()) throw new UsageError('There is no terminal to ask for the password: give it a value.');
  return askPassword('Password of the link');
}

const formatShares = (shares: readonly ShareInfo[]): Rendering =>
  formatTable(
    ['ID', 'VIDEO', 'URL', 'UNTIL', 'PASSWORD'],
    shares.map(({ id, task_id, url, expires_at, has_password }) => [
      String(id),
      task_id,
      url,
      expires_at === null ? word('the video ends') : dateTime(expires_at),
      has_password ? word('yes') : word('no'),
    ]),
  );

const count = (howMany: number | null): Text => (howMany === null ? word('any number') : String(howMany));

const WINDOW_LABELS = {
  day: 'Allowance of the day',
  interval: 'Allowance of the period',
  week: 'Allowance of the week',
  month: 'Allowance of the month',
} as const;

const LIMIT_LABELS = {
  account: 'Spend limit of the account',
  key: 'Spend limit of the key',
  member: 'Spend limit of the member',
} as const;

/** Prints the estimated cost of a video and the number of videos the account can afford. Nothing is started. */
async function showQuote(context: CommandContext, request: CreateVideoRequest): Promise<void> {
  const { reelgate, output } = context;
  const quote = await reelgate.videos.quote(request).catch((error: unknown) => {
    throw addOptionToError(error);
  });
  const [credits, typical] = await Promise.all([
    loadCreditFormat(reelgate),
    findTypicalGenerationTime(context, request.model),
  ]);
  output.result({ ...quote, typical: typical ?? null }, formatQuote(quote, typical, credits));
}

const formatQuote = (quote: VideoQuote, typical: VideoDuration | undefined, credits: CreditFormat): Rendering =>
  formatKeyValues({
    Cost: credits(quote.quota),
    'From the allowance': quote.windows.length === 0 ? undefined : credits(quote.from_allowance),
    'From the balance': credits(quote.from_wallet),
    'You can make': phrase`${count(quote.how_many_now)} now, ${count(quote.how_many_today)} today`,
    ...Object.fromEntries(
      quote.windows.map((window) => [
        WINDOW_LABELS[window.kind],
        phrase`${credits(window.left)} of ${credits(window.limit)} left, full again ${formatDateTime(window.full_again)}`,
      ]),
    ),
    Balance: credits(quote.balance),
    'Left of the key': quote.key_left === null ? undefined : credits(quote.key_left),
    ...Object.fromEntries(
      quote.spend_limits.map((limit) => [
        LIMIT_LABELS[limit.of],
        phrase`${credits(limit.left)} of ${credits(limit.amount)} left, renews ${formatDateTime(limit.renews_at)}`,
      ]),
    ),
    'Usually takes': typical === undefined ? undefined : formatDuration(typical.p50_seconds),
  });
