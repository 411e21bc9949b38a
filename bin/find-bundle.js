import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * `manifest.json` in a folder of bundles (scripts/write-bundle.ts).
 *
 * @typedef {object} BundleManifest
 * @property {number} builtAt Unix ms before the first source was read
 * @property {string[]} sources their paths from the root, those of packages left out
 */

/**
 * A bundled program: read at once, where its sources and packages are some 2,300 files.
 *
 * @param {string} root folder of the package
 * @param {string} path of the program from there
 * @returns {string | undefined} its whole path; undefined where none was built, or a source was changed since: the sources are run then
 */
export function findBundle(root, path) {
  try {
    /** @type {BundleManifest} */
    const { builtAt, sources } = JSON.parse(readFileSync(join(root, path, '../manifest.json'), 'utf8'));
    const isUnchanged = (/** @type {string} */ source) =>
      (statSync(join(root, source), { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY) < builtAt;
    return sources.every(isUnchanged) ? join(root, path) : undefined;
  } catch {
    return undefined;
  }
}
