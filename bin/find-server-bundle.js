import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * `dist/server/manifest.json`.
 *
 * @typedef {object} ServerBundleManifest
 * @property {string} entry name of the file that is run
 * @property {number} builtAt Unix ms before its first source was read
 * @property {string[]} sources paths of its sources from the root, those of packages left out
 */

/**
 * The bundled server (scripts/build-server.ts): read at once, where its sources and packages are some 2,300 files.
 *
 * @param {string} root folder of the package
 * @returns {string | undefined} its path; undefined where none was built, or a source was changed since: the sources are run then
 */
export function findServerBundle(root) {
  const folder = join(root, 'dist/server');
  try {
    /** @type {ServerBundleManifest} */
    const { entry, builtAt, sources } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
    const isUnchanged = (/** @type {string} */ path) =>
      (statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? Infinity) < builtAt;
    return sources.every(isUnchanged) ? join(folder, entry) : undefined;
  } catch {
    return undefined;
  }
}
