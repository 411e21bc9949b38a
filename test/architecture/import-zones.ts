import type { ModuleImport } from './source-files.ts';

/** The files of a zone, and the imports they are allowed. */
export interface ImportZone {
  name: string;
  why: string;
  from: RegExp;
  may(entry: ModuleImport, path: string): boolean;
}

const isOurs = (entry: ModuleImport) => entry.specifier.startsWith('.');
const isNode = (entry: ModuleImport) => entry.specifier.startsWith('node:');
const isWithin = (entry: ModuleImport, ...folders: string[]) =>
  folders.some((folder) => entry.target === folder || entry.target.startsWith(`${folder}/`));

/** `quota` for `src/server/quota/ledger.ts`; undefined for platform, commands and the files that construct the app. */
export function capabilityOf(path: string): string | undefined {
  const name = /^src\/server\/([^/]+)\//.exec(path)?.[1];
  return name === 'platform' || name === 'commands' ? undefined : name;
}

const CAPABILITY = /^src\/server\/(?!platform\/|commands\/)[^/]+\//;
const ROUTES = /(^|[/-])routes\.ts$/;

/** Server modules the importer uses besides platform and types: how channels, redemption codes and tasks are stored. */
const IMPORTER_MODULES = [
  'src/server/accounts/two-factor.ts',
  'src/server/channels/credentials.ts',
  'src/server/channels/credentials.ts',
  'src/server/channels/directory.ts',
  'src/server/tables.ts',
  'src/server/plans/codes.ts',
  'src/server/quota/ledger-audit.ts',
  'src/server/vendors/registry.ts',
  'src/server/video/tables.ts',
  'src/server/video/task-store.ts',
];

/** The import rules of every part of the tree. */
export const importZones: ImportZone[] = [
  {
    name: 'contract imports TypeBox and itself',
    why: 'what travels on the wire runs anywhere: server, SDK, command line, browser',
    from: /^src\/contract\//,
    may: (entry) => isWithin(entry, 'src/contract', 'typebox'),
  },
  {
    name: 'design imports itself',
    why: 'the look is the same wherever pages are made: in the browser and on the server',
    from: /^src\/design\//,
    may: (entry) => isWithin(entry, 'src/design'),
  },
  {
    name: 'platform knows no capability',
    why: 'imports point inwards',
    from: /^src\/server\/platform\//,
    may: (entry) => !isOurs(entry) || isWithin(entry, 'src/server/platform', 'src/contract', 'src/design'),
  },
  {
    name: 'upstreams imports platform and the contract',
    why: 'channels, chat, video and the vendor adapters stand on it, so it knows none of them, types included',
    from: /^src\/server\/upstreams\//,
    may: (entry) => !isOurs(entry) || isWithin(entry, 'src/server/upstreams', 'src/server/platform', 'src/contract'),
  },
  {
    name: "a capability imports another's types only",
    why: 'values arrive through the constructor in app.ts, so a signature tells what a service needs and nothing runs in a circle',
    from: CAPABILITY,
    may: (entry, path) =>
      !isOurs(entry) ||
      isWithin(
        entry,
        `src/server/${capabilityOf(path)}`,
        'src/server/platform',
        'src/server/upstreams',
        'src/contract',
        'src/server/package-root.ts',
      ) ||
      (entry.kind === 'type' && (capabilityOf(entry.target) !== undefined || entry.target === 'src/server/tables.ts')),
  },
  {
    name: 'main.ts reads config, builds the app and listens',
    why: 'what is constructed anywhere is constructed in app.ts',
    from: /^src\/server\/main\.ts$/,
    may: (entry) => !isOurs(entry) || isWithin(entry, 'src/server/app.ts', 'src/server/platform', 'src/sandbox'),
  },
  {
    name: 'a vendor adapter sees its interface, the contract, the outbound client and node:crypto',
    why: 'an adapter that knows nothing of us can be tested and replaced alone',
    from: /^src\/server\/vendors\/[^/]+\//,
    may: (entry) =>
      entry.specifier === 'node:crypto' ||
      isWithin(
        entry,
        'src/server/vendors',
        'src/server/upstreams',
        'src/server/platform/outbound',
        'src/contract',
        'typebox',
      ),
  },
  {
    name: 'below routes nobody knows HTTP',
    why: 'rules are tested without a server, and every status and envelope is decided in one place',
    from: CAPABILITY,
    may: (entry, path) =>
      ROUTES.test(path) ||
      (!isWithin(entry, 'fastify', '@fastify') &&
        // Callers and parsed forms are plain data; validating a value against a schema needs no server.
        (entry.kind === 'type' ||
          !isWithin(entry, 'src/server/platform/http') ||
          isWithin(entry, 'src/server/platform/http/schema-validation.ts'))),
  },
  {
    name: 'sdk imports the contract only',
    why: 'it is the one piece that knows how to call the service, and runs in the browser too',
    from: /^src\/sdk\//,
    may: (entry) => (isOurs(entry) ? isWithin(entry, 'src/sdk', 'src/contract') : !isNode(entry)),
  },
  {
    name: 'cli and console stand on the sdk',
    why: 'they use the service as any other client does',
    from: /^src\/(cli|console)\//,
    may: (entry, path) =>
      !isOurs(entry) ||
      isWithin(entry, path.split('/').slice(0, 2).join('/'), 'src/sdk', 'src/contract', 'src/design') ||
      // Commands that open the server's own database, loaded on use.
      (/^src\/cli\/commands\/admin\.ts$/.test(path) &&
        entry.kind === 'dynamic' &&
        isWithin(entry, 'src/server/commands')),
  },
  {
    name: 'console runs in a browser',
    why: 'nothing of Node may end up in the bundle',
    from: /^src\/console\/(?!vite[.-])/,
    may: (entry) => !isNode(entry),
  },
  {
    name: 'the server runs without the importer',
    why: 'the importer is an optional package: only `reelgate import` loads it, and says how to install it where it is missing',
    from: /^src\/(?!cli\/commands\/import\.ts$)/,
    may: (entry) => !isWithin(entry, 'importer', '@reelgate/importer', 'mysql2'),
  },
  {
    name: 'importer stands on the contract, platform and a few listed modules',
    why: 'what an optional package may use of the server is an interface: a change there has to be seen',
    from: /^importer\//,
    may: (entry) =>
      !isOurs(entry) ||
      isWithin(entry, 'importer', 'src/contract', 'src/server/platform', ...IMPORTER_MODULES) ||
      (entry.kind === 'type' && isWithin(entry, 'src/server')),
  },
  {
    name: 'sandbox imports nothing of the server',
    why: 'a simulator that shares code with the adapter it plays against proves nothing',
    from: /^src\/sandbox\//,
    may: (entry) => !isOurs(entry) || isWithin(entry, 'src/sandbox', 'src/contract'),
  },
];
