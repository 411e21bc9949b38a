import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import type { BundleManifest } from '../../bin/find-program-bundle.js';

/** Files of the package besides the code; tests, benches and the console's sources are left out. */
const COPIED = [
  'LICENSE',
  'README.md',
  'README.zh-CN.md',
  '.env.example',
  'deploy',
  'dist/console',
  'dist/server',
  'docs',
];
/** Created by the first release. */
const CHANGELOG = 'CHANGELOG.md';
const CODE = ['bin/*.js', 'scripts/quickstart.ts', 'src/{contract,design,sdk,cli,server,sandbox}/**/*.ts'];
const TESTS = /\.(?:test|fixture)\.ts$/;
/** Files that belong to the packages of the SDK and the command line (scripts/packages). */
const CLIENT_PACKAGE_FILES = /^src\/(?:sdk|cli)\/(?:package\.json|README\.md)$/;
/** Fields of package.json that only matter during development. */
const DEVELOPMENT_FIELDS = ['private', 'devDependencies', 'scripts'] as const;

/**
 * Writes the contents of the package as JavaScript, because Node strips no types from files inside `node_modules`.
 * Nothing is compiled: types become blanks, so that lines and columns match the source.
 *
 * @param root the repository, with the console built
 * @param folder is emptied first
 */
export function writePackageFolder(root: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  for (const path of globSync(CODE, { cwd: root, exclude: (name) => TESTS.test(name) })) {
    const text = readFileSync(join(root, path), 'utf8');
    const plain = path.endsWith('.ts') ? stripTypeScriptTypes(text) : text;
    const target = join(folder, path.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, namePlainFiles(plain));
  }
  // Other files the code reads at run time.
  for (const path of globSync('src/{contract,design,sdk,cli,server,sandbox}/**/*.*', { cwd: root }))
    if (!path.endsWith('.ts') && !CLIENT_PACKAGE_FILES.test(path)) copy(root, folder, path);
  for (const path of COPIED) copy(root, folder, path);
  keepServerBundle(join(folder, 'dist/server/manifest.json'));
  if (existsSync(join(root, CHANGELOG))) copy(root, folder, CHANGELOG);
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>;
  for (const field of DEVELOPMENT_FIELDS) delete manifest[field];
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/**
 * Writes the importer as a package that is installed next to the service's, whose modules it imports.
 *
 * @param folder is emptied first
 */
export function writeImporterFolder(root: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  for (const path of globSync('importer/{*,mapping/*}.ts', { cwd: root })) {
    const target = join(folder, path.replace(/^importer\//, '').replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    const plain = stripTypeScriptTypes(readFileSync(join(root, path), 'utf8'));
    writeFileSync(target, namePlainFiles(plain).replace(/(['"])(?:\.\.\/)+(src\/[^'"\n]+\.js)\1/g, '$1reelgate/$2$1'));
  }
  const { private: _, ...manifest } = JSON.parse(readFileSync(join(root, 'importer/package.json'), 'utf8'));
  const whole = {
    ...manifest,
    exports: './import.js',
    // Optional, so that npm does not install a second service next to the existing one.
    peerDependencies: { reelgate: manifest.version },
    peerDependenciesMeta: { reelgate: { optional: true } },
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(whole, undefined, 2)}\n`);
  copy(root, folder, 'LICENSE');
}

/** Marks the bundle as current whatever the file times, because the sources of an installed package never change. */
function keepServerBundle(path: string): void {
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as BundleManifest;
  writeFileSync(path, JSON.stringify({ ...manifest, sources: {} } satisfies BundleManifest));
}

/** Skips screenshots, which are for readers of the repository. */
const copy = (root: string, folder: string, path: string): void =>
  cpSync(join(root, path), join(folder, path), { recursive: true, filter: (from) => !from.includes('screenshots') });

/** `'../src/cli/main.ts'` → `'../src/cli/main.js'`, in imports and in URLs of neighbouring files. */
const namePlainFiles = (text: string): string => text.replace(/(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g, '$1$2.js$1');
