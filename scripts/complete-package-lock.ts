/**
 * `npm run lock`: adds the platform packages that npm omitted from package-lock.json.
 *
 * npm drops optional packages of other platforms from the lock if it cannot or need not install them here, and `npm ci`
 * then refuses the lock everywhere. npm fetches their hashes from the registry. Run this after adding a dependency;
 * test/package-lock.test.ts fails if the lock is incomplete.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { completeLock, isFromRegistry, type Lock, type LockEntry } from './package-lock/platform-packages.ts';

const path = join(import.meta.dirname, '..', 'package-lock.json');
const lock = JSON.parse(readFileSync(path, 'utf8')) as Lock;
const added = completeLock(lock);
const unhashed = Object.entries(lock.packages).filter(
  ([folder, entry]) => isFromRegistry(folder, entry) && !entry.integrity,
);
for (const [folder, entry] of unhashed) entry.integrity = await readIntegrity(folder, entry);
writeFileSync(path, `${JSON.stringify(lock, undefined, 2)}\n`);
console.log(added.length === 0 ? 'The lock is complete.' : `Added ${added.length}: ${added.join(', ')}`);
if (unhashed.length > 0) console.log(`Added the hashes of ${unhashed.length}.`);

/** Fetches a package's hash from the registry; without a hash `npm ci` would accept any file under that name. */
async function readIntegrity(folder: string, { version }: LockEntry): Promise<string> {
  const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const { stdout } = await promisify(execFile)('npm', ['view', `${name}@${version}`, 'dist.integrity']);
  const integrity = stdout.trim();
  if (!integrity.startsWith('sha512-')) throw new Error(`the registry has no hash of ${name}@${version}`);
  return integrity;
}
