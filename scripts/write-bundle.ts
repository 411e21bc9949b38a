import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import type { BundleManifest } from '../bin/find-program-bundle.js';
import { replaceFolder } from './replace-folder.ts';

export interface BundleOptions {
  /** The folder of the package. */
  readonly root: string;
  /** Paths of programs from there. */
  readonly programs: readonly string[];
  /** Where `<name of the program>.js` is written, two folders below the root; is replaced. */
  readonly folder: string;
}

/** The server, as `bin/server.js` runs it. */
export const SERVER_BUNDLE = { programs: ['src/server/main.ts'], folder: 'dist/server' } as const;

/** Bundles programs with all they import, each into one file of JavaScript beside what they share (bin/find-program-bundle.js). */
export async function writeBundle({ root, programs, folder }: BundleOptions): Promise<void> {
  await replaceFolder(join(root, folder), async (temporary) => {
    await bundleInto(temporary, root, programs);
    keepChunks(join(root, folder), temporary);
  });
}

/** Those of the bundle before: a process that runs it may import some of them later. */
function keepChunks(old: string, folder: string): void {
  const manifest = join(old, 'manifest.json');
  if (!existsSync(manifest)) return;
  const { chunks = [] } = JSON.parse(readFileSync(manifest, 'utf8')) as BundleManifest;
  for (const name of chunks)
    if (existsSync(join(old, name)) && !existsSync(join(folder, name))) cpSync(join(old, name), join(folder, name));
}

async function bundleInto(folder: string, root: string, programs: readonly string[]): Promise<void> {
  const builtAt = Date.now();
  const bundle = await rolldown({
    input: programs.map((path) => join(root, path)),
    cwd: root,
    platform: 'node',
    // Packages name optional ones that are not installed, as they may.
    logLevel: 'silent',
  });
  const { output } = await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    // All in one folder: code finds the files of the package from two folders below its root.
    chunkFileNames: '[name]-[hash].js',
    // One character beyond Latin-1 would double what the text of all the code takes in memory; no comment is escaped.
    charset: 'ascii',
    comments: false,
    // Names of classes and functions stand in logs and errors.
    keepNames: true,
  });
  await bundle.close();
  const chunks = output.filter((file) => file.type === 'chunk');
  const wide = chunks.find(({ code }) => /\P{ASCII}/u.test(code));
  if (wide !== undefined)
    throw new Error(`${wide.fileName} has a character beyond ASCII, in a tagged template perhaps`);
  const sources = chunks
    .flatMap(({ moduleIds }) => moduleIds)
    .map((id) => relative(root, id))
    .filter((path) => /^(src|importer|test)\b/.test(path))
    .map((path) => [path, Math.floor(statSync(join(root, path)).mtimeMs / 1000)]);
  // Written last: without it the sources are run.
  const names = chunks.map(({ fileName }) => fileName);
  const manifest: BundleManifest = { builtAt, sources: Object.fromEntries(sources), chunks: names };
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
}
