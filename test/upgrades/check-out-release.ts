import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVER } from '../operations/server-process.ts';

const root = join(import.meta.dirname, '../..');
const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

/** A checked-out release. */
export interface Release {
  /** Node arguments that start its server. */
  readonly program: readonly string[];
  remove(): void;
}

/**
 * The code of a release at its tag, with the packages of this working tree. Without such a tag, as before the first
 * release, the working tree counts as that release.
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
  // A page to respond with; its content does not matter here.
  mkdirSync(join(folder, 'dist'), { recursive: true });
  if (existsSync(join(root, 'dist'))) cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  return {
    program: [join(folder, 'bin/server.js')],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
