// Plain JavaScript, so that from the second start on nothing is stripped of types or compiled again: a first file in
// TypeScript would load the compiler, which keeps some 14 MB for as long as the server runs.
import module from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findProgramBundle } from './find-program-bundle.js';
import { isNewEnough, TOO_OLD } from './node-version.js';

if (isNewEnough) await start();
else {
  console.error(
    `reelgate cannot start: ${TOO_OLD}; use "npm start", which runs the Node that "npm ci" installed, or node_modules/.bin/node bin/server.js`,
  );
  process.exitCode = 1;
}

async function start() {
  module.enableCompileCache();
  const bundle = findProgramBundle(join(import.meta.dirname, '..'), 'dist/server/main.js');
  await (bundle === undefined ? import('../src/server/main.ts') : import(pathToFileURL(bundle).href));
}
