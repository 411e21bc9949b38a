import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { TicketWithReplies } from '../../sdk/index.ts';
import { UsageError } from '../failures.ts';
import type { RunCommand } from '../run.ts';
import { toAge, toFacts, toTable, toTime } from '../text.ts';
import { rowId } from './devices.ts';

const TURN = { staff: 'the operators', user: 'you', nobody: '' } as const;

/** `reelgate tickets …` */
export function addTicketCommands(program: Command, run: RunCommand): void {
  const tickets = program
    .command('tickets')
    .description('Ask the people who run the service')
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
          row.status.replace('_', ' '),
          TURN[row.waiting_for],
          toAge(row.updated_time),
          row.title,
        ]);
        output.result(
          rows,
          rows.length === 0 ? 'No tickets.' : toTable(['ID', 'STATUS', 'WAITS FOR', 'CHANGED', 'TITLE'], cells),
        );
      }),
    );

  tickets
    .command('show')
    .argument('<id>', 'an id from the list', rowId)
    .description('Show a ticket with its replies')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const ticket = await reelgate.tickets.get(id);
        output.result(ticket, toStory(ticket));
      }),
    );

  tickets
    .command('new')
    .argument('<title>')
    .argument('<text>', 'what it is about; - reads it from standard input')
    .option('--category <word>')
    .option('--task <id>', 'a video of yours it is about')
    .description('Open a ticket')
    .action((title: string, text: string, { category, task }: { category?: string; task?: string }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const id = await reelgate.tickets.open({
          title,
          content: readText(text),
          ...(category === undefined ? {} : { category }),
          ...(task === undefined ? {} : { task_id: task }),
        });
        output.result({ id }, `Opened ticket ${id}.`);
        output.say('You are told when it is answered: "reelgate notifications --watch".');
      }),
    );

  tickets
    .command('reply')
    .argument('<id>', 'an id from the list', rowId)
    .argument('<text>', '- reads it from standard input')
    .option('--task <id>', 'a video of yours it is about')
    .description('Add to a ticket; a resolved one is open again')
    .action((id: number, text: string, { task }: { task?: string }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const content = readText(text);
        const reply = await reelgate.tickets.reply(id, { content, ...(task === undefined ? {} : { task_id: task }) });
        output.result({ id: reply, ticket_id: id }, `Added to ticket ${id}.`);
      }),
    );

  tickets
    .command('close')
    .argument('<id>', 'an id from the list', rowId)
    .description('Close a ticket')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        await reelgate.tickets.close(id);
        output.result({ id, closed: true }, `Closed ticket ${id}.`);
      }),
    );
}

function readText(argument: string): string {
  const text = argument === '-' ? readFileSync(0, 'utf8') : argument;
  if (text.trim() === '') throw new UsageError('There is no text.');
  return text;
}

function toStory({ content, replies, ...ticket }: TicketWithReplies): string {
  const facts = toFacts({
    Ticket: `${ticket.id}  ${ticket.title}`,
    Status: ticket.status.replace('_', ' '),
    'Waits for': TURN[ticket.waiting_for],
    Video: ticket.task_id,
  });
  const entry = (who: string, time: number, text: string): string => `${who}, ${toTime(time)}\n${text}`;
  return [
    facts,
    entry('You', ticket.created_time, content),
    ...replies.map((reply) => entry(reply.by_staff ? 'Operators' : 'You', reply.created_time, reply.content)),
  ].join('\n\n');
}
