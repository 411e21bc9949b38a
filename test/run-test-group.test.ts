import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { it, type TestContext } from 'node:test';

const root = join(import.meta.dirname, '..');
const RUNNER = join(root, 'scripts/testing/run-test-group.ts');

/** Runs files with these contents in one group; the last result of each file counts. */
function failuresOf(t: TestContext, contents: Readonly<Record<string, string>>): Record<string, [number, number]> {
  mkdirSync(join(root, 'out'), { recursive: true });
  const folder = mkdtempSync(join(root, 'out', 'group-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(contents))
    writeFileSync(join(folder, `${name}.test.ts`), `import { after, describe, test } from 'node:test';\n${content}`);
  const paths = Object.keys(contents).map((name) => join(relative(root, folder), `${name}.test.ts`));
  const program = `import { runTestGroup } from ${JSON.stringify(RUNNER)};
    const results = {};
    await runTestGroup(${JSON.stringify(root)}, { paths: ${JSON.stringify(paths)} }, new AbortController().signal,
      ({ name, passed, failed }) => { results[/(\\w+)\\.test/.exec(name)[1]] = [passed, failed]; });
    console.log(JSON.stringify(results));`;
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  writeFileSync(join(folder, 'run.mjs'), program);
  const { stdout, stderr } = spawnSync(process.execPath, [join(folder, 'run.mjs')], {
    cwd: root,
    env,
    encoding: 'utf8',
  });
  return JSON.parse(stdout || JSON.stringify(stderr)) as Record<string, [number, number]>;
}

const SOUND = "test('sound', () => {});";

it('counts the passed and failed tests of each file of a process', (t) => {
  const failing = "test('one', () => {});\ndescribe('two', () => test('no', () => { throw new Error('no'); }));";
  assert.deepEqual(failuresOf(t, { first: SOUND, failing, last: SOUND }), {
    first: [1, 0],
    failing: [1, 1],
    last: [1, 0],
  });
});

it('runs the files again that a dying process did not reach', (t) => {
  const dying = "test('exits', () => process.exit(3));";
  assert.deepEqual(failuresOf(t, { first: SOUND, dying, last: SOUND }), {
    first: [1, 0],
    dying: [0, 1],
    last: [1, 0],
  });
});

it('finds the file of an error that occurred after its test', (t) => {
  const late = `test('late', () => void setTimeout(() => { throw new Error('late'); }, 1));
test('waits', () => new Promise((resolve) => setTimeout(resolve, 50)));`;
  assert.deepEqual(failuresOf(t, { first: SOUND, late, last: SOUND }), { first: [1, 0], late: [2, 1], last: [1, 0] });
});

it('runs a file with a top-level await in its own process', (t) => {
  const awaiting = `const value = await Promise.resolve(1);\ntest('sound', () => void value);`;
  assert.deepEqual(failuresOf(t, { awaiting, last: SOUND }), { awaiting: [1, 0], last: [1, 0] });
});
