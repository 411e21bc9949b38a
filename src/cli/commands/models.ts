import type { Command } from 'commander';
import { listModels } from '../../contract/video.ts';
import type { RunCommand } from '../main.ts';

/** `reelgate models` */
export function addModelsCommand(program: Command, run: RunCommand): void {
  program
    .command('models')
    .description('List the models you may use')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const { data } = await reelgate.transport.call(listModels, {});
        const width = Math.max(0, ...data.map(({ id }) => id.length));
        output.result(
          data,
          data.length === 0
            ? 'No models.'
            : data.map(({ id, owned_by }) => `${id.padEnd(width)}  ${owned_by}`).join('\n'),
        );
      }),
    );
}
