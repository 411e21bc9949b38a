/** `npm run build:console`: builds the pages of the console. */
import { join } from 'node:path';
import { buildConsole } from './console-build.ts';

await buildConsole(join(import.meta.dirname, '..'));
