import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Command } from 'commander';
import { EXIT } from '../src/cli/errors.ts';
import { createProgram } from '../src/cli/program.ts';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const documents = ['README.md', 'README.zh-CN.md', 'docs/cli.md', 'docs/mail.md'];

/** All commands and command groups, as their full names. */
function pathsOf(command: Command, before: readonly string[] = []): string[] {
  return command.commands.flatMap((each) => {
    const path = [...before, each.name()];
    return [path.join(' '), ...pathsOf(each, path)];
  });
}
const paths = pathsOf(createProgram(false));

test('documents name only existing commands and options', () => {
  for (const document of documents)
    for (const [, words = ''] of read(document).matchAll(/(?:^|`|npx |\(|\| )reelgate ([a-z][^`\n|)#"]*)/gm)) {
      const [group = '', verb = ''] = words.trim().split(' ');
      const path = paths.includes(`${group} ${verb}`) ? `${group} ${verb}` : group;
      assert.ok(paths.includes(path), `${document}: reelgate ${words}`);
      const command = path
        .split(' ')
        .reduce<Command | undefined>(
          (at, name) => at?.commands.find((each) => each.name() === name),
          createProgram(false),
        );
      const known = [
        ...(command?.options ?? []),
        ...createProgram(false).options,
        ...(command?.commands[0]?.options ?? []),
      ];
      for (const [option] of words.matchAll(/--[a-z-]+/g))
        assert.ok(
          option === '--help' || known.some(({ long }) => long === option),
          `${document}: reelgate ${words} has no ${option}`,
        );
    }
});

test('docs/cli.md and the help list every exit status', () => {
  const table = [...read('docs/cli.md').matchAll(/^\| (\d+) \|/gm)].map(([, status]) => Number(status));
  assert.deepEqual(table, Object.values(EXIT));
});
