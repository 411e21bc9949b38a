/** Preloaded into the process of a test file: loads sources with their mutants, one of which is active. */
import { readFileSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { SWITCH } from './instrument.ts';

const { MUTATION_SOURCES = '{}', MUTATION_ACTIVE = '-1', MUTATION_REACHED } = process.env;
/** Maps each source's path to the file with its instrumented text. */
const instrumented = JSON.parse(MUTATION_SOURCES) as Record<string, string>;
const byUrl = new Map(Object.entries(instrumented).map(([path, file]) => [pathToFileURL(path).href, file]));

registerHooks({
  load(url, context, next) {
    const file = byUrl.get(url);
    return file === undefined
      ? next(url, context)
      : { format: 'module-typescript', source: readFileSync(file, 'utf8'), shortCircuit: true };
  },
});

const active = Number(MUTATION_ACTIVE);
const reached = new Set<number>();
Object.assign(globalThis, {
  [SWITCH]: (id: number): boolean => {
    reached.add(id);
    return id === active;
  },
});
if (MUTATION_REACHED !== undefined)
  process.once('exit', () => writeFileSync(MUTATION_REACHED, JSON.stringify([...reached])));
