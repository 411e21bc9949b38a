/** `npm run build:server`: bundles the server, so that it starts in half the time and without the sources of its packages in memory. */
import { join } from 'node:path';
import { SERVER_BUNDLE, writeBundle } from './write-bundle.ts';

await writeBundle({ root: join(import.meta.dirname, '..'), ...SERVER_BUNDLE });
