import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import {
  addFirstRequests,
  addLaterStyles,
  compileAhead,
  emitFont,
  precompress,
  shortenEndpoints,
} from './vite-plugins.ts';

/** Dialogs, selects and tables, with what positions them. */
const OVERLAYS =
  /@floating-ui|react-remove-scroll|react-style-singleton|use-sidecar|use-callback-ref|[\\/](ScrollArea|Combobox|Popover|Floating|Select|Modal|ModalBase|Checkbox|Table|Overlay|data-table|dialog|panel)[\\/.]/;

/** Shared by most pages, but not needed before the studio is interactive: fields, lists and data of the administration. */
const LATER =
  /[\\/](SimpleGrid|InlineInput|InputsGroupFieldset|NativeSelect|TextInput|ComboboxChevron|FocusTrap|Portal|use-(focus-trap|focus-return|click-outside|long-press|debounced-callback)|Icon(FilterOff|Selector|Chevron\w+)|pager|list|data[\\/]admin)[\\/.]/;

/** Small parts of Mantine that the studio uses. */
const STUDIO_CONTROLS = /[\\/](AspectRatio|CopyButton|FileButton|Progress|use-clipboard|use-debounced-value)[\\/]/;

/** Source files that the studio imports statically; filled once the module graph is complete. */
const studioFiles = new Set<string>();

/** Names of the icons in these files. */
const studioIcons = new Set<string>();

interface ModuleGraph {
  getModuleInfo(id: string): { readonly importedIds: readonly string[]; readonly code: string | null } | null;
}

/** Whether the studio's first screen needs a module. Ignores packages: their entry files import every component. */
function isOfStudio(id: string, graph: ModuleGraph): boolean {
  const add = (file: string): void => {
    if (studioFiles.has(file) || file.includes('node_modules')) return;
    studioFiles.add(file);
    const { code, importedIds } = graph.getModuleInfo(file) ?? { code: null, importedIds: [] };
    for (const [name] of (code ?? '').matchAll(/\bIcon[A-Z]\w*/g)) studioIcons.add(name);
    for (const imported of [...importedIds]) add(imported);
  };
  add(join(import.meta.dirname, 'pages/studio/studio-page.tsx'));
  return studioFiles.has(id) || STUDIO_CONTROLS.test(id) || studioIcons.has(/(\w+)\.mjs$/.exec(id)?.[1] ?? '');
}

/** The page has no inline scripts; every script is a file named by its content hash. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  publicDir: false,
  cacheDir: join(import.meta.dirname, '../../out/vite'),
  plugins: [
    addLaterStyles(),
    react(),
    shortenEndpoints(),
    emitFont(),
    compileAhead(),
    addFirstRequests(),
    precompress(),
  ],
  // The console only needs the method, path and policy of endpoints; schemas are for the server and the type checker.
  resolve: { alias: { typebox: join(import.meta.dirname, 'data/typebox-stub.ts') } },
  html: { cspNonce: '__NONCE__' },
  build: {
    outDir: join(import.meta.dirname, '../../dist/console'),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
    target: 'es2023',
    rolldownOptions: {
      // Lets the bundler drop unused schemas together with their endpoints.
      treeshake: { manualPureFunctions: ['Type', 'endpoint', 'Ok', 'ListOf', 'LongListOf', 'SortBy'] },
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'vendor',
              test: /node_modules[\\/](react|react-dom|scheduler|@tanstack|i18next|react-i18next)[\\/]/,
              priority: 3,
            },
            { name: 'later', test: /console[\\/]later\.css$/, priority: 3 },
            { name: 'first-texts-en', test: /strings[\\/]en[\\/](app|studio)\.ts$/, priority: 3 },
            { name: 'first-texts-zh-cn', test: /strings[\\/]zh-cn[\\/](app|studio)\.ts$/, priority: 3 },
            // Frame of the console, loaded by every page.
            { name: 'frame', tags: ['$initial'], priority: 2 },
            // One file each for widely shared code: an extra request costs more than code a page does not need.
            {
              name: 'common',
              test: (id: string) => !OVERLAYS.test(id) && !LATER.test(id),
              minShareCount: 24,
              priority: 1.5,
            },
            {
              name: (id, graph) => (LATER.test(id) && !isOfStudio(id, graph) ? 'fields' : null),
              debugName: 'fields',
              minShareCount: 24,
              priority: 1.45,
            },
            // The rest of the studio's first screen that other pages load too.
            {
              name: (id, graph) => (isOfStudio(id, graph) ? 'studio-shared' : null),
              debugName: 'studio-shared',
              minShareCount: 2,
              priority: 1.4,
            },
            // Loaded by the studio on demand only.
            { name: 'overlays', test: OVERLAYS, minShareCount: 12, priority: 1 },
            // Icons are smaller than the headers of a request.
            {
              name: (id, graph) => (/@tabler/.test(id) && !isOfStudio(id, graph) ? 'icons' : null),
              debugName: 'icons',
              priority: 1,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { '^/(api|play|v1|(tokens|pages)\\.css|logo)': 'http://127.0.0.1:3000' } },
});
