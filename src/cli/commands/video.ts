import { type Command, Option } from 'commander';
import { formatBytes } from '../format-times-and-sizes.ts';
import {
  addGenerationOptions,
  addOptionToError,
  type GenerationOptions,
  toCreateRequest,
} from '../generation-options.ts';
import type { RunCommand } from '../run-command.ts';
import { showQuote } from '../show-video-quote.ts';
import { addWaitOptions, type WaitOptions } from '../wait-options.ts';
import { addOwnVideoCommands } from './video-list-get-and-storage.ts';
import { addShareCommands } from './video-shares.ts';

interface CreateOptions extends WaitOptions, GenerationOptions {
  readonly model?: string;
  readonly wait: boolean;
  readonly dryRun?: boolean;
}

/** Loaded when a command runs: printing help does not need it. */
const importWait = () => import('../wait-for-and-save-video.ts');

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
    .argument('<prompt>', 'what the video shows')
    .addOption(new Option('--no-wait', 'print the task id and do not wait').conflicts('out'))
    .option('--dry-run', 'show what it would cost and how many you can make; start nothing')
    .description('Generate a video and wait for it')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate video create "a cat on a red sofa" --model kling-v3 --out cat.mp4
  $ reelgate video create "she turns her head" --model kling-v3 --image first.png --seconds 5 --out turn.mp4
  $ ID=$(reelgate video create "a kite" --model kling-v3 --no-wait) && reelgate video wait "$ID" --out kite.mp4`,
    )
    .action((prompt: string, options: CreateOptions, command: Command) =>
      run(command, async (context) => {
        const { reelgate, output, interruptSignal: signal } = context;
        const { requireModel } = await import('../default-model-settings.ts');
        const { assertWritable, waitForVideo } = await importWait();
        const model = await requireModel(context, 'video', options.model);
        const request = await toCreateRequest(context, model, prompt, options);
        if (options.dryRun === true) return showQuote(context, request);
        await assertWritable(options);
        const { id } = await reelgate.videos.create(request, { signal }).catch((error: unknown) => {
          throw addOptionToError(error);
        });
        if (!options.wait) return output.result({ id }, id);
        output.info(`Task ${id}`);
        await waitForVideo(context, id, model, options);
      }),
    );

  addWaitOptions(video.command('wait'))
    .argument('<id>', 'a task id')
    .description('Wait for a task that was started before')
    .action((id: string, options: WaitOptions, command: Command) =>
      run(command, async (context) => {
        const { assertWritable, waitForVideo } = await importWait();
        await assertWritable(options);
        await waitForVideo(context, id, '', options);
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
        const { assertWritable, downloadTo } = await importWait();
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
    .description('Generate a new video from a finished one')
    .action((id: string, prompt: string, options: WaitOptions, command: Command) =>
      run(command, async (context) => {
        const { assertWritable, waitForVideo } = await importWait();
        await assertWritable(options);
        const started = await context.reelgate.videos.remix(id, prompt);
        context.output.info(`Task ${started.id}`);
        await waitForVideo(context, started.id, '', options);
      }),
    );
}
