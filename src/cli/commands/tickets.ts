import type { Command } from 'commander';
import type { TicketWithReplies } from '../../sdk/index.ts';
import { parseRowId } from '../argument-parsers.ts';
import { UsageError } from '../errors.ts';
import {
  dateTime,
  formatKeyValues,
  formatTable,
  joinTexts,
  phrase,
  type Rendering,
  relativeTime,
  type Text,
  word,
} from '../output.ts';
import { readTextArgument } from '../prompts.ts';
import type { RunCommand } from '../run-command.ts';

const WAITING_FOR_TEXTS = { staff: 'support', user: 'you', nobody: '' } as const;

/** `reelgate tickets …` */
export function addTicketCommands(program: Command, run: RunCommand): void {
  const tickets = program
    .command('tickets')
    .description('Support tickets')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate tickets
  $ reelgate tickets new "The video stays dark" "It is black from the third second on." --task task_…
  $ reelgate tickets show 12
  $ reelgate tickets reply 12 - < answer.txt
  $ reelgate tickets close 12`,
    );

  tickets
    .command('list', { isDefault: true })
    .option('--open', 'only open ones')
    .description('List your tickets, newest first')
    .action(({ open }: { open?: boolean }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const rows = await reelgate.tickets.list(open === true ? 'open' : undefined);
        const cells = rows.map((row) => [
          String(row.id),
          word(row.status.replace('_', ' ')),
          word(WAITING_FOR_TEXTS[row.waiting_for]),
          relativeTime(row.updated_time),
          row.title,
        ]);
        const table = formatTable(['ID', 'STATUS', 'WAITS FOR', 'CHANGED', 'TITLE'], cells);
        output.list(rows, table, 'No tickets.');
      }),
    );

  tickets
    .command('show')
    .argument('<id>', 'an id from the list', parseRowId)
    .description('Show a ticket with its replies')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const ticket = await reelgate.tickets.get(id);
        output.result(ticket, formatTicket(ticket));
      }),
    );

  tickets
    .command('new')
    .argument('<title>', 'what it is about, in a few words')
    .argument('<text>', 'the description; - reads it from standard input')
    .option('--category <word>', 'a category, in a word')
    .option('--task <id>', 'a video of yours it is about')
    .description('Open a ticket')
    .action((title: string, text: string, { category, task }: { category?: string; task?: string }, command: Command) =>
      run(command, async ({ reelgate, output, interruptSignal }) => {
        const id = await reelgate.tickets.open({
          title,
          content: await readText(text, interruptSignal),
          category,
          task_id: task,
        });
        output.result({ id }, `Opened ticket ${id}.`);
        output.info('A reply comes as a notification: "reelgate notifications --watch".');
      }),
    );

  tickets
    .command('reply')
    .argument('<id>', 'an id from the list', parseRowId)
    .argument('<text>', '- reads it from standard input')
    .option('--task <id>', 'a video of yours it is about')
    .description('Reply to a ticket; a resolved one is reopened')
    .action((id: number, text: string, { task }: { task?: string }, command: Command) =>
      run(command, async ({ reelgate, output, interruptSignal }) => {
        const content = await readText(text, interruptSignal);
        const reply = await reelgate.tickets.reply(id, { content, task_id: task });
        output.result({ id: reply, ticket_id: id }, `Replied to ticket ${id}.`);
      }),
    );

  tickets
    .command('close')
    .argument('<id>', 'an id from the list', parseRowId)
    .description('Close a ticket')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        await reelgate.tickets.close(id);
        output.result({ id, closed: true }, `Closed ticket ${id}.`);
      }),
    );
}

async function readText(argument: string, interruptSignal: AbortSignal): Promise<string> {
  const text = await readTextArgument(argument, interruptSignal);
  if (text.trim() === '') throw new UsageError('There is no text.');
  return text;
}

function formatTicket({ content, replies, ...ticket }: TicketWithReplies): Rendering {
  const facts = formatKeyValues({
    Ticket: `${ticket.id}  ${ticket.title}`,
    Status: word(ticket.status.replace('_', ' ')),
    'Waits for': ticket.waiting_for === 'nobody' ? undefined : word(WAITING_FOR_TEXTS[ticket.waiting_for]),
    Video: ticket.task_id,
  });
  const entry = (who: Text, time: number, text: string): Text =>
    joinTexts([phrase`${who}, ${dateTime(time)}`, text], '\n');
  const entries = [
    entry(word('You'), ticket.created_time, content),
    ...replies.map((reply) => entry(word(reply.by_staff ? 'Support' : 'You'), reply.created_time, reply.content)),
  ];
  return joinTexts([facts, ...entries], '\n\n');
}
