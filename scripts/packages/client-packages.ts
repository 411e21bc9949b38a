import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { replaceFolder } from '../replace-folder.ts';
import { writeSdkDeclarations } from './sdk-declarations.ts';

/** Fields of package.json written here. */
type Manifest = Readonly<Record<string, unknown>>;

const readManifest = (path: string): Manifest => JSON.parse(readFileSync(path, 'utf8')) as Manifest;

/** Writes the SDK as a package: one JavaScript file with all its code, and declarations without dependencies. */
export const writeSdkPackage = (root: string, folder: string): Promise<void> =>
  replaceFolder(folder, async (temporary) => {
    await bundle(root, temporary, { index: 'src/sdk/index.ts' }, 'neutral', []);
    await writeSdkDeclarations(root, temporary);
    writePackageFiles(root, 'src/sdk', temporary, {});
  });

/** Writes the command line as its own package, without the commands that open the server's database. */
export const writeCliPackage = (root: string, folder: string): Promise<void> =>
  replaceFolder(folder, async (temporary) => {
    const { optionalDependencies = {} } = readManifest(join(root, 'package.json'));
    const keyring = '@napi-rs/keyring';
    // Two folders below the package's root, like the source, because the program reads its version relative to that
    // depth.
    const chunks = join(temporary, 'dist/cli');
    await bundle(root, chunks, { main: 'src/cli/main.ts' }, 'node', [keyring]);
    cpSync(join(root, 'bin/node-version.js'), join(temporary, 'bin/node-version.js'));
    writeFileSync(join(temporary, 'bin/reelgate.js'), PROGRAM, { mode: 0o755 });
    writePackageFiles(root, 'src/cli', temporary, {
      optionalDependencies: { [keyring]: (optionalDependencies as Record<string, string>)[keyring] },
    });
  });

/**
 * Plain JavaScript that every Node version parses, so that an old one prints a clear message instead of a syntax error.
 */
const PROGRAM = `#!/usr/bin/env node
import module from 'node:module';
import { isNewEnough, TOO_OLD } from './node-version.js';

if (isNewEnough) {
  module.enableCompileCache();
  await import('../dist/cli/main.js');
} else {
  console.error(\`\${TOO_OLD}; install one from https://nodejs.org.\`);
  process.exitCode = 1;
}
`;

/** Writes package.json, README.md and LICENSE; the version is the service's. */
function writePackageFiles(root: string, source: string, folder: string, more: Manifest): void {
  const { private: _, ...manifest } = readManifest(join(root, source, 'package.json'));
  const { version } = readManifest(join(root, 'package.json'));
  const whole = { name: manifest['name'], version, ...manifest, ...more };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(whole, undefined, 2)}\n`);
  cpSync(join(root, source, 'README.md'), join(folder, 'README.md'));
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
}

/** Makes commands that need the server's code say so if that code is not installed. */
const SERVER_COMMANDS: Plugin = {
  name: 'server-commands',
  resolveId: (source) => (/\/server\/commands\/|^@reelgate\/importer$/.test(source) ? '\0server-commands' : undefined),
  load: (id) =>
    id === '\0server-commands'
      ? `throw new Error('This command opens the database of the service: run it on the server, with the reelgate that is installed there.');`
      : undefined,
};

async function bundle(
  root: string,
  folder: string,
  input: Readonly<Record<string, string>>,
  platform: 'neutral' | 'node',
  external: readonly string[],
): Promise<void> {
  const build = await rolldown({
    input: Object.fromEntries(Object.entries(input).map(([name, path]) => [name, join(root, path)])),
    cwd: root,
    platform,
    external: [...external],
    plugins: [SERVER_COMMANDS],
    // Clients need no schemas, because the server validates.
    resolve: { alias: { typebox: join(root, 'src/console/data/typebox-stub.ts') } },
    logLevel: 'silent',
  });
  await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    keepNames: true,
  });
  await build.close();
}
