import { Argument, type Command } from 'commander';
import type { RunCommand } from '../run-command.ts';
import { completionScript, SHELLS, type Shell } from '../shell-completion.ts';

/** `reelgate completion <shell>` */
export function addCompletionCommand(program: Command, run: RunCommand): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .description('Print the completion script of a shell')
    .addHelpText(
      'after',
      `
Examples:
  $ eval "$(reelgate completion bash)"      # in ~/.bashrc
  $ eval "$(reelgate completion zsh)"       # in ~/.zshrc, after compinit
  $ reelgate completion fish > ~/.config/fish/completions/reelgate.fish`,
    )
    .action((shell: Shell, _options: unknown, command: Command) =>
      run(command, async ({ output }) => {
        const script = completionScript(program, shell);
        output.result({ shell, script }, script.trimEnd());
      }),
    );
}
