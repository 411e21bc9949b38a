import { type Command, InvalidArgumentError } from 'commander';
import type { RunCommand } from '../run.ts';
import { toAge, toTable } from '../text.ts';

export const rowId = (text: string): number => {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('Give a number from the list.');
  return Number(text);
};

/** `reelgate devices …` */
export function addDeviceCommands(program: Command, run: RunCommand): void {
  const devices = program
    .command('devices')
    .description('Where the account is signed in; end a sign-in')
    .addHelpText('after', '\nExamples:\n  $ reelgate devices\n  $ reelgate devices end 12');

  devices
    .command('list', { isDefault: true })
    .description('List the sign-ins, newest first')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const rows = await reelgate.account.devices();
        output.result(
          rows,
          rows.length === 0
            ? 'No device is signed in.'
            : toTable(
                ['ID', 'NAME', 'APP', 'SIGNED IN', 'LAST USED', 'FROM', ''],
                rows.map((row) => [
                  String(row.id),
                  row.name === '' ? '(no name)' : row.name,
                  row.client,
                  toAge(row.created_time),
                  toAge(row.last_used_time),
                  row.last_used_address === '' ? row.address : row.last_used_address,
                  row.current ? 'this one' : '',
                ]),
              ),
        );
      }),
    );

  devices
    .command('end')
    .argument('<id>', 'an id from the list', rowId)
    .description('End a sign-in; its tokens stop at once')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        await reelgate.account.endDevice(id);
        output.result({ id, ended: true }, `Ended sign-in ${id}.`);
      }),
    );
}
