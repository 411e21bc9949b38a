import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { BATCH_ENDPOINTS, type BatchEndpoint } from '../../contract/batch-endpoints.ts';
import type { BatchInfo, SheetInfo } from '../../sdk/index.ts';
import { parseCredits, parsePositiveInteger } from '../argument-parsers.ts';
import type { CommandContext } from '../command-context.ts';
import { type CreditFormat, loadCreditFormat, toQuota } from '../credit-format.ts';
import { authorColumn, dateTime, formatTable, joinTexts, phrase, type Rendering, word } from '../output.ts';
import type { RunCommand } from '../run-command.ts';

interface CreateOptions {
  readonly endpoint: BatchEndpoint;
  readonly model?: string;
  /** Credits. */
  readonly budget?: number;
  readonly window?: string;
  readonly dryRun?: true;
  readonly wait: boolean;
}

/** `reelgate batch …` */
export function addBatchCommands(program: Command, run: RunCommand): void {
  const batch = program
    .command('batch')
    .description('Many requests from one file')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate batch create prompts.csv --model sora-2 --dry-run
  $ reelgate batch create prompts.csv --model sora-2
  $ reelgate batch create lines.jsonl --endpoint /v1/chat/completions
  $ reelgate batch results batch_abc --out results.csv`,
    );
  addCreateCommand(batch, run);
  batch
    .command('list', { isDefault: true })
    .option('--limit <count>', 'how many', parsePositiveInteger, 20)
    .description('List your batches, newest first')
    .action(({ limit }: { readonly limit: number }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const { data } = await reelgate.batches.list({ limit: Math.min(limit, 100) });
        const none = 'No batches. Start one with "reelgate batch create FILE".';
        output.list(data, formatBatches(data), none);
      }),
    );
  for (const [name, description] of [
    ['get', 'Show a batch'],
    ['wait', 'Wait until a batch has ended'],
    ['cancel', 'Start no new line and refund waiting videos'],
    ['pause', 'Start no new line until it is resumed'],
    ['resume', 'Resume a paused batch'],
    ['retry', 'Repeat the failed lines of an ended batch as a new one'],
  ] as const)
    batch
      .command(name)
      .argument('<id>', 'an id from the list')
      .description(description)
      .action((id: string, _options: unknown, command: Command) =>
        run(command, async (context) => {
          const { reelgate, output } = context;
          const shown = name === 'wait' ? await waitFor(context, id) : await reelgate.batches[name](id);
          output.result(shown, describe(shown));
        }),
      );
  batch
    .command('results')
    .argument('<id>', 'an id from the list')
    .requiredOption('--out <path>', 'where to save the CSV')
    .option('--force', 'replace an existing file')
    .description('Save the results of a batch as CSV')
    .action((id: string, options: { readonly out: string; readonly force?: true }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const { assertWritable, saveBody } = await import('../video-download.ts');
        await assertWritable(options);
        await saveBody(await reelgate.batches.results(id), options.out);
        output.result({ id, file: options.out }, `Saved ${options.out}.`);
      }),
    );
}

function addCreateCommand(batch: Command, run: RunCommand): void {
  batch
    .command('create')
    .argument('<file>', 'CSV with a row for each video, or JSONL in the form of the Batch API')
    .addOption(new Option('--endpoint <path>', 'of JSONL').choices([...BATCH_ENDPOINTS]).default('/v1/videos'))
    .option('--model <id>', 'of CSV rows that name none')
    .option('--budget <credits>', 'start no line that would exceed these credits', parseCredits)
    .option('--window <time>', 'until the batch expires, such as 24h or 7d')
    .option('--dry-run', 'check and price a CSV file only')
    .option('--no-wait', 'print the id and exit')
    .description('Start a batch')
    .action((file: string, options: CreateOptions, command: Command) =>
      run(command, async (context) => {
        const { output, reelgate } = context;
        const budget = await toQuota(reelgate, options.budget);
        const isSheet = /\.(csv|tsv)$/i.test(file);
        const started = await (isSheet ? startSheet : startLines)(context, file, options, budget);
        if (started === undefined) return;
        if (options.wait) output.info(phrase`Batch ${started.id}`);
        const shown = options.wait ? await waitFor(context, started.id) : started;
        output.result(shown, options.wait ? describe(shown) : shown.id);
      }),
    );
}

/** Undefined where nothing was to be started, or a row has errors. */
async function startSheet(
  { reelgate, output }: CommandContext,
  file: string,
  { model, window, dryRun }: CreateOptions,
  budget: number | undefined,
): Promise<BatchInfo | undefined> {
  const csv = await readFile(file, 'utf8');
  const start = dryRun !== true;
  const sheet = await reelgate.batches.checkSheet({ csv, model, budget, completion_window: window, start });
  if (sheet.batch !== null) return sheet.batch;
  output.result(sheet, describeSheet(sheet, await loadCreditFormat(reelgate)));
  if (sheet.invalid > 0) process.exitCode = 1;
  return undefined;
}

async function startLines(
  { reelgate }: CommandContext,
  file: string,
  { endpoint, window }: CreateOptions,
  budget: number | undefined,
): Promise<BatchInfo> {
  const { openUploadSource } = await import('../upload-source.ts');
  const { id } = await reelgate.files.create({ ...(await openUploadSource(file)), purpose: 'batch' });
  return reelgate.batches.create({ inputFileId: id, endpoint, budget, completionWindow: window });
}

async function waitFor({ reelgate, output, interruptSignal: signal }: CommandContext, id: string): Promise<BatchInfo> {
  try {
    return await reelgate.batches.wait(id, {
      signal,
      onProgress: (batch) => output.status(describe(batch)),
      onPollError: ({ message }) => output.status(`${message} The batch continues; polling again …`),
    });
  } finally {
    output.clearStatus();
  }
}

/** One line about a batch. */
function describe({
  id,
  status,
  request_counts: { total, completed, failed },
  paused_at,
  errors,
}: BatchInfo): Rendering {
  const [first] = errors?.data ?? [];
  const state = word(paused_at !== null && status === 'in_progress' ? 'paused' : status);
  const line = phrase`${id} ${state}: ${completed} of ${total} completed, ${failed} failed.`;
  return first === undefined ? line : phrase`${line} Line ${first.line ?? '-'}: ${first.message}`;
}

function describeSheet({ rows, valid, invalid, quota }: SheetInfo, credits: CreditFormat): Rendering {
  const defects = rows.flatMap(({ line, errors }) =>
    errors.map(({ column, message }) =>
      column === null ? phrase`Line ${line}: ${message}` : phrase`Line ${line}, ${column}: ${message}`,
    ),
  );
  const total = phrase`${valid} valid rows, ${invalid} with errors. Cost: ${credits(quota)}. Nothing was started.`;
  return joinTexts([...defects, total], '\n');
}

function formatBatches(rows: readonly BatchInfo[]): Rendering {
  const author = authorColumn(rows, (row) => row.submitted_by);
  return formatTable(
    ['ID', 'STATUS', 'ENDPOINT', 'DONE', 'FAILED', 'TOTAL', 'CREATED', ...author.head],
    rows.map((row) => [
      row.id,
      word(row.status),
      row.endpoint,
      String(row.request_counts.completed),
      String(row.request_counts.failed),
      String(row.request_counts.total),
      dateTime(row.created_at),
      ...author.cells(row),
    ]),
  );
}
