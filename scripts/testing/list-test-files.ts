import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

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
const maxFilesOf = (path = ''): number => (path.startsWith('test/browser/') ? MAX_BROWSER_FILES : MAX_GROUP_FILES);
/** The folder: `src/server/accounts`, `test/chat` or `test`. */
const subjectOf = (path: string): string =>
  dirname(path)
    .split('/', path.startsWith('src/') ? 3 : 2)
    .join('/');
/** `src/server`, `src/console`, `test` or `test/browser`: subjects of one area load mostly the same modules. */
const areaOf = (path: string): string =>
  LATER_FOLDERS.find((prefix) => path.startsWith(prefix)) ?? path.split('/', 2).join('/');

/** Divides files, in order, into groups that share a process: those of a large subject, or those of several small ones. */
export function groupTestFiles(root: string, files: readonly string[]): string[][] {
  const [alone = [], others = []] = [true, false].map((isAlone) =>
    files.filter((path) => runsAlone(root, path) === isAlone),
  );
  const bySubject = [...Map.groupBy(others, subjectOf).values()].flatMap((paths) => {
    const size = Math.ceil(paths.length / Math.ceil(paths.length / maxFilesOf(paths[0])));
    return Array.from({ length: Math.ceil(paths.length / size) }, (_, i) => paths.slice(i * size, (i + 1) * size));
  });
  const groups: string[][] = [];
  for (const paths of bySubject) {
    const [last, first = ''] = [groups.at(-1), paths[0]];
    const isSameArea = last?.[0] !== undefined && areaOf(last[0]) === areaOf(first);
    if (isSameArea && last.length + paths.length <= maxFilesOf(first)) last.push(...paths);
    else groups.push([...paths]);
  }
  const rankOf = ([path = '']: readonly string[]): number => folderRank(path);
  return [...groups, ...alone.map((path) => [path])].sort((a, b) => rankOf(a) - rankOf(b));
}

/**
 * Modules with a top-level `await` cannot be loaded synchronously (scripts/testing/test-group.ts). One that this does
 * not find runs alone after its group has failed to load it.
 */
const runsAlone = (root: string, path: string): boolean =>
  /^(?:(?:export )?(?:const|let) [^=]+= )?await /m.test(readFileSync(join(root, path), 'utf8'));
