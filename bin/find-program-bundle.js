import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * `manifest.json` in a folder of bundles (scripts/write-bundle.ts).
 *
 * @typedef {object} BundleManifest
 * @property {number} builtAt Unix ms before the first source was read
 * @property {string[]} [chunks] names of the files that belong to it
 * @property {Record<string, number>} sources Unix seconds of their last change, by path from the root; those of packages left out
 */

/**
 * A bundled program: read at once, where its sources and packages are some 2,300 files.
 *
 * @param {string} root folder of the package
 * @param {string} path of the program from there
 * @returns {string | undefined} its whole path; undefined where none was built, or a source was changed since: the sources are run then
 */
export function findProgramBundle(root, path) {
  try {
    /** @type {BundleManifest} */
    const { builtAt, sources } = JSON.parse(readFileSync(join(root, path, '../manifest.json'), 'utf8'));
    // Not only newer ones: a copy of another release keeps the times of its files. Whole seconds, as layers of images keep no more.
    const isUnchanged = (/** @type {[string, number]} */ [source, changedAt]) => {
      const { mtimeMs } = statSync(join(root, source));
      return mtimeMs < builtAt && Math.floor(mtimeMs / 1000) === changedAt;
    };
    return Object.entries(sources).every(isUnchanged) ? join(root, path) : undefined;
  } catch {
    return undefined;
  }
}
