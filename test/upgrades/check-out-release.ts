import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVER } from '../operations/server-process.ts';

const root = join(import.meta.dirname, '../..');
const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

export interface Release {
  /** Arguments of Node that start its server. */
  readonly program: readonly string[];
  remove(): void;
}

/**
 * The code of a release as its tag has it, with the packages of this working tree. Where there is no such tag, as before the first release,
 * the working tree is that release.
 */
export function checkOutRelease(version: string): Release {
  const tag = `v${version}`;
  if (!existsSync(join(root, '.git')) || git('tag', '--list', tag) === '')
    return { program: [SERVER], remove: () => {} };
  const folder = mkdtempSync(join(tmpdir(), 'rg-release-'));
  const archive = join(folder, 'release.tar');
  git('archive', '--output', archive, tag, 'bin', 'src', 'package.json');
  execFileSync('tar', ['-xf', archive, '-C', folder]);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  // A page to answer with; what is in it does not matter here.
  mkdirSync(join(folder, 'dist'), { recursive: true });
  if (existsSync(join(root, 'dist'))) cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  return {
    program: [join(folder, 'bin/server.js')],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
