import type { Command } from 'commander';
import { formatTable } from '../format.ts';
import type { RunCommand } from '../run-command.ts';

/** `reelgate models` */
export function addModelsCommand(program: Command, run: RunCommand): void {
  program
    .command('models')
    .description('List the models you may use')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const { listModels } = await import('../../contract/model-lists.ts');
        const { data } = await reelgate.transport.call(listModels, { query: {} });
        output.result(
          data,
          data.length === 0
            ? 'No models. An administrator adds them in the console.'
            : formatTable(
                ['MODEL', 'OWNER'],
                data.map(({ id, owned_by }) => [id, owned_by]),
              ),
        );
      }),
    );
}
