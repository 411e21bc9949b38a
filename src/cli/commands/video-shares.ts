import { type Command, InvalidArgumentError } from 'commander';
import { defined } from '../../contract/objects.ts';
import type { ShareInfo } from '../../sdk/index.ts';
import { parseRowId } from '../argument-parsers.ts';
import { UsageError } from '../errors.ts';
import { InterruptedError } from '../interrupt.ts';
import { dateTime, formatTable, type Rendering } from '../render-output-text.ts';
import type { RunCommand } from '../run-command.ts';

interface ShareOptions {
  readonly expires?: number;
  /** True: it is asked for. */
  readonly password?: string | true;
  readonly title?: string;
}

const SECONDS_BY_UNIT = { m: 60, h: 3_600, d: 86_400 } as const;

/** Parses `30m`, `12h` or `7d` to seconds. */
function parsePeriod(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('Give a number with m, h or d, such as 7d.');
  return Number(count) * SECONDS_BY_UNIT[unit as keyof typeof SECONDS_BY_UNIT];
}

/** `reelgate video share`, `shares` and `unshare` */
export function addShareCommands(video: Command, run: RunCommand): void {
  video
    .command('share')
    .argument('<id>', 'the task id of a finished video')
    .option(
      '--expires <period>',
      'how long the link works, such as 12h or 7d; default: as long as the video',
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
        const made = await reelgate.shares.create(id, defined({ expires_in_seconds: expires, password: given, title }));
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
        output.list(
          shares,
          formatShares(shares),
          shares.length === 0,
          'No links. Create one with "reelgate video share ID".',
        );
      }),
    );
  video
    .command('unshare')
    .argument('<id>', 'a task id')
    .argument('<share>', 'an id from "reelgate video shares"', parseRowId)
    .description('Revoke a link at once')
    .action((id: string, share: number, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        await reelgate.shares.remove(id, share);
        output.result({ id: share, removed: true }, `Link ${share} was revoked.`);
      }),
    );
}

async function readPassword(): Promise<string> {
  if (process.stdin.isTTY !== true)
    throw new UsageError('There is no terminal to ask for the password: give it a value.');
  const { isCancel, password: askPassword } = await import('@clack/prompts');
  const answer = await askPassword({ message: 'Password of the link' });
  if (isCancel(answer)) throw new InterruptedError();
  return answer;
}

const formatShares = (shares: readonly ShareInfo[]): Rendering =>
  formatTable(
    ['ID', 'VIDEO', 'URL', 'UNTIL', 'PASSWORD'],
    shares.map(({ id, task_id, url, expires_at, has_password }) => [
      String(id),
      task_id,
      url,
      expires_at === null ? 'the video ends' : dateTime(expires_at),
      has_password ? 'yes' : 'no',
    ]),
  );
