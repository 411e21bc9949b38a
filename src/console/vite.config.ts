import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { FONT_PATH } from '../design/tokens.ts';

/** Puts a `.br` and a `.gz` beside every text file, so that the server compresses nothing while it runs. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    generateBundle: {
      order: 'post',
      handler(_, bundle) {
        for (const [fileName, file] of Object.entries(bundle)) {
          if (!/\.(js|css|svg)$/.test(fileName)) continue;
          const source = Buffer.from(file.type === 'chunk' ? file.code : file.source);
          if (source.length < 1024) continue;
          // What every page loads is worth the time of the build.
          const level = /(vendor|common|index)-/.test(fileName) ? 11 : 9;
          const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: level } };
          this.emitFile({ type: 'asset', fileName: `${fileName}.br`, source: brotliCompressSync(source, quality) });
          this.emitFile({ type: 'asset', fileName: `${fileName}.gz`, source: gzipSync(source, { level: 9 }) });
        }
      },
    },
  };
}

/** The bundled font, at the address the tokens name; pages of the server load it from there too. */
function emitFont(): Plugin {
  const file = import.meta.resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2');
  return {
    name: 'emit-font',
    apply: 'build',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: FONT_PATH.slice(1), source: readFileSync(fileURLToPath(file)) });
    },
  };
}

/** Menus, dialogs, lists and hints, and what places them: loaded with what first opens one. */
const ON_DEMAND =
  /@floating-ui|react-remove-scroll|react-number-format|components[\\/](Menu|Popover|Combobox|Select|MultiSelect|TagsInput|Autocomplete|Modal|ModalBase|Drawer|Tooltip|Tabs|Table|ScrollArea|NumberInput|Pill|PillsInput|HoverCard)[\\/]|[\\/]charts|recharts|d3-/;

/** Small parts that pages share; in one file, since each request costs more than what a page does not need of it. */
const isCommon = (id: string): boolean =>
  (/@mantine[\\/](core|hooks)|@tabler|[\\/]src[\\/](contract|sdk|console[\\/]data)[\\/]/.test(id) &&
    !ON_DEMAND.test(id)) ||
  /[\\/]components[\\/](page|relative-time|credit-amount|task-status-color|favourite-button|error-alert|empty-state)\.tsx?$/.test(
    id,
  );

/** Mantine's scroll area, part of every table, imports one function of a library that only menus need. */
function keepMenusOutOfTables(): Plugin {
  return {
    name: 'keep-menus-out-of-tables',
    enforce: 'pre',
    resolveId: (source, importer) =>
      source === '@floating-ui/react' && importer?.endsWith('/ScrollArea.mjs') === true
        ? join(import.meta.dirname, 'data/merge-refs.ts')
        : undefined,
  };
}

/** Everything that runs comes as a file named by its content; nothing is written into the page. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  publicDir: false,
  cacheDir: join(import.meta.dirname, '../../out/vite'),
  plugins: [keepMenusOutOfTables(), react(), emitFont(), precompress()],
  // The console needs only the paths of endpoints; their schemas are for the server and the type checker.
  resolve: { alias: { typebox: join(import.meta.dirname, 'data/schema-stub.ts') } },
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
      treeshake: { manualPureFunctions: ['Type', 'endpoint', 'Ok', 'ListOf'] },
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'vendor',
              test: /node_modules[\\/](react|react-dom|scheduler|@tanstack|i18next|react-i18next)[\\/]/,
              priority: 2,
            },
            { name: 'common', test: isCommon, minShareCount: 2, priority: 1 },
          ],
        },
      },
    },
  },
  server: { proxy: { '^/(api|play|v1|(tokens|pages)\\.css|logo)': 'http://127.0.0.1:3000' } },
});
