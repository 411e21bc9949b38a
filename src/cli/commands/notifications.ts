import { type Command, InvalidArgumentError } from 'commander';
import type { NotificationInfo } from '../../sdk/index.ts';
import { EXIT } from '../exit-codes.ts';
import { UsageError } from '../failures.ts';
import type { RunCommand } from '../run.ts';
import type { Session } from '../session.ts';
import { toAge, toTable, toTime } from '../text.ts';
import { rowId } from './devices.ts';

interface ListOptions {
  readonly unread?: boolean;
  readonly page: number;
  readonly watch?: boolean;
}

/** `reelgate notifications …` */
export function addNotificationCommands(program: Command, run: RunCommand): void {
  const notifications = program
    .command('notifications')
    .description('What the service has told the account')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate notifications --unread
  $ reelgate notifications --watch
  $ reelgate notifications --watch --json | jq -r .title
  $ reelgate notifications read 12
  $ reelgate notifications read --all`,
    );

  notifications
    .command('list', { isDefault: true })
    .option('--unread', 'only those not yet read')
    .option('--page <number>', '20 on a page, newest first', pageNumber, 1)
    .option('--watch', 'show each one as it arrives, until Ctrl-C; with --json one document a line')
    .description('List notifications, newest first')
    .action((options: ListOptions, command: Command) =>
      run(command, (session) => (options.watch === true ? watch(session) : list(session, options))),
    );

  notifications
    .command('read')
    .argument('[id]', 'an id from the list', rowId)
    .option('--all', 'every one')
    .description('Mark as read')
    .action((id: number | undefined, { all }: { all?: boolean }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        if ((id === undefined) === (all !== true)) throw new UsageError('Give an id from the list, or --all.');
        if (id === undefined) await reelgate.notifications.markAllRead();
        else await reelgate.notifications.markRead(id);
        const unread = await reelgate.notifications.unreadCount();
        output.result({ unread_count: unread }, `${unread} unread.`);
      }),
    );
}

async function list({ reelgate, output }: Session, { unread = false, page }: ListOptions): Promise<void> {
  const found = await reelgate.notifications.list({ page, onlyUnread: unread });
  const { data, total, unread_count, has_more } = found;
  const rows = data.map((row) => [
    String(row.id),
    row.is_read ? '' : 'new',
    toAge(row.created_at),
    row.title,
    row.target_url,
  ]);
  output.result(
    { notifications: data, total, unread_count, has_more },
    rows.length === 0 ? 'Nothing here.' : toTable(['ID', '', 'WHEN', 'TITLE', 'PAGE'], rows),
  );
  if (has_more) output.say(`Page ${page} of ${Math.ceil(total / 20)}; more with --page ${page + 1}.`);
}

async function watch({ reelgate, output, interrupted }: Session): Promise<void> {
  let waiting = true;
  for await (const event of reelgate.notifications.follow({ signal: interrupted })) {
    if (waiting) output.say('Waiting for notifications. Ctrl-C ends it.');
    waiting = false;
    if (event.kind === 'notification') output.result(event.notification, toLines(event.notification));
  }
  // Ctrl-C is how watching ends: no failure, so nothing follows the last notification.
  if (interrupted.aborted) process.exitCode = EXIT.interrupted;
}

const toLines = ({ created_at, title, content }: NotificationInfo): string =>
  [`${toTime(created_at)}  ${title}`, ...content.split('\n').map((line) => `  ${line}`)].join('\n');

function pageNumber(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('Give a number from 1.');
  return Number(text);
}
