import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { completionScript, SHELLS } from './completion.ts';
import { createProgram } from './program.ts';

const program = createProgram(false);

/** What bash offers for a line; the last word is the one being typed. */
function completeInBash(...words: string[]): string[] {
  const script = `${completionScript(program, 'bash')}
COMP_WORDS=(reelgate ${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length}
_reelgate
printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8' }).trim().split('\n');
}

test('bash offers commands, their commands and their options', () => {
  assert.deepEqual(completeInBash('vid'), ['video']);
  assert.ok(completeInBash('').includes('login'));
  assert.ok(completeInBash('video', '').includes('create'));
  assert.deepEqual(completeInBash('video', 'create', '--sec'), ['--seconds']);
  assert.deepEqual(completeInBash('video', 'create', 'a cat', '--sec'), ['--seconds'], 'an argument ends no command');
  assert.deepEqual(completeInBash('--json', 'admin', 'back'), ['backup']);
});

test('every command is in the script of every shell', () => {
  const names = program.commands.map((command) => command.name());
  for (const shell of SHELLS) {
    const script = completionScript(program, shell);
    for (const name of names) assert.ok(script.includes(name), `${shell}: ${name}`);
  }
});

for (const shell of SHELLS)
  test(`the script is sound for ${shell}`, (context) => {
    const { status, stderr, error } = spawnSync(shell, ['-n', '-c', completionScript(program, shell)], {
      encoding: 'utf8',
    });
    if (error !== undefined) return context.skip(`${shell} is not installed`);
    assert.equal(status, 0, stderr);
  });
