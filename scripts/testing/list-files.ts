import { globSync } from 'node:fs';

/** Batteries that take long start first, so that no core idles at the end. */
const SLOW_FIRST = ['test/browser/', 'test/faults/', 'test/flows/', 'test/'];

const rank = (path: string) => {
  const index = SLOW_FIRST.findIndex((prefix) => path.startsWith(prefix));
  return index === -1 ? SLOW_FIRST.length : index;
};

/** Test files relative to `root`, slow batteries first; with words only those whose path holds one of them. */
export function listTestFiles(root: string, words: readonly string[]): string[] {
  return globSync(['src/**/*.test.{ts,tsx}', 'test/**/*.test.{ts,tsx}'], { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}
