import { readFile, stat } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CreateVideo, Reelgate, Video } from '../../sdk/index.ts';
import { download } from '../download.ts';
import type { RunCommand } from '../main.ts';
import type { Output } from '../output.ts';
import { interruptSignal } from '../session.ts';

interface CreateOptions {
  readonly model: string;
  readonly out?: string;
  readonly image: readonly string[];
  readonly seconds?: number;
  readonly size?: string;
  readonly mode?: string;
  readonly metadata?: { [key: string]: unknown };
  readonly wait: boolean;
  readonly timeout: number;
  readonly force?: boolean;
}

const wholeNumber = (text: string): number => {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
};
const jsonObject = (text: string): { [key: string]: unknown } => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as { [key: string]: unknown };
  } catch {
    // Told below: whatever is wrong with it, it is no JSON object.
  }
  throw new InvalidArgumentError('Give a JSON object, such as \'{"aspect_ratio":"9:16"}\'.');
};
const collect = (value: string, list: readonly string[]): readonly string[] => [...list, value];

/** `reelgate video …` */
export function addVideoCommands(program: Command, run: RunCommand): void {
  const video = program.command('video').description('Make, watch and fetch videos');

  video
    .command('create')
    .argument('<prompt>', 'what the video shows')
    .requiredOption('-m, --model <id>', 'the model; see "reelgate models"')
    .option('-o, --out <file>', 'save the finished video here')
    .option('-i, --image <file or URL>', 'a picture: the first frame, a second one the last; repeatable', collect, [])
    .option('-s, --seconds <n>', 'length in seconds', wholeNumber)
    .option('--size <size>', 'such as 1280x720 or 720P')
    .option('--mode <mode>', 'quality mode, where the model has one')
    .option('--metadata <json>', "the vendor's own parameters as a JSON object", jsonObject)
    .addOption(new Option('--no-wait', 'print the task id and do not wait').conflicts('out'))
    .option('--timeout <seconds>', 'longest wait', wholeNumber, 900)
    .option('-f, --force', 'replace the file if it exists')
    .description('Make a video and wait for it')
    .action((prompt: string, options: CreateOptions, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        if (options.out !== undefined && options.force !== true) await refuseExisting(options.out);
        const signal = interruptSignal();
        const { id } = await reelgate.videos.create(await toWish(prompt, options), { signal });
        if (!options.wait) return output.result({ id }, id);
        output.say(`Task ${id}`);
        await follow(reelgate, output, id, { ...options, signal });
      }),
    );

  video
    .command('wait')
    .argument('<id>', 'a task id')
    .option('-o, --out <file>', 'save the finished video here')
    .option('--timeout <seconds>', 'longest wait', wholeNumber, 900)
    .description('Wait for a task that was started before')
    .action((id: string, options: { out?: string; timeout: number }, command: Command) =>
      run(command, ({ reelgate, output }) => follow(reelgate, output, id, { ...options, signal: interruptSignal() })),
    );

  video
    .command('get')
    .argument('<id>', 'a task id')
    .description('Show a task')
    .action((id: string, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const found = await reelgate.videos.get(id);
        output.result(found, toLine(found));
      }),
    );

  video
    .command('list')
    .option('-n, --limit <n>', 'how many', wholeNumber, 20)
    .option('--after <id>', 'those older than this one')
    .description('List the videos of this sign-in, newest first')
    .action((options: { limit: number; after?: string }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const page = await reelgate.videos.list(options);
        output.result(page.data, page.data.length === 0 ? 'No videos yet.' : page.data.map(toLine).join('\n'));
      }),
    );

  video
    .command('download')
    .argument('<id>', 'a task id')
    .requiredOption('-o, --out <file>', 'where to save it')
    .option('-f, --force', 'replace the file if it exists')
    .description('Fetch a finished video; a broken download goes on where it stopped')
    .action((id: string, options: { out: string; force?: boolean }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        if (options.force !== true) await refuseExisting(options.out);
        await save(reelgate, output, id, options.out, interruptSignal());
        output.result({ id, file: options.out }, options.out);
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
    .command('remix')
    .argument('<id>', 'a finished Sora-style task')
    .argument('<prompt>', 'what to change')
    .option('-o, --out <file>', 'save the finished video here')
    .option('--timeout <seconds>', 'longest wait', wholeNumber, 900)
    .description('Make a new video from a finished one')
    .action((id: string, prompt: string, options: { out?: string; timeout: number }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const started = await reelgate.videos.remix(id, prompt);
        output.say(`Task ${started.id}`);
        await follow(reelgate, output, started.id, { ...options, signal: interruptSignal() });
      }),
    );
}

async function follow(
  reelgate: Reelgate,
  output: Output,
  id: string,
  options: { readonly out?: string; readonly timeout: number; readonly signal: AbortSignal },
): Promise<void> {
  const startedAt = Date.now();
  const done = await reelgate.videos.wait(id, {
    signal: options.signal,
    timeoutMs: options.timeout * 1000,
    onProgress: (video) =>
      output.live(
        `${video.status.replace('_', ' ')} ${video.progress}% · ${Math.round((Date.now() - startedAt) / 1000)} s`,
      ),
  });
  if (options.out === undefined)
    return output.result(done, `Done: ${done.metadata?.url ?? `reelgate video download ${id} --out ${id}.mp4`}`);
  const bytes = await save(reelgate, output, id, options.out, options.signal);
  output.result({ ...done, file: options.out, bytes }, `Saved ${options.out} (${toSize(bytes)}).`);
}

const save = (reelgate: Reelgate, output: Output, id: string, out: string, signal: AbortSignal): Promise<number> =>
  download(reelgate, id, out, {
    signal,
    onProgress: (received, total) =>
      output.live(`downloading ${toSize(received)}${total === undefined ? '' : ` of ${toSize(total)}`}`),
  });

async function refuseExisting(path: string): Promise<void> {
  const exists = await stat(path).then(
    () => true,
    () => false,
  );
  if (exists) throw new Error(`${path} exists. Replace it with --force.`);
}

async function toWish(prompt: string, options: CreateOptions): Promise<CreateVideo> {
  const images = await Promise.all(options.image.map(toImage));
  return {
    model: options.model,
    prompt,
    ...(images.length === 1 && images[0] !== undefined ? { image: images[0] } : {}),
    ...(images.length > 1 ? { images } : {}),
    ...(options.seconds === undefined ? {} : { duration: options.seconds }),
    ...(options.size === undefined ? {} : { size: options.size }),
    ...(options.mode === undefined ? {} : { mode: options.mode }),
    ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
  };
}

/** An address goes as it is, a file as Base64. */
const toImage = async (image: string): Promise<string> =>
  /^https?:\/\//i.test(image) ? image : (await readFile(image)).toString('base64');

const toLine = (video: Video): string =>
  [video.id, video.status.padEnd(11), `${video.progress}%`.padStart(4), video.model, video.error?.message ?? '']
    .join('  ')
    .trimEnd();

const toSize = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
