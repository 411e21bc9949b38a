import type { Command } from 'commander';
import type { ReceiptInfo } from '../../sdk/index.ts';
import { usesApiKey } from '../credential-provider.ts';
import { type CreditFormat, loadCreditFormat } from '../load-credit-format.ts';
import { dateTime, formatKeyValues, formatTable, joinTexts, type Rendering } from '../render-output-text.ts';
import type { RunCommand } from '../run-command.ts';

/** `reelgate receipt` */
export function addReceiptCommand(program: Command, run: RunCommand): void {
  program
    .command('receipt')
    .argument('<ref>', 'a task id or request id')
    .description('Show what a call or video cost, line by line')
    .action((ref: string, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        // A key sees its own calls and videos alone.
        const receipt = await (usesApiKey() ? reelgate.requests.receiptOfKey(ref) : reelgate.requests.receipt(ref));
        output.result(receipt, formatReceipt(receipt, await loadCreditFormat(reelgate)));
      }),
    );
}

const amount = (quota: number): string => quota.toLocaleString('en', { maximumFractionDigits: 6 });

function formatReceipt(receipt: ReceiptInfo, credits: CreditFormat): Rendering {
  const head = formatKeyValues({
    Reference: receipt.ref,
    Model: receipt.model,
    Started: dateTime(receipt.created_at),
    Ended: receipt.ended_at === null ? 'not yet' : dateTime(receipt.ended_at),
    Outcome: receipt.outcome,
    Reserved: credits(receipt.reserved),
    Charged: receipt.outcome === 'refunded' ? 'nothing' : credits(receipt.charged),
    'Paid by': receipt.sources.map(({ kind, quota }) => `${kind} ${credits(quota)}`).join(', '),
  });
  if (receipt.lines.length === 0) return head;
  const lines = receipt.lines.map((line) => [
    line.label,
    amount(line.quantity),
    credits(line.unit_quota),
    line.multiplier === 1 ? '' : `× ${amount(line.multiplier)}`,
    credits(line.quota),
  ]);
  return joinTexts([head, formatTable(['ITEM', 'QUANTITY', 'EACH', 'FACTOR', 'COST'], lines)], '\n\n');
}
