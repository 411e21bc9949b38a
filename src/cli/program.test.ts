import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Command, InvalidArgumentError } from 'commander';
import { completionScript, SHELLS, type Shell } from './commands/completion.ts';
import { createProgram } from './program.ts';
import { EPILOGUE_ZH_CN, HELP_ZH_CN, translateHelp, translateUsageError } from './translate-help.ts';

const program = createProgram(false);

/** Runs a script in a shell without reading any of the user's files. */
function runIn(shell: Shell, script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'rg-shell-'));
  try {
    const bare = { bash: ['--norc'], zsh: ['-f'], fish: ['--no-config'] }[shell];
    const env = { PATH: process.env.PATH ?? '', HOME: folder, XDG_CONFIG_HOME: folder, TERM: 'dumb' };
    return execFileSync(shell, [...bare, '-c', script], { encoding: 'utf8', env });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Prints each shell's candidates for a line whose last word is incomplete. */
const COMPLETIONS: Readonly<Record<Shell, (words: readonly string[]) => string>> = {
  bash: (words) => `${completionScript(program, 'bash')}
COMP_WORDS=(reelgate ${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length}
_reelgate
printf '%s\\n' "\${COMPREPLY[@]}"`,
  // zsh's completion system only works inside its line editor, so the test prints the script's candidates instead.
  zsh: (words) => `compdef() { }
_files() { }
_describe() { print -rl -- "\${(@)\${(@P)2}%%:*}" }
${completionScript(program, 'zsh')}
words=(reelgate ${words.map((word) => `'${word}'`).join(' ')})
CURRENT=${words.length + 1}
_reelgate`,
  fish: (words) => `${completionScript(program, 'fish')}
complete -C "reelgate ${words.map((word) => (word.includes(' ') ? `'${word}'` : word)).join(' ')}"`,
};

function complete(shell: Shell, ...words: string[]): string[] {
  const offered = runIn(shell, COMPLETIONS[shell](words))
    .trim()
    .split('\n')
    .map((line) => line.split('\t')[0] ?? '');
  // zsh itself filters the candidates by the typed word.
  return offered.filter((word) => word.startsWith(words.at(-1) ?? ''));
}

for (const shell of SHELLS) {
  const isMissing = spawnSync(shell, ['-c', 'true']).error !== undefined;
  test(`${shell} completes commands, subcommands, options and option values`, { skip: isMissing }, () => {
    assert.deepEqual(complete(shell, 'vid'), ['video']);
    assert.ok(complete(shell, '').includes('login'));
    assert.ok(complete(shell, 'video', '').includes('create'));
    assert.deepEqual(complete(shell, 'video', 'create', '--sec'), ['--seconds']);
    assert.deepEqual(
      complete(shell, 'video', 'create', 'a cat', '--sec'),
      ['--seconds'],
      'an argument ends no command',
    );
    assert.deepEqual(complete(shell, '--json', 'admin', 'back'), ['backup']);
    assert.deepEqual(complete(shell, 'models', '--kind', 'v'), ['video']);
    assert.deepEqual(complete(shell, 'completion', 'z'), ['zsh']);
    assert.ok(complete(shell, 'tokens', '').includes('create'), 'the other name of a command');
    assert.ok(!complete(shell, 'video', 'create', '--model', '').includes('--seconds'), 'a value is no option');
  });

  test(`the ${shell} script is valid and contains every command`, { skip: isMissing }, () => {
    const script = completionScript(program, shell);
    const { status, stderr } = spawnSync(shell, ['-n', '-c', script], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    for (const command of program.commands) assert.ok(script.includes(command.name()), command.name());
  });
}

test('no option shows an internal value as its default, and a wrong value is wrong usage', () => {
  const check = (command: Command): void => {
    assert.doesNotMatch(command.helpInformation(), /default: [[{]/);
    for (const { parseArg, flags, defaultValue } of command.options)
      try {
        parseArg?.('\0', defaultValue);
      } catch (error) {
        assert.ok(error instanceof InvalidArgumentError, `${command.name()} ${flags}: ${error}`);
      }
    command.commands.forEach(check);
  };
  check(program);
});

test('a misspelled command is unknown, also in a group that lists by default', async (context) => {
  const printed: string[] = [];
  context.mock.method(process.stderr, 'write', (text: string) => printed.push(text));
  const exit = context.mock.method(process, 'exit', () => {
    throw new Error('ended');
  });
  for (const command of [
    ['vidoe', 'list'],
    ['video', 'lst'],
    ['files', 'uplod', 'cat.png'],
    ['keys', 'creat'],
  ])
    await assert.rejects(createProgram(false).parseAsync(command, { from: 'user' }), /ended/);
  assert.deepEqual(
    exit.mock.calls.map(({ arguments: [status] }) => status),
    [2, 2, 2, 2],
  );
  assert.deepEqual(printed.join('').match(/unknown command '\w+'/g), [
    "unknown command 'vidoe'",
    "unknown command 'lst'",
    "unknown command 'uplod'",
    "unknown command 'creat'",
  ]);
});

test('every line of the Chinese help is Chinese, apart from commands', (context) => {
  const chinese = createProgram(false, EPILOGUE_ZH_CN);
  translateHelp(chinese, false);
  const printed: string[] = [];
  context.mock.method(process.stdout, 'write', (text: string) => printed.push(text));
  const print = (command: Command): void => {
    command.configureOutput({ getOutHelpWidth: () => 10_000 });
    command.outputHelp();
    command.commands.forEach(print);
  };
  print(chinese);
  context.mock.restoreAll();
  const lines = printed.join('').split('\n');
  assert.ok(lines.length > 1_000);
  assert.deepEqual(
    lines.filter((line) => /[A-Za-z]{3}/.test(line) && !/[\u4e00-\u9fff]|^ {2}\$ /.test(line)),
    [],
    'add the Chinese text to src/cli/translate-help.ts',
  );
});

test('every text of the help has a Chinese one', () => {
  const texts = new Set<string>();
  const collect = (command: Command): void => {
    for (const text of [
      command.description(),
      ...command.options.flatMap(({ description, defaultValueDescription = '' }) => [
        description,
        defaultValueDescription,
      ]),
      ...command.registeredArguments.map(({ description }) => description),
    ])
      if (text !== '') texts.add(text);
    command.commands.forEach(collect);
  };
  collect(createProgram(false));
  // Lines below the options.
  for (const text of Object.keys(HELP_ZH_CN)) if (/^Examples?:$|^In CI /.test(text)) texts.add(text);
  assert.deepEqual(
    [...texts].filter((text) => HELP_ZH_CN[text] === undefined),
    [],
    'add the Chinese text to src/cli/translate-help.ts',
  );
  assert.deepEqual(
    Object.keys(HELP_ZH_CN).filter((text) => !texts.has(text)),
    [],
    'no command has these texts of src/cli/translate-help.ts',
  );
});

test('help and wrong usage are in Chinese, except for programs', () => {
  const chinese = createProgram(false, '示例');
  translateHelp(chinese, false);
  const create = chinese.commands.find((command) => command.name() === 'video')?.commands[0];
  const help = create?.helpInformation() ?? '';
  assert.match(help, /用法：\S+ video create/);
  assert.match(help, /视频内容/);
  assert.doesNotMatch(help, /Options:|default:/);
  assert.equal(
    translateUsageError("error: unknown option '--sed'\n(Did you mean --seed?)"),
    '错误：未知选项“--sed”\n（是否想用 --seed？）',
  );
  assert.equal(
    translateUsageError("error: option '--days <n>' argument 'a' is invalid. Give a whole number from 1."),
    '错误：选项“--days <n>”的值“a”无效。请给出不小于 1 的整数。',
  );
  assert.equal(
    translateUsageError("error: option '--kind <kind>' argument 'a' is invalid. Allowed choices are video, chat."),
    '错误：选项“--kind <kind>”的值“a”无效，可选：video, chat',
  );
});
