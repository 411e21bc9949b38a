import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';

const root = join(import.meta.dirname, '..');

it('the linter reports a planted floating promise and a planted misused one, and nothing else', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-promises-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { strict: true, lib: ['esnext'] } }));
  writeFileSync(
    join(folder, 'planted.ts'),
    `const work = async (): Promise<boolean> => true;
export function floating(): void {
  work();
}
export const misused = (): number => (work() ? 1 : 2);
export const sound = async (): Promise<number> => ((await work()) ? 1 : 2);
`,
  );
  const { stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/.bin/oxlint'), '--type-aware', '--format=json', '-c', join(root, '.oxlintrc.json'), '.'],
    { cwd: folder, encoding: 'utf8' },
  );
  const { diagnostics } = JSON.parse(stdout) as { readonly diagnostics: readonly { readonly code: string }[] };
  assert.deepEqual(diagnostics.map(({ code }) => code).sort(), [
    'typescript(no-floating-promises)',
    'typescript(no-misused-promises)',
  ]);
});
