/**
 * `npm run build:packages`: writes the SDK and the command line as packages to `dist/sdk` and `dist/cli`, ready for
 * `npm pack` or `npm publish`.
 */
import { join } from 'node:path';
import { writeCliPackage, writeSdkPackage } from './packages/client-packages.ts';

const root = join(import.meta.dirname, '..');
await writeSdkPackage(root, join(root, 'dist/sdk'));
await writeCliPackage(root, join(root, 'dist/cli'));
