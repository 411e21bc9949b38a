/** Preloaded into the worker: sources come with their mutants in them, and `node:test` is a runner that can run again. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import './activate-mutant-and-record-reached.ts';

/** Path of each source to the file with its instrumented text. */
const instrumented = JSON.parse(process.env['MUTATION_SOURCES'] ?? '{}') as Record<string, string>;
const byUrl = new Map(Object.entries(instrumented).map(([path, file]) => [pathToFileURL(path).href, file]));
const runner = new URL('./in-process-node-test-replacement.ts', import.meta.url).href;

/** Keeps queries for the life of the process, whatever mutant was on when they were built. Here each is built anew. */
const preparedQuery = new URL('../../src/server/platform/db/prepared-query.ts', import.meta.url);
const KEEPING = 'templates[dialect] ??=';
const preparedQuerySource = readFileSync(preparedQuery, 'utf8');
if (!preparedQuerySource.includes(KEEPING)) throw new Error(`${preparedQuery.pathname}: no “${KEEPING}” found`);

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'node:test' ? { url: runner, shortCircuit: true } : next(specifier, context),
  load(url, context, next) {
    if (url === preparedQuery.href)
      return {
        format: 'module-typescript',
        source: preparedQuerySource.replace(KEEPING, 'templates[dialect] ='),
        shortCircuit: true,
      };
    const file = byUrl.get(url);
    if (file === undefined) return next(url, context);
    return { format: 'module-typescript', source: readFileSync(file, 'utf8'), shortCircuit: true };
  },
});
