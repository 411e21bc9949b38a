import type { Command } from 'commander';
import type { ReceiptInfo } from '../../sdk/index.ts';
import { usesApiKey } from '../credential-provider.ts';
import { formatDateTime, formatKeyValues, formatQuota, formatTable } from '../format.ts';
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
        const { getStatus } = await import('../../contract/service.ts');
        const { data: status } = await reelgate.transport.call(getStatus, {});
        output.result(receipt, formatReceipt(receipt, status.quota_per_unit));
      }),
    );
}

const amount = (quota: number): string => quota.toLocaleString('en', { maximumFractionDigits: 6 });

function formatReceipt(receipt: ReceiptInfo, quotaPerUnit: number): string {
  const head = formatKeyValues({
    Reference: receipt.ref,
    Model: receipt.model,
    Began: formatDateTime(receipt.created_at),
    Ended: receipt.ended_at === null ? 'not yet' : formatDateTime(receipt.ended_at),
    Outcome: receipt.outcome,
    Reserved: amount(receipt.reserved),
    Charged: formatQuota(receipt.charged, quotaPerUnit),
    'Paid by': receipt.sources.map(({ kind, quota }) => `${kind} ${amount(quota)}`).join(', '),
  });
  if (receipt.lines.length === 0) return head;
  const lines = receipt.lines.map((line) => [
    line.label,
    amount(line.quantity),
    amount(line.unit_quota),
    line.multiplier === 1 ? '' : `× ${amount(line.multiplier)}`,
    amount(line.quota),
  ]);
  return `${head}\n\n${formatTable(['LINE', 'QUANTITY', 'EACH', 'FACTOR', 'QUOTA'], lines)}`;
}
