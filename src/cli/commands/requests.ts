import { type Command, Option } from 'commander';
import { REQUEST_KINDS, REQUEST_STATUSES, type RequestKind, type RequestStatus } from '../../contract/requests.ts';
import type { RequestInfo } from '../../sdk/index.ts';
import { parsePositiveInteger } from '../arguments.ts';
import { formatDateTime, formatTable } from '../format.ts';
import type { RunCommand } from '../run-command.ts';

interface ListOptions {
  readonly model?: string;
  readonly status?: RequestStatus;
  readonly kind?: RequestKind;
  readonly limit: number;
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
    .action(({ limit, ...query }: ListOptions, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const { data } = await reelgate.requests.list(query, { limit: Math.min(limit, MAX_PAGE) });
        output.result(data, data.length === 0 ? 'No calls yet.' : formatRequests(data));
      }),
    );
}

const formatRequests = (rows: readonly RequestInfo[]): string =>
  formatTable(
    ['TIME', 'REFERENCE', 'MODEL', 'STATUS', 'IN', 'OUT', 'QUOTA', 'MS'],
    rows.map((row) => [
      formatDateTime(row.time),
      row.ref,
      row.model,
      row.error_code === '' ? row.status : row.error_code,
      String(row.input_tokens),
      row.kind === 'video' ? `${row.seconds} s` : String(row.output_tokens),
      String(row.quota),
      String(row.duration_ms),
    ]),
  );
