import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { addFirstRequests } from './vite-first-requests.ts';
import { mergeFirstStyles } from './vite-merge-styles.ts';
import {
  compileAhead,
  emitFont,
  FIRST_SCREEN,
  findFirstScreen,
  importStylesWithComponents,
  keepFirstIds,
  keepMenusOutOfTables,
  precompress,
  shortenEndpoints,
} from './vite-plugins.ts';

/** Menus, dialogs, lists and hints, and what places them: loaded with what first opens one. */
const ON_DEMAND =
  /@floating-ui|react-remove-scroll|react-number-format|utils[\\/]Floating|create-scoped-keydown-handler|find-element-in-shadow-dom|use-(long-press|debounced-callback|focus-trap|focus-return|click-outside)[\\/]|(components|styles)[\\/](Menu|Popover|Combobox|Select|MultiSelect|TagsInput|Autocomplete|Modal|ModalBase|Overlay|Drawer|Tooltip|Tabs|Table|ScrollArea|NumberInput|PillsInput|HoverCard)([\\/]|\.css)|[\\/]charts|recharts|d3-/;

/** Components that neither the frame of the console nor the studio shows at first. */
const OF_OTHER_PAGES =
  /use-(collapse|clipboard)[\\/]|(components|styles)[\\/](Checkbox|CheckboxIndicator|PasswordInput|List|Fieldset|Timeline|Container|SimpleGrid|Card|Collapse|Radio|Accordion)([\\/]|\.css)/;

const SHARED_COMPONENTS = /[\\/]components[\\/]panel\.tsx$/;

/**
 * Small parts that pages share are in one file, since each request costs more than what a page does not need of it: those of
 * the first screen in `common`, all others in `shared`.
 */
function isSharedBy(isFirstScreen: boolean, id: string): boolean {
  if (ON_DEMAND.test(id)) return false;
  if (/@mantine[\\/](core|hooks)|@tabler/.test(id)) return OF_OTHER_PAGES.test(id) !== isFirstScreen;
  if (FIRST_SCREEN.has(id)) return isFirstScreen;
  return (
    !isFirstScreen &&
    (/[\\/]src[\\/](contract|console[\\/]data)[\\/](?!requests\.)/.test(id) || SHARED_COMPONENTS.test(id))
  );
}

/** Everything that runs comes as a file named by its content; nothing is written into the page. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  publicDir: false,
  cacheDir: join(import.meta.dirname, '../../out/vite'),
  plugins: [
    keepMenusOutOfTables(),
    keepFirstIds(),
    importStylesWithComponents(),
    react(),
    shortenEndpoints(),
    findFirstScreen(['main.tsx', 'pages/studio/studio-page.tsx']),
    emitFont(),
    mergeFirstStyles(),
    compileAhead(),
    addFirstRequests(),
    precompress(),
  ],
  // The console needs only the paths of endpoints; their schemas are for the server and the type checker.
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
      // A schema that nothing uses is left out, with the endpoint it belongs to.
      treeshake: { manualPureFunctions: ['Type', 'endpoint', 'Ok', 'ListOf', 'LongListOf', 'SortBy'] },
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'vendor',
              test: /node_modules[\\/](react|react-dom|scheduler|@tanstack|i18next|react-i18next)[\\/]/,
              priority: 3,
            },
            { name: 'first-texts-en', test: /strings[\\/]en[\\/](app|studio)\.ts$/, priority: 3 },
            { name: 'first-texts-zh-cn', test: /strings[\\/]zh-cn[\\/](app|studio)\.ts$/, priority: 3 },
            // Formed first, so that what the first screen needs does not go with what other pages share.
            { name: 'common', test: (id) => isSharedBy(true, id), minShareCount: 2, priority: 2 },
            // Without what its modules import: the first screen would need it for what it has in common with them.
            {
              name: 'shared',
              test: (id) => isSharedBy(false, id),
              minShareCount: 2,
              priority: 1,
              includeDependenciesRecursively: false,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { '^/(api|play|v1|(tokens|pages)\\.css|logo)': 'http://127.0.0.1:3000' } },
});
