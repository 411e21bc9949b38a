/** `npm run build:console`: builds the console's pages. */
import { join } from 'node:path';
import { buildConsole } from './console-build.ts';

await buildConsole(join(import.meta.dirname, '..'));
