import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.ts';

/** The table of docs/cli.md: each command with its arguments, purpose and options, in the order of the help. */
export function renderCommandTable(): string {
  const rows = commandsOf(createProgram(false)).map(({ path, command }) => {
    const named = command.registeredArguments.map((each) => {
      const name = `${each.name()}${each.variadic ? '…' : ''}`.toUpperCase();
      return each.required ? name : `[${name}]`;
    });
    const options = command.options.map(({ long }) => `\`${long}\``).join(', ');
    return `| \`reelgate ${[...path, ...named].join(' ')}\` | ${command.description()} | ${options} |`;
  });
  return ['| Command | Purpose | Options |', '|---|---|---|', ...rows].join('\n');
}

/** All commands below this one that do something, without the groups. */
const commandsOf = (command: Command, before: readonly string[] = []): { path: string[]; command: Command }[] =>
  command.commands.flatMap((each) => {
    const path = [...before, each.name()];
    return each.commands.length === 0 ? [{ path, command: each }] : commandsOf(each, path);
  });
