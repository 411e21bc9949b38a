import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Unit tests run first, so that a broken build shows within a minute; browser tests run last. */
const LATER_FOLDERS = ['test/browser/', 'test/faults/', 'test/'];

const folderRank = (path: string): number => {
  const index = LATER_FOLDERS.findIndex((prefix) => path.startsWith(prefix));
  return index === -1 ? 0 : LATER_FOLDERS.length - index;
};

/** Test files relative to `root`, in the order they run; with words, only those whose path contains one of them. */
export const listTestFiles = (root: string, words: readonly string[]): string[] =>
  globSync('{src,importer,test}/**/*.test.{ts,tsx}', { cwd: root, exclude: (path) => path.includes('node_modules') })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
    .sort((a, b) => folderRank(a) - folderRank(b) || a.localeCompare(b));

/** More files would delay the end of the run; fewer load and compile the service more often. */
const MAX_GROUP_FILES = 12;
/** Browser tests take a minute per file and end the run: with larger groups one worker would finish minutes later. */
const MAX_BROWSER_FILES = 6;

/** Divides files, in order, into groups that share a process. */
export function groupTestFiles(root: string, files: readonly string[]): string[][] {
  const byKind = Map.groupBy(files, (path) => (runsAlone(root, path) ? path : folderRank(path)));
  return [...byKind.values()].flatMap((paths) => {
    const max = paths[0]?.startsWith('test/browser/') ? MAX_BROWSER_FILES : MAX_GROUP_FILES;
    const size = Math.ceil(paths.length / Math.ceil(paths.length / max));
    return Array.from({ length: Math.ceil(paths.length / size) }, (_, i) => paths.slice(i * size, (i + 1) * size));
  });
}

/** Modules with a top-level `await` cannot be loaded synchronously (scripts/testing/test-group.ts). */
const runsAlone = (root: string, path: string): boolean =>
  /^[^\s/*].*\bawait /m.test(readFileSync(join(root, path), 'utf8'));
