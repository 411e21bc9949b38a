import { access, constants, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CreateVideo, Video } from '../../sdk/index.ts';
import { download } from '../download.ts';
import { adviceToWait, UsageError } from '../failures.ts';
import { Interrupted } from '../interrupted.ts';
import type { RunCommand } from '../run.ts';
import type { Session } from '../session.ts';
import { toAge, toFacts, toSize, toTable } from '../text.ts';

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
  readonly every?: number;
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
    .option('--every <seconds>', 'between two looks; default: as the service advises, 10 to 30', wholeNumber)
    .option('-f, --force', 'replace the file if it exists')
    .description('Make a video and wait for it')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate video create "a cat on a red sofa" --model sora-2 --out cat.mp4
  $ reelgate video create "she turns her head" --model kling-v1-6 --image first.png --seconds 5 --out turn.mp4
  $ ID=$(reelgate video create "a kite" --model sora-2 --no-wait) && reelgate video wait "$ID" --out kite.mp4`,
    )
    .action((prompt: string, options: CreateOptions, command: Command) =>
      run(command, async (session) => {
        const { reelgate, output, interrupted: signal } = session;
        await assertWritable(options);
        const { id } = await reelgate.videos.create(await toWish(prompt, options), { signal });
        if (!options.wait) return output.result({ id }, id);
        output.say(`Task ${id}`);
        await follow(session, id, options);
      }),
    );

  video
    .command('wait')
    .argument('<id>', 'a task id')
    .option('-o, --out <file>', 'save the finished video here')
    .option('--timeout <seconds>', 'longest wait', wholeNumber, 900)
    .option('--every <seconds>', 'between two looks; default: as the service advises, 10 to 30', wholeNumber)
    .option('-f, --force', 'replace the file if it exists')
    .description('Wait for a task that was started before')
    .action((id: string, options: FollowOptions, command: Command) =>
      run(command, async (session) => {
        await assertWritable(options);
        await follow(session, id, options);
      }),
    );

  video
    .command('get')
    .argument('<id>', 'a task id')
    .description('Show a task')
    .action((id: string, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const found = await reelgate.videos.get(id);
        output.result(
          found,
          toFacts({
            Task: found.id || id,
            Status: toStatus(found),
            Model: found.model,
            Started: found.created_at > 0 ? toAge(found.created_at) : undefined,
            Reason: found.error?.message,
            Address: found.metadata?.url,
          }),
        );
      }),
    );

  video
    .command('list')
    .option('-n, --limit <n>', 'how many', wholeNumber, 20)
    .option('--after <id>', 'those older than this one')
    .description('List your videos, newest first')
    .action((options: { limit: number; after?: string }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const { data, has_more } = await reelgate.videos.list(options);
        output.result(
          data,
          data.length === 0
            ? 'No videos yet. Make one with "reelgate video create".'
            : toTable(
                ['TASK', 'STATUS', 'MODEL', 'STARTED', 'REASON'],
                data.map((each) => [
                  each.id,
                  toStatus(each),
                  each.model,
                  each.created_at > 0 ? toAge(each.created_at) : '',
                  each.error?.message ?? '',
                ]),
              ),
        );
        if (has_more) output.say(`There are older ones: --after ${data.at(-1)?.id}`);
      }),
    );

  video
    .command('download')
    .argument('<id>', 'a task id')
    .requiredOption('-o, --out <file>', 'where to save it')
    .option('-f, --force', 'replace the file if it exists')
    .description('Fetch a finished video; a broken download goes on where it stopped')
    .action((id: string, options: { out: string; force?: boolean }, command: Command) =>
      run(command, async (session) => {
        await assertWritable(options);
        const bytes = await save(session, id, options.out);
        session.output.result({ id, file: options.out, bytes }, `Saved ${options.out} (${toSize(bytes)}).`);
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
    .option('--every <seconds>', 'between two looks; default: as the service advises, 10 to 30', wholeNumber)
    .option('-f, --force', 'replace the file if it exists')
    .description('Make a new video from a finished one')
    .action((id: string, prompt: string, options: FollowOptions, command: Command) =>
      run(command, async (session) => {
        await assertWritable(options);
        const started = await session.reelgate.videos.remix(id, prompt);
        session.output.say(`Task ${started.id}`);
        await follow(session, started.id, options);
      }),
    );
}

interface FollowOptions {
  readonly out?: string;
  readonly timeout: number;
  readonly every?: number;
  readonly force?: boolean;
}

async function follow(session: Session, id: string, options: FollowOptions): Promise<void> {
  const { reelgate, output, interrupted: signal } = session;
  const startedAt = Date.now();
  const waiting = reelgate.videos.wait(id, {
    signal,
    timeoutMs: options.timeout * 1000,
    ...(options.every === undefined ? {} : { intervalMs: options.every * 1000 }),
    onProgress: (video) =>
      output.live(`${toStatus(video)} · ${Math.round((Date.now() - startedAt) / 1000)} s`, toStatus(video)),
    onTrouble: ({ message }) => output.live(`${message} The task goes on; looking again …`),
  });
  const done = await waiting.catch((error: unknown) => {
    if (!signal.aborted) throw error;
    output.clear();
    output.say(adviceToWait(id));
    throw new Interrupted(id);
  });
  output.clear();
  if (options.out === undefined) {
    const hint = `Done. Fetch it with "reelgate video download ${id} --out ${id}.mp4".`;
    return output.result(done, done.metadata?.url ?? hint);
  }
  const bytes = await save(session, id, options.out);
  output.result({ ...done, file: options.out, bytes }, `Saved ${options.out} (${toSize(bytes)}).`);
}

async function save({ reelgate, output, interrupted }: Session, id: string, out: string): Promise<number> {
  const bytes = await download(reelgate, id, out, {
    signal: interrupted,
    onProgress: (received, total) =>
      output.live(`downloading ${toSize(received)}${total === undefined ? '' : ` of ${toSize(total)}`}`, 'downloading'),
  });
  output.clear();
  return bytes;
}

/** Before anything is paid for: the file can be written, and none is lost by it. */
async function assertWritable({ out, force }: { readonly out?: string; readonly force?: boolean }): Promise<void> {
  if (out === undefined) return;
  const found = await stat(out).catch(() => undefined);
  if (found?.isDirectory() === true) throw new UsageError(`${out} is a folder. Name a file in it.`);
  if (found !== undefined && force !== true) throw new UsageError(`${out} exists. Replace it with --force.`);
  await access(dirname(out), constants.W_OK);
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

/** `in progress 40%`; the figure only where it says more than the word. */
const toStatus = ({ status, progress }: Video): string =>
  `${status.replace('_', ' ')}${status === 'in_progress' && progress > 0 ? ` ${progress}%` : ''}`;
