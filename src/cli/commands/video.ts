import { access, constants, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Command, Option } from 'commander';
import { defined } from '../../contract/defined.ts';
import type { CreateVideoRequest } from '../../sdk/index.ts';
import {
  addWaitOptions,
  collectValues,
  parseJsonObject,
  parsePositiveInteger,
  type WaitOptions,
} from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { download } from '../download.ts';
import { resumeHint } from '../error-report.ts';
import { UsageError } from '../errors.ts';
import { formatBytes, formatVideoStatus } from '../format.ts';
import { InterruptedError } from '../interrupt.ts';
import type { RunCommand } from '../run-command.ts';
import { addOwnVideoCommands } from './own-videos.ts';
import { showQuote } from './video-quote.ts';
import { addShareCommands } from './video-shares.ts';

interface CreateOptions extends WaitOptions {
  readonly model: string;
  readonly image: readonly string[];
  readonly seconds?: number;
  readonly size?: string;
  readonly mode?: string;
  readonly metadata?: { [key: string]: unknown };
  readonly wait: boolean;
  readonly dryRun?: boolean;
}

/** `reelgate video …` */
export function addVideoCommands(program: Command, run: RunCommand): void {
  const video = program.command('video').description('Make, follow and download videos');

  addWaitOptions(video.command('create'))
    .argument('<prompt>', 'what the video shows')
    .requiredOption('-m, --model <id>', 'the model; see "reelgate models"')
    .option(
      '-i, --image <file or URL>',
      'an image: the first frame, a second one the last frame; repeatable',
      collectValues,
      [],
    )
    .option('-s, --seconds <n>', 'length in seconds', parsePositiveInteger)
    .option('--size <size>', 'such as 1280x720 or 720P')
    .option('--mode <mode>', 'quality mode, where the model has one')
    .option('--metadata <json>', "the vendor's own parameters as a JSON object", parseJsonObject)
    .addOption(new Option('--no-wait', 'print the task id and do not wait').conflicts('out'))
    .option('--dry-run', 'show what it would cost and how many you can make; start nothing')
    .description('Make a video and wait for it')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate video create "a cat on a red sofa" --model kling-v3 --out cat.mp4
  $ reelgate video create "she turns her head" --model kling-v1-6 --image first.png --seconds 5 --out turn.mp4
  $ ID=$(reelgate video create "a kite" --model kling-v3 --no-wait) && reelgate video wait "$ID" --out kite.mp4`,
    )
    .action((prompt: string, options: CreateOptions, command: Command) =>
      run(command, async (context) => {
        const { reelgate, output, interruptSignal: signal } = context;
        if (options.dryRun === true) return showQuote(context, await toCreateRequest(prompt, options));
        await assertWritable(options);
        const { id } = await reelgate.videos.create(await toCreateRequest(prompt, options), { signal });
        if (!options.wait) return output.result({ id }, id);
        output.info(`Task ${id}`);
        await waitForVideo(context, id, options);
      }),
    );

  addWaitOptions(video.command('wait'))
    .argument('<id>', 'a task id')
    .description('Wait for a task that was started before')
    .action((id: string, options: WaitOptions, command: Command) =>
      run(command, async (context) => {
        await assertWritable(options);
        await waitForVideo(context, id, options);
      }),
    );

  addOwnVideoCommands(video, run);
  addShareCommands(video, run);

  video
    .command('download')
    .argument('<id>', 'a task id')
    .requiredOption('-o, --out <file>', 'where to save it')
    .option('-f, --force', 'replace the file if it exists')
    .description('Download a finished video; an interrupted download is resumed')
    .action((id: string, options: { out: string; force?: boolean }, command: Command) =>
      run(command, async (context) => {
        await assertWritable(options);
        const bytes = await downloadTo(context, id, options.out);
        context.output.result({ id, file: options.out, bytes }, `Saved ${options.out} (${formatBytes(bytes)}).`);
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

  addWaitOptions(video.command('remix'))
    .argument('<id>', 'a finished Sora-style task')
    .argument('<prompt>', 'what to change')
    .description('Make a new video from a finished one')
    .action((id: string, prompt: string, options: WaitOptions, command: Command) =>
      run(command, async (context) => {
        await assertWritable(options);
        const started = await context.reelgate.videos.remix(id, prompt);
        context.output.info(`Task ${started.id}`);
        await waitForVideo(context, started.id, options);
      }),
    );
}

async function waitForVideo(context: CommandContext, id: string, options: WaitOptions): Promise<void> {
  const { reelgate, output, interruptSignal: signal } = context;
  const startedAt = Date.now();
  const waiting = reelgate.videos.wait(id, {
    signal,
    timeoutMs: options.timeout * 1000,
    intervalMs: options.every && options.every * 1000,
    onProgress: (video) =>
      output.status(
        `${formatVideoStatus(video)} · ${Math.round((Date.now() - startedAt) / 1000)} s`,
        formatVideoStatus(video),
      ),
    onPollError: ({ message }) => output.status(`${message} The task continues; polling again …`),
  });
  const done = await waiting.catch((error: unknown) => {
    if (!signal.aborted) throw error;
    output.clearStatus();
    output.info(resumeHint(id));
    throw new InterruptedError(id);
  });
  output.clearStatus();
  if (options.out === undefined) {
    const hint = `Done. Download it with "reelgate video download ${id} --out ${id}.mp4".`;
    return output.result(done, done.metadata?.url ?? hint);
  }
  const bytes = await downloadTo(context, id, options.out);
  output.result({ ...done, file: options.out, bytes }, `Saved ${options.out} (${formatBytes(bytes)}).`);
}

async function downloadTo(
  { reelgate, output, interruptSignal }: CommandContext,
  id: string,
  out: string,
): Promise<number> {
  const bytes = await download(reelgate, id, out, {
    signal: interruptSignal,
    onProgress: (received, total) =>
      output.status(
        `downloading ${formatBytes(received)}${total === undefined ? '' : ` of ${formatBytes(total)}`}`,
        'downloading',
      ),
  });
  output.clearStatus();
  return bytes;
}

/** Checked before anything is charged: the file can be written, and no other file is overwritten. */
async function assertWritable({ out, force }: { readonly out?: string; readonly force?: boolean }): Promise<void> {
  if (out === undefined) return;
  const found = await stat(out).catch(() => undefined);
  if (found?.isDirectory() === true) throw new UsageError(`${out} is a folder. Name a file in it.`);
  if (found !== undefined && force !== true) throw new UsageError(`${out} exists. Replace it with --force.`);
  await access(dirname(out), constants.W_OK);
}

async function toCreateRequest(prompt: string, options: CreateOptions): Promise<CreateVideoRequest> {
  const images = await Promise.all(options.image.map(toImage));
  const { model, seconds: duration, size, mode, metadata } = options;
  const [image] = images.length === 1 ? images : [];
  return defined({
    model,
    prompt,
    image,
    images: images.length > 1 ? images : undefined,
    duration,
    size,
    mode,
    metadata,
  });
}

/** A URL is passed on unchanged, a file is sent as Base64. */
const toImage = async (image: string): Promise<string> =>
  /^https?:\/\//i.test(image) ? image : (await readFile(image)).toString('base64');
