import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

/** How a module imports another: `type` imports vanish before Node runs the file, `dynamic` ones are `import('…')`. */
export type ImportKind = 'value' | 'type' | 'dynamic';

/** One import, re-export or `import()` of a module. */
export interface ModuleImport {
  kind: ImportKind;
  /** As written: `./store.ts`, `node:crypto`, `fastify`. */
  specifier: string;
  /** The imported file, relative to the repository, if the specifier is relative; otherwise the package name. */
  target: string;
  line: number;
}

/** A TypeScript file with its imports. */
export interface SourceFile {
  /** Relative to the repository, with forward slashes: `src/server/quota/ledger.ts`. */
  path: string;
  text: string;
  lineCount: number;
  imports: ModuleImport[];
}

const STATEMENT = /^[ \t]*(import|export)\s+(type\s+)?(?:[\w$*\s{},]*?\sfrom\s*)?['"]([^'"\n]+)['"]/gm;
const CALL = /\bimport\(\s*['"]([^'"\n]+)['"]\s*\)(\s*\.\s*[A-Z])?/g;
const COMMENT = /\/\*[\s\S]*?\*\/|^[ \t]*\/\/.*$/gm;

function targetOf(path: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier);
  if (specifier.startsWith('node:')) return specifier;
  const parts = specifier.split('/');
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
}

/**
 * Reads the imports of a formatted TypeScript module. Biome enforces the format, so statements start their line and
 * patterns are sufficient; the self-test in architecture.test.ts covers the supported forms.
 */
export function toSourceFile(path: string, text: string): SourceFile {
  const code = text.replace(COMMENT, (comment) => comment.replace(/[^\n]/g, ' '));
  const lineAt = (index: number) => code.slice(0, index).split('\n').length;
  const imports: ModuleImport[] = [];
  for (const match of code.matchAll(STATEMENT)) {
    const specifier = match[3] ?? '';
    const kind = match[2] === undefined ? 'value' : 'type';
    const indent = match[0].length - match[0].trimStart().length;
    imports.push({ kind, specifier, target: targetOf(path, specifier), line: lineAt(match.index + indent) });
  }
  for (const match of code.matchAll(CALL)) {
    const specifier = match[1] ?? '';
    // `import('./x.ts').Name` denotes a type.
    const kind = match[2] === undefined ? 'dynamic' : 'type';
    imports.push({ kind, specifier, target: targetOf(path, specifier), line: lineAt(match.index) });
  }
  return { path, text, lineCount: text.split('\n').length - (text.endsWith('\n') ? 1 : 0), imports };
}

/** Every TypeScript file below the given folders of the repository. */
export function readSourceFiles(root: string, folders: readonly string[]): SourceFile[] {
  const patterns = folders.map((folder) => `${folder}/**/*.{ts,tsx}`);
  return globSync(patterns, { cwd: root, exclude: (path) => path.includes('node_modules') })
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map((path) => toSourceFile(path, readFileSync(`${root}/${path}`, 'utf8')));
}
