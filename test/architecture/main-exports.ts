import { basename, dirname } from 'node:path';
import type { SourceFile } from './source-files.ts';

const EXPORT =
  /^export (?:default )?(?:abstract |async |declare )*(class|function\*?|const|let|interface|type) ([\w$]+)/gm;

/** Words that name the kind of a module; the folder names the subject. `zh-cn` names the language of a table. */
const KINDS = ['add', 'adapter', 'data', 'file', 'make', 'module', 'presenter', 'request', 'routes', 'store', 'table'];
const LANGUAGES = ['zh', 'cn', 'en'];

/** Modules of several exports named by the field's term for their subject, which no single export contains. */
const NAMED_BY_SUBJECT: ReadonlySet<string> = new Set([
  'src/console/data/browser-storage.ts',
  'src/console/vite-plugins.ts',
  'src/design/tokens.ts',
  'src/sandbox/chat.ts',
  'src/server/commands/accounts.ts',
  'src/server/platform/cache.ts',
  'src/server/platform/concurrency.ts',
  'src/server/platform/db/sql.ts',
  'src/server/platform/http/guards.ts',
  'src/server/vendors/registry.ts',
  'src/server/vendors/adapter.ts',
  'src/server/vendors/untrusted-json.ts',
]);

/** Files whose name a tool demands: entry points, and the module that Vite puts in place of the package `typebox`. */
const isNamedByTool = (path: string): boolean =>
  /\/(index|main)\.tsx?$|\.config\.ts$/.test(path) || path === 'src/console/data/typebox-stub.ts';

/** One file per subject: endpoints of the contract, resources of the SDK. */
const hasSubjects = (path: string): boolean => /^src\/(contract|sdk)\/[\w-]+\.ts$/.test(path);

/** The word without its ending, so that `recovery` equals `recover` and `pricing` equals `price`. */
function stemOf(word: string): string {
  const singular = word
    .toLowerCase()
    .replace(/(?<=[a-z]{3})(ies|ys?)$/, '')
    .replace(/(?<=[a-z]{3})(es|s|e)$/, '');
  return singular.replace(/(?<=[a-z]{3})(ations?|ators?|ions?|ings?|ers?|ors?|ed|al)$/, '').replace(/(.)\1$/, '$1');
}

function wordsOf(name: string): string[] {
  const spaced = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2');
  return spaced
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map(stemOf);
}

const KIND_WORDS = KINDS.map(stemOf);
const contains = (all: readonly string[], some: readonly string[]): boolean => some.every((word) => all.includes(word));

/** Whether a file is named after its main export: after the only one, or after a word of one of several. */
export function isNamedAfterExport({ path, text }: Pick<SourceFile, 'path' | 'text'>): boolean {
  const found = [...text.matchAll(EXPORT)].map(([, kind = '', name = '']) => ({ kind, name }));
  if (found.length === 0 || isNamedByTool(path) || NAMED_BY_SUBJECT.has(path)) return true;
  const stem = basename(path).split('.', 1)[0] ?? '';
  const file = wordsOf(stem).filter((word) => !LANGUAGES.includes(word));
  const folder = wordsOf(basename(dirname(path)));
  const values = found.filter(({ kind }) => kind !== 'interface' && kind !== 'type');
  const names = found.map(({ name }) => ({ name, words: wordsOf(name) }));
  const isWhole = ({ name, words }: (typeof names)[number]): boolean =>
    contains([...words, ...KIND_WORDS], file) ||
    contains([...file, ...folder, ...KIND_WORDS], words) ||
    name.toLowerCase().includes(stem.replaceAll('-', ''));
  if (values.length <= 1) return names.some(isWhole);
  const isKind = contains(KIND_WORDS, file);
  const shares = names.some(({ words }) => words.some((word) => file.includes(word) || folder.includes(word)));
  return isKind || shares || hasSubjects(path);
}

const MAX_EXPORT_WORDS = 4;

/** Exported names of more than four words, which are sentences. Names of products count as one word. */
export function longExportsOf({ path, text }: Pick<SourceFile, 'path' | 'text'>): string[] {
  const names = [...text.matchAll(EXPORT)].map(([, , name = '']) => name);
  return names
    .filter(
      (name) => wordsOf(name.replace('OpenAi', 'Openai').replace(/claudeCode/i, 'Claude')).length > MAX_EXPORT_WORDS,
    )
    .map((name) => `${path} exports ${name}`);
}
