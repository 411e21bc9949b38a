/**
 * `npm run lock`: adds the platform packages that npm left out of package-lock.json.
 *
 * npm drops optional packages of other platforms from the lock when it cannot or need not install them here, and `npm ci` then
 * refuses the lock everywhere. Run this after adding a dependency; test/package-lock.test.ts fails when it was forgotten.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { completeLock, type Lock } from './package-lock/add-missing-platform-packages.ts';

const path = join(import.meta.dirname, '..', 'package-lock.json');
const lock = JSON.parse(readFileSync(path, 'utf8')) as Lock;
const added = completeLock(lock);
writeFileSync(path, `${JSON.stringify(lock, undefined, 2)}\n`);
console.log(added.length === 0 ? 'The lock is complete.' : `Added ${added.length}: ${added.join(', ')}`);
