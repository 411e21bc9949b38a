import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Root folder of this package. In the server's code, only files directly in `src/server` may derive paths from their
 * own location: like them, the bundle (scripts/write-bundle.ts) lies two folders below the root.
 */
export const PACKAGE_ROOT: string = join(import.meta.dirname, '../..');

/** The version of this package. */
export const VERSION: string = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')).version;
