import { type Command, Option } from 'commander';
import { REQUEST_KINDS, REQUEST_STATUSES, type RequestKind, type RequestStatus } from '../../contract/request-kinds.ts';
import type { RequestInfo } from '../../sdk/index.ts';
import { parsePositiveInteger } from '../arguments.ts';
import { formatDateTime, formatTable } from '../format.ts';
import type { RunCommand } from '../run-command.ts';

interface ListOptions {
  readonly model?: string;
  readonly status?: RequestStatus;
  readonly kind?: RequestKind;
  readonly limit: number;
  readonly follow?: true;
}

const MAX_PAGE = 100;

/** `reelgate requests` */
export function addRequestsCommand(program: Command, run: RunCommand): void {
  program
    .command('requests')
    .description('List your calls and videos that have ended, with what they cost')
    .option('--model <name>', 'only this model')
    .addOption(new Option('--status <status>', 'only these').choices([...REQUEST_STATUSES]))
    .addOption(new Option('--kind <kind>', 'only these').choices([...REQUEST_KINDS]))
    .option('--limit <count>', 'how many, at most 100', parsePositiveInteger, 20)
    .option('--follow', 'go on with calls as they end, until Ctrl-C')
    .action(({ limit, follow, ...query }: ListOptions, command: Command) =>
      run(command, async ({ reelgate, output, interruptSignal }) => {
        const { data } = await reelgate.requests.list(query, { limit: Math.min(limit, MAX_PAGE) });
        if (follow !== true) {
          output.result(data, data.length === 0 ? 'No calls yet.' : formatRequests(data));
          return;
        }
        // Oldest first, as the next ones are printed below; with --json one document a line.
        for (const row of data.toReversed()) output.result(row, formatLine(row));
        for await (const row of reelgate.requests.follow(query, interruptSignal)) output.result(row, formatLine(row));
      }),
    );
}

/** A row without a table around it: what comes next is not known. */
const formatLine = (row: RequestInfo): string => toCells(row).join('  ');

const formatRequests = (rows: readonly RequestInfo[]): string =>
  formatTable(['TIME', 'REFERENCE', 'MODEL', 'STATUS', 'IN', 'OUT', 'QUOTA', 'MS'], rows.map(toCells));

const toCells = (row: RequestInfo): string[] => [
  formatDateTime(row.time),
  row.ref,
  row.model,
  row.error_code === '' ? row.status : row.error_code,
  String(row.input_tokens),
  row.kind === 'video' ? `${row.seconds} s` : String(row.output_tokens),
  String(row.quota),
  String(row.duration_ms),
];
