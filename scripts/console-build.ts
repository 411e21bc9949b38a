import { spawnSync } from 'node:child_process';
import { existsSync, globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFolder } from './replace-folder.ts';

const SOURCES = ['src/console/**/*', 'src/design/**/*', 'src/contract/**/*', 'src/sdk/**/*', 'package-lock.json'];
const viteOf = (root: string): string => join(root, 'node_modules/vite/bin/vite.js');

/** Whether the packages required to build the console are installed. */
export const canBuildConsole = (root: string): boolean => existsSync(viteOf(root));

/** Whether the console was built after the last change of its sources. */
export function isConsoleFresh(root: string): boolean {
  const built = statSync(join(root, 'dist/console/index.html'), { throwIfNoEntry: false });
  if (built === undefined || !existsSync(join(root, 'dist/console/assets'))) return false;
  return globSync(SOURCES, { cwd: root }).every((path) => statSync(join(root, path)).mtimeMs < built.mtimeMs);
}

/** @throws Error if the build fails; the existing console is kept */
export async function buildConsole(root: string): Promise<void> {
  await replaceFolder(join(root, 'dist/console'), (folder) => {
    const options = ['--outDir', folder, '--emptyOutDir', '--logLevel', 'warn'];
    const { status } = spawnSync(process.execPath, [viteOf(root), 'build', 'src/console', ...options], {
      cwd: root,
      stdio: 'inherit',
    });
    if (status !== 0) throw new Error('the console does not build; what is wrong stands above');
  });
}
