import type { Command } from 'commander';
import { parseRowId } from '../argument-parsers.ts';
import { loadCreditFormat } from '../credit-format.ts';
import { formatTable, relativeTime, styled } from '../output.ts';
import type { RunCommand } from '../run-command.ts';

/** `reelgate devices …` */
export function addDeviceCommands(program: Command, run: RunCommand): void {
  const devices = program
    .command('devices')
    .description('Devices and applications with access to the account; end one')
    .addHelpText('after', '\nExamples:\n  $ reelgate devices\n  $ reelgate devices end 12');

  devices
    .command('list', { isDefault: true })
    .description('List the sign-ins, newest first')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const rows = await reelgate.account.devices();
        const hasLimits = rows.some(({ spend_limit: limit }) => limit !== null);
        const format = hasLimits ? await loadCreditFormat(reelgate) : String;
        const table = formatTable(
          ['ID', 'NAME', 'APP', 'SCOPES', 'LIMIT', 'ENDS', 'SIGNED IN', 'LAST USED', 'FROM', ''],
          rows.map((row) => [
            String(row.id),
            row.name === '' ? '(no name)' : row.name,
            row.client,
            row.scopes.join(' '),
            row.spend_limit === null ? '' : `${format(row.spend_limit.amount)} / ${row.spend_limit.period}`,
            row.expires_at === null ? '' : relativeTime(row.expires_at),
            relativeTime(row.created_time),
            relativeTime(row.last_used_time),
            row.last_used_address === '' ? row.address : row.last_used_address,
            row.current ? styled('good', 'this one') : '',
          ]),
        );
        output.list(rows, table, rows.length === 0, 'No device is signed in.');
      }),
    );

  devices
    .command('end')
    .argument('<id>', 'an id from the list', parseRowId)
    .description('End a sign-in; its tokens are revoked at once')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        await reelgate.account.endDevice(id);
        output.result({ id, ended: true }, `Ended sign-in ${id}.`);
      }),
    );
}
