import type { Command } from 'commander';
import type { NotificationInfo } from '../../sdk/index.ts';
import { parsePositiveInteger, parseRowId } from '../argument-parsers.ts';
import type { CommandContext } from '../command-context.ts';
import { EXIT, UsageError } from '../errors.ts';
import { formatDateTime, formatTable, relativeTime, styled, word } from '../output.ts';
import type { RunCommand } from '../run-command.ts';

interface ListOptions {
  readonly unread?: boolean;
  readonly page: number;
  readonly watch?: boolean;
}

const PAGE_SIZE = 20;

/** `reelgate notifications …` */
export function addNotificationCommands(program: Command, run: RunCommand): void {
  const notifications = program
    .command('notifications')
    .description('Notifications of the account')
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
    .option('--page <number>', `${PAGE_SIZE} on a page, newest first`, parsePositiveInteger, 1)
    .option('--watch', 'show each one as it arrives, until Ctrl-C; with --json one document a line')
    .description('List notifications, newest first')
    .action((options: ListOptions, command: Command) =>
      run(command, (context) => (options.watch === true ? watch(context) : list(context, options))),
    );

  notifications
    .command('read')
    .argument('[id]', 'an id from the list', parseRowId)
    .option('--all', 'all notifications')
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

async function list({ reelgate, output }: CommandContext, { unread = false, page }: ListOptions): Promise<void> {
  const found = await reelgate.notifications.list({ page, pageSize: PAGE_SIZE, onlyUnread: unread });
  const { data, total, unread_count, has_more } = found;
  const rows = data.map((row) => [
    String(row.id),
    row.is_read ? '' : styled('active', word('new')),
    relativeTime(row.created_at),
    row.title,
    row.target_url,
  ]);
  const table = formatTable(['ID', '', 'WHEN', 'TITLE', 'PAGE'], rows);
  output.list(rows, table, 'No notifications.', { notifications: data, total, unread_count, has_more });
  if (has_more) output.info(`Page ${page} of ${Math.ceil(total / PAGE_SIZE)}; more with --page ${page + 1}.`);
}

async function watch({ reelgate, output, interruptSignal }: CommandContext): Promise<void> {
  let waiting = true;
  const onConnectionLost = ({ message }: Error) => output.status(`${message} Trying again …`);
  for await (const event of reelgate.notifications.follow({ signal: interruptSignal, onConnectionLost })) {
    if (waiting) output.info('Waiting for notifications. Ctrl-C ends it.');
    waiting = false;
    if (event.kind === 'notification') output.result(event.notification, formatNotification(event.notification));
  }
  // Ctrl-C is the normal way to stop watching, so no error is printed.
  if (interruptSignal.aborted) process.exitCode = EXIT.interrupted;
}

const formatNotification = ({ created_at, title, content }: NotificationInfo): string =>
  [`${formatDateTime(created_at)}  ${title}`, ...content.split('\n').map((line) => `  ${line}`)].join('\n');
