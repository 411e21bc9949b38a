import { type Command, InvalidArgumentError, Option } from 'commander';
import { FILE_LIFETIME_SECONDS, FILE_PURPOSES } from '../../contract/file-purposes.ts';
import type { FileInfo, FilePurpose } from '../../sdk/index.ts';
import { parsePositiveInteger } from '../argument-parsers.ts';
import { authorColumn, dateTime, formatTable, type Rendering } from '../output.ts';
import type { RunCommand } from '../run-command.ts';

interface UploadOptions {
  readonly purpose: FilePurpose;
  readonly days?: number;
}

const DAY_SECONDS = 86_400;
/** Days a file may be kept, which is also how long it is kept by default. */
const MAX_DAYS = FILE_LIFETIME_SECONDS.most / DAY_SECONDS;

function parseDays(text: string): number {
  const days = parsePositiveInteger(text);
  if (days > MAX_DAYS) throw new InvalidArgumentError(`Give a number of days from 1 to ${MAX_DAYS}.`);
  return days;
}

/** `reelgate files …` */
export function addFileCommands(program: Command, run: RunCommand): void {
  const files = program
    .command('files')
    .description('Files of your account, as inputs of videos')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate files upload cat.png
  $ reelgate files upload clip.mp4 --days 7
  $ reelgate files download file-abc --out clip.mp4
  $ reelgate files remove file-abc`,
    );
  addListCommand(files, run);
  files
    .command('upload')
    .argument('<path>', 'an image, a video, a sound, or JSONL')
    .addOption(new Option('--purpose <purpose>', 'what it is for').choices([...FILE_PURPOSES]).default('user_data'))
    .option('--days <count>', 'until it is deleted; default 30', parseDays)
    .description('Upload a file and print its id')
    .action((path: string, { purpose, days }: UploadOptions, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const { openUploadSource } = await import('../upload-source.ts');
        const source = await openUploadSource(path);
        const made = await reelgate.files.create({
          ...source,
          purpose,
          expiresAfterSeconds: days && days * DAY_SECONDS,
        });
        output.result(made, made.id);
      }),
    );
  files
    .command('download')
    .argument('<id>', 'an id from the list')
    .requiredOption('--out <path>', 'where to save it')
    .option('--force', 'replace an existing file')
    .description('Save the content of a file')
    .action((id: string, options: { readonly out: string; readonly force?: true }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const { assertWritable, saveBody } = await import('../video-download.ts');
        await assertWritable(options);
        await saveBody(await reelgate.files.content(id), options.out);
        output.result({ id, file: options.out }, `Saved ${options.out}.`);
      }),
    );
  files
    .command('remove')
    .argument('<id>', 'an id from the list')
    .description('Delete a file')
    .action((id: string, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        await reelgate.files.delete(id);
        output.result({ id, deleted: true }, `Deleted ${id}.`);
      }),
    );
}

function addListCommand(files: Command, run: RunCommand): void {
  files
    .command('list', { isDefault: true })
    .option('--limit <count>', 'how many', parsePositiveInteger, 100)
    .description('List your files, newest first')
    .action(({ limit }: { readonly limit: number }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const { data } = await reelgate.files.list({ limit });
        const none = 'No files. Upload one with "reelgate files upload PATH".';
        output.list(data, formatFiles(data), none);
      }),
    );
}

function formatFiles(rows: readonly FileInfo[]): Rendering {
  const author = authorColumn(rows, (row) => row.uploaded_by);
  return formatTable(
    ['ID', 'NAME', 'TYPE', 'BYTES', 'DELETED AT', ...author.head],
    rows.map((row) => [
      ...[row.id, row.filename, row.mime_type, String(row.bytes), dateTime(row.expires_at)],
      ...author.cells(row),
    ]),
  );
}
