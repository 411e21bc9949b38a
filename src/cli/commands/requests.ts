import { type Command, Option } from 'commander';
import { type AmountUnit, roundingOf } from '../../contract/amounts.ts';
import { REQUEST_KINDS, REQUEST_STATUSES, type RequestKind, type RequestStatus } from '../../contract/request-kinds.ts';
import type { ReceiptInfo, RequestInfo } from '../../sdk/index.ts';
import { parsePositiveInteger } from '../argument-parsers.ts';
import { usesApiKey } from '../credential-provider.ts';
import { type CreditFormat, creditFormatOf, loadAmountUnit, loadCreditFormat } from '../credit-format.ts';
import { EXIT } from '../errors.ts';
import {
  authorColumn,
  dateTime,
  formatKeyValues,
  formatTable,
  joinTexts,
  phrase,
  type Rendering,
  styled,
  type Text,
  word,
} from '../output.ts';
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
    .option('--follow', 'continue with calls as they end, until Ctrl-C')
    .action(({ limit, follow, ...query }: ListOptions, command: Command) =>
      run(command, async ({ reelgate, output, interruptSignal }) => {
        const credits = await loadCreditFormat(reelgate);
        const { data } = await reelgate.requests.list(query, { limit: Math.min(limit, MAX_PAGE) });
        if (follow !== true) {
          output.list(data, formatRequests(data, credits), 'No calls yet.');
          return;
        }
        // Oldest first, because new rows are printed below; with --json one document per line.
        for (const row of data.toReversed()) output.result(row, formatLine(row, credits));
        const onConnectionLost = ({ message }: Error) => output.status(`${message} Trying again …`);
        const duration = { signal: interruptSignal, onConnectionLost };
        for await (const row of reelgate.requests.follow(query, { since: data, ...duration }))
          output.result(row, formatLine(row, credits));
        // Ctrl-C is the normal way to stop following, so no error is printed.
        if (interruptSignal.aborted) process.exitCode = EXIT.interrupted;
      }),
    );
}

/** Formats a row without aligned columns, because the widths of later rows are unknown. */
const formatLine =
  (row: RequestInfo, credits: CreditFormat): Rendering =>
  (target) =>
    joinTexts(
      [...toCells(row, credits), ...authorColumn([row], (each) => each.submitted_by).cells(row)],
      target.isTerminal ? '  ' : '\t',
    )(target);

function formatRequests(rows: readonly RequestInfo[], credits: CreditFormat): Rendering {
  const author = authorColumn(rows, (row) => row.submitted_by);
  return formatTable(
    ['TIME', 'REFERENCE', 'MODEL', 'STATUS', 'IN', 'OUT', 'COST', 'MS', ...author.head],
    rows.map((row) => [...toCells(row, credits), ...author.cells(row)]),
  );
}

const toCells = (row: RequestInfo, credits: CreditFormat): Text[] => [
  dateTime(row.time),
  row.ref,
  row.model,
  row.error_code === '' ? word(row.status) : styled('bad', row.error_code),
  String(row.input_tokens),
  row.kind === 'video' ? phrase`${row.seconds} s` : String(row.output_tokens),
  credits(row.quota),
  String(row.duration_ms),
];

/** `reelgate receipt` */
export function addReceiptCommand(program: Command, run: RunCommand): void {
  program
    .command('receipt')
    .argument('<ref>', 'a task id or request id')
    .description('Show what a call or video cost, line by line')
    .action((ref: string, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        // An API key can only read its own calls and videos.
        const receipt = await (usesApiKey() ? reelgate.requests.receiptOfKey(ref) : reelgate.requests.receipt(ref));
        output.result(receipt, formatReceipt(receipt, await loadAmountUnit(reelgate)));
      }),
    );
}

const amount = (quota: number): string => quota.toLocaleString('en', { maximumFractionDigits: 6 });

function formatReceipt(receipt: ReceiptInfo, unit: AmountUnit): Rendering {
  const credits = creditFormatOf(unit);
  const sources = receipt.sources.map(({ kind, quota }) => joinTexts([word(kind), credits(quota)], ' '));
  const head = formatKeyValues({
    Reference: receipt.ref,
    Organization: receipt.organization,
    Member: receipt.submitted_by,
    Model: receipt.model,
    Started: dateTime(receipt.created_at),
    Ended: receipt.ended_at === null ? word('not yet') : dateTime(receipt.ended_at),
    Outcome: word(receipt.outcome === 'open' ? 'not settled' : receipt.outcome),
    Reserved: credits(receipt.reserved),
    Charged: receipt.outcome === 'refunded' ? word('nothing') : credits(receipt.charged),
    'Paid by': receipt.sources.length === 0 ? undefined : joinTexts(sources, ', '),
  });
  if (receipt.lines.length === 0) return head;
  const lines: Text[][] = receipt.lines.map((line) => [
    word(line.label),
    amount(line.quantity),
    credits(line.unit_quota),
    line.multiplier === 1 ? '' : `× ${amount(line.multiplier)}`,
    credits(line.quota),
  ]);
  const costs = receipt.lines.map(({ quota }) => quota);
  const rounding = roundingOf(costs, receipt.charged, unit, 'exact');
  if (rounding !== 0) lines.push([word('rounding'), '', '', '', credits(rounding)]);
  return joinTexts([head, formatTable(['ITEM', 'QUANTITY', 'EACH', 'FACTOR', 'COST'], lines)], '\n\n');
}
