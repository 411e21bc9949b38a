import { Argument, type Command } from 'commander';
import type { RunCommand } from '../run-command.ts';

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

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
/** Name of a supported shell. */
export type Shell = (typeof SHELLS)[number];

interface Word {
  readonly word: string;
  readonly description: string;
}

interface OptionWord extends Word {
  readonly takesValue: boolean;
  /** Accepted values; empty: any. */
  readonly choices: readonly string[];
}

/** Candidates after one command: its subcommands or the choices of its argument, and its options. */
interface Level {
  /** Full name of the command, such as `video create`; empty for the program itself. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly OptionWord[];
}

/** All commands of a program with their candidates, the program itself first. */
function listLevels(command: Command, path: readonly string[] = []): readonly Level[] {
  const commands = command.commands.map((each) => ({ word: each.name(), description: each.description() }));
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((word) => ({ word, description })),
  );
  const options = command.options
    .filter(({ hidden, long }) => !hidden && long !== undefined && long !== null)
    .map(({ long, description, argChoices, required, optional }) => ({
      word: long ?? '',
      description,
      takesValue: required || optional,
      choices: argChoices ?? [],
    }));
  const help = { word: '--help', description: 'Show what it does and takes', takesValue: false, choices: [] };
  return [
    { path: path.join(' '), commands: [...commands, ...choices], options: [...options, help] },
    ...command.commands.flatMap((each) =>
      [each.name(), ...each.aliases()].flatMap((name) => listLevels(each, [...path, name])),
    ),
  ];
}

/** Quotes a word with single quotes, which all three shells understand. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const firstSentence = (text: string): string => text.split(/[;:.] /, 1)[0] ?? '';

/** Finds the command on the current line: each word that names a subcommand extends the path. */
const pathCases = (levels: readonly Level[]): string =>
  levels.flatMap(({ path }) => (path === '' ? [] : [quote(path)])).join('|');

/**
 * Lines of a shell's `case` over "command option": after an option with a value, its choices or else files are offered.
 */
const valueCases = (levels: readonly Level[], offer: (choices: readonly string[]) => string): string =>
  levels
    .flatMap(({ path, options }) =>
      options
        .filter(({ takesValue }) => takesValue)
        .map(({ word, choices }) => `    ${quote(`${path} ${word}`.trim())}) ${offer(choices)} ;;`),
    )
    .join('\n');

function toBash(levels: readonly Level[]): string {
  const cases = levels.map(
    ({ path, commands, options }) =>
      `    ${quote(path)}) words=${quote([...commands, ...options].map(({ word }) => word).join(' '))} ;;`,
  );
  return `# bash completion of reelgate: eval "$(reelgate completion bash)" in ~/.bashrc
_reelgate() {
  local at='' next word words='' current="\${COMP_WORDS[COMP_CWORD]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${at:+$at }$word"
    case "$next" in
      ${pathCases(levels)}) at="$next" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  next="\${at:+$at }\${COMP_WORDS[COMP_CWORD-1]}"
  case "$next" in
${valueCases(levels, (choices) => `words=${quote(choices.join(' '))}`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _reelgate reelgate
`;
}

function toZsh(levels: readonly Level[]): string {
  const entry = ({ word, description }: Word): string =>
    quote(`${word.replaceAll(':', '\\:')}:${firstSentence(description)}`);
  const cases = levels.map(
    ({ path, commands, options }) =>
      `    ${quote(path)}) words_here=(${[...commands, ...options].map(entry).join(' ')}) ;;`,
  );
  return `#compdef reelgate
# zsh completion of reelgate: eval "$(reelgate completion zsh)" in ~/.zshrc, after compinit
_reelgate() {
  local at='' next word
  local -a words_here
  for word in "\${(@)words[2,CURRENT-1]}"; do
    next="\${at:+$at }$word"
    case "$next" in
      ${pathCases(levels)}) at="$next" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  next="\${at:+$at }\${words[CURRENT-1]}"
  case "$next" in
${valueCases(levels, (choices) => `words_here=(${choices.map(quote).join(' ')})`)}
  esac
  _describe 'reelgate' words_here || _files
}
compdef _reelgate reelgate
`;
}

function toFish(levels: readonly Level[]): string {
  const lines = levels.flatMap(({ path, commands, options }) => [
    ...commands.map(
      ({ word, description }) =>
        `complete -c reelgate -n ${quote(`test (__reelgate_at) = "${path}"`)} -f -a ${word} -d ${quote(firstSentence(description))}`,
    ),
    ...options.map(({ word, description, takesValue, choices }) => {
      const value = choices.length > 0 ? ` -x -a ${quote(choices.join(' '))}` : takesValue ? ' -r' : '';
      return `complete -c reelgate -n ${quote(`test (__reelgate_at) = "${path}"`)} -l ${word.slice(2)}${value} -d ${quote(firstSentence(description))}`;
    }),
  ]);
  return `# fish completion of reelgate: reelgate completion fish > ~/.config/fish/completions/reelgate.fish
function __reelgate_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        set -l next (string trim "$at $word")
        if contains -- $next ${pathCases(levels).replaceAll('|', ' ')}
            set at $next
        end
    end
    echo "$at"
end
${lines.join('\n')}
`;
}

/** Generates a shell's completion script, with every command and option of the program. */
export function completionScript(program: Command, shell: Shell): string {
  const levels = listLevels(program);
  return { bash: toBash, zsh: toZsh, fish: toFish }[shell](levels);
}
