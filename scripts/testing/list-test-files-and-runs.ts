import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Unit tests come first, so that a broken build shows within a minute; whole browsers come last. */
const LATER_FOLDERS = ['test/browser/', 'test/faults/', 'test/'];

const folderRank = (path: string): number => {
  const index = LATER_FOLDERS.findIndex((prefix) => path.startsWith(prefix));
  return index === -1 ? 0 : LATER_FOLDERS.length - index;
};

/**
 * Test files relative to `root`; with words only those whose path contains one of them. Within each group the slowest
 * come first, so that no core idles at the end of it while one long file is still running.
 *
 * @param durationsMs of an earlier run, by path
 */
export function listTestFiles(
  root: string,
  words: readonly string[],
  durationsMs: Readonly<Record<string, number>> = {},
): string[] {
  const known = (path: string): number => durationsMs[path] ?? 0;
  return globSync('{src,importer,test}/**/*.test.{ts,tsx}', {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
    .sort((a, b) => folderRank(a) - folderRank(b) || known(b) - known(a) || a.localeCompare(b));
}

/** What one process runs. */
export interface TestRun {
  readonly path: string;
  /** Of the two its tests are written for, the one they are to run on; undefined: both, one after the other. */
  readonly database?: 'sqlite' | 'postgres';
}

/** A run for each file; for one whose tests run on both databases two, which go on at the same time. */
export const splitByDatabase = (root: string, paths: readonly string[]): TestRun[] =>
  paths.flatMap((path): TestRun[] =>
    readFileSync(join(root, path), 'utf8').includes('forEachDatabase(')
      ? [
          { path, database: 'postgres' },
          { path, database: 'sqlite' },
        ]
      : [{ path }],
  );
