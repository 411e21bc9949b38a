/**
 * `npm run build:server`: bundles the server, which halves its start-up time and keeps the sources of its packages out
 * of memory.
 */
import { join } from 'node:path';
import { SERVER_BUNDLE, writeBundle } from './write-bundle.ts';

await writeBundle({ root: join(import.meta.dirname, '..'), ...SERVER_BUNDLE });
