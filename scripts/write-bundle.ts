import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import type { BundleManifest } from '../bin/find-program-bundle.js';
import { replaceFolder } from './replace-folder.ts';

/** Programs to bundle and the destination. */
export interface BundleOptions {
  /** The folder of the package. */
  readonly root: string;
  /** Paths of the programs relative to the root. */
  readonly programs: readonly string[];
  /** Folder for `<name of the program>.js`, two levels below the root; its contents are replaced. */
  readonly folder: string;
}

/** The server, as run by `bin/server.js`. */
export const SERVER_BUNDLE = { programs: ['src/server/main.ts'], folder: 'dist/server' } as const;

/**
 * Bundles programs with all their imports: one JavaScript file each, plus shared chunks (bin/find-program-bundle.js).
 */
export async function writeBundle({ root, programs, folder }: BundleOptions): Promise<void> {
  await replaceFolder(join(root, folder), async (temporary) => {
    await bundleInto(temporary, root, programs);
    keepChunks(join(root, folder), temporary);
  });
}

/** Keeps the chunks of the previous bundle, because a process running it may import some of them later. */
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
    // Native, optional, and read by the command line alone.
    external: ['@napi-rs/keyring'],
    // Hides warnings about optional packages that are not installed.
    logLevel: 'silent',
  });
  const { output } = await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    // All chunks in one folder, because code locates the package's files relative to two levels below the root.
    chunkFileNames: '[name]-[hash].js',
    // A single character beyond Latin-1 would double the memory of the code's text; this option does not escape
    // comments.
    charset: 'ascii',
    comments: false,
    // Class and function names appear in logs and errors.
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
  // Written last: without this file the sources are run.
  const names = chunks.map(({ fileName }) => fileName);
  const manifest: BundleManifest = { builtAt, sources: Object.fromEntries(sources), chunks: names };
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
}
