import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { addFirstRequests } from './vite-first-requests.ts';
import { compileAhead, emitFont, precompress, shortenEndpoints } from './vite-plugins.ts';

/** All scripts are files named by their content: the page has none inline. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  publicDir: false,
  cacheDir: join(import.meta.dirname, '../../out/vite'),
  plugins: [react(), shortenEndpoints(), emitFont(), compileAhead(), addFirstRequests(), precompress()],
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
            // The frame of the console, which every page loads.
            { name: 'frame', tags: ['$initial'], priority: 2 },
            // One file for code that many pages share: a request costs more than code that a page does not need.
            { name: 'common', minShareCount: 24, priority: 1 },
            // Icons are smaller than the headers of a request.
            { name: 'icons', test: /@tabler/, priority: 1 },
          ],
        },
      },
    },
  },
  server: { proxy: { '^/(api|play|v1|(tokens|pages)\\.css|logo)': 'http://127.0.0.1:3000' } },
});
