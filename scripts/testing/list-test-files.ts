import { globSync } from 'node:fs';

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
