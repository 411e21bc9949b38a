/**
 * Mutation testing: `npm run mutate -- src/server/quota [more paths] [options]`.
 *
 * Changes the source in one place at a time (an operator, a condition, a call left out, a `where` left out) and runs the
 * tests that reach the place, in one process that stays warm; a change that no test notices is a survivor.
 *
 *   --tests "WORD …"    test files whose path contains a word, besides those of scripts/mutation/extra-test-paths.ts
 *   --without "WORD …"  leaves test files out, such as those that start the whole service: quicker, and the score a lower bound
 *   --sample N --seed S some mutants only, chosen by the seed; the result says that it is a sample
 *   --minutes N         stops early; the next run continues, as verdicts are kept in out/mutation
 *   --budget N          seconds for one mutant (20)
 *   --fresh             tries also what earlier runs killed, known survivors, and survivors of unchanged sources and tests
 *
 * `MUTATE_VERBOSE=1` shows what the test processes write. Known survivors: scripts/mutation/survivors.json.
 */
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { chooseSample } from './mutation/choose-sample.ts';
import { hashTexts, measureCoverage } from './mutation/coverage.ts';
import { extraTestPaths } from './mutation/extra-test-paths.ts';
import { instrument } from './mutation/instrument.ts';
import { survivorReasons } from './mutation/known-survivors.ts';
import { MutantTrials, type Verdict } from './mutation/mutant-trials.ts';
import { nameMutants } from './mutation/name-mutants.ts';
import { type MutantResult, printScore } from './mutation/print-score.ts';
import { WorkerHandle } from './mutation/worker-handle.ts';
import { listTestFiles } from './testing/list-test-files-and-runs.ts';

const root = join(import.meta.dirname, '..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string', default: '' },
    without: { type: 'string', default: '' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '600' },
    budget: { type: 'string', default: '20' },
    fresh: { type: 'boolean', default: false },
  },
});
if (positionals.length === 0) {
  console.error(
    'usage: npm run mutate -- PATH… [--tests "WORD …"] [--without "WORD …"] [--sample N --seed S] [--minutes N] [--budget N] [--fresh]',
  );
  process.exit(2);
}

/** Schema and types are no rules; tests and fixtures are not what is tested. */
const isRule = (path: string): boolean => !/(\.test|\.fixture|\/tables|\/make)\.ts$/.test(path);
const paths = positionals
  .map((path) => resolve(path))
  .flatMap((path) => (statSync(path).isDirectory() ? globSync(`${path}/**/*.ts`) : [path]))
  .filter(isRule)
  .sort();
const wordsIn = (text: string): string[] => text.split(' ').filter((word) => word !== '');
const words = [...paths.flatMap((path) => extraTestPaths(relative(root, path))), ...wordsIn(values.tests)];
const without = wordsIn(values.without);
const texts = new Map(paths.map((path) => [path, readFileSync(path, 'utf8')]));
const mutants = paths
  .flatMap((path) => nameMutants(root, path, texts.get(path) ?? ''))
  .map((mutant, id) => ({ ...mutant, id }));
const chosen = chooseSample(mutants, Number(values.sample ?? mutants.length), Number(values.seed));
const testFiles = listTestFiles(root, words).filter((path) => !without.some((word) => path.includes(word)));
console.log(`${mutants.length} mutants in ${paths.length} files, ${testFiles.length} test files`);

const deadline = performance.now() + Number(values.minutes) * 60_000;
const folder = mkdtempSync(join(tmpdir(), 'mutate-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const instrumentedFiles: Record<string, string> = {};
for (const [index, path] of paths.entries()) {
  const file = join(folder, `${index}.ts`);
  const own = mutants.filter((mutant) => mutant.path === path);
  writeFileSync(file, instrument(texts.get(path) ?? '', own));
  instrumentedFiles[path] = file;
}
const sources = JSON.stringify(instrumentedFiles);

const first = new WorkerHandle(root, sources);
const covered = await measureCoverage(root, testFiles, hashTexts(...texts.values()), first);
first.stop();
const tests = covered.flatMap((file) => file.tests);
const reached = new Set(tests.flatMap((test) => test.reached));
// What some file reaches whenever it runs needs no process of its own.
const often = new Set(
  covered.flatMap((file) => [
    ...new Set(file.tests.flatMap((test) => test.reached)).difference(new Set(file.reachedOnce)),
  ]),
);
const once = new Set(covered.flatMap((file) => file.reachedOnce)).difference(often);
console.log(`${tests.length} tests reach ${reached.union(once).size} of them, ${once.size} only once in a process`);

/** Verdicts of earlier runs by name; one counts while the source file is the same. */
const keptPath = join(root, 'out', 'mutation', 'verdicts.json');
interface Kept {
  readonly source: string;
  /** Of all test files that were tried: survivors are tried again when one changes. */
  readonly tests: string;
  readonly verdict: Verdict;
}
let kept: Record<string, Kept> = {};
try {
  kept = JSON.parse(readFileSync(keptPath, 'utf8')) as typeof kept;
} catch {
  // The first run.
}
const testsHash = hashTexts(...testFiles.map((path) => readFileSync(join(root, path), 'utf8')));
const sourceHashes = new Map([...texts].map(([path, text]) => [path, hashTexts(text)]));

const trials = new MutantTrials({ root, sources, mutants, tests, once, budgetMs: Number(values.budget) * 1000 });
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    trials.stop();
    process.exit(130);
  });
const tried: MutantResult[] = [];
const report = (mutant: (typeof mutants)[number], verdict: Verdict): void => {
  tried.push({ mutant, verdict });
  if (verdict.outcome !== 'killed') console.log(`${verdict.outcome}: line ${mutant.line}  ${mutant.name}`);
  kept[mutant.name] = { source: sourceHashes.get(mutant.path) ?? '', tests: testsHash, verdict };
  writeFileSync(keptPath, JSON.stringify(kept));
};
const byId = (id: number) => mutants[id] as (typeof mutants)[number];
let notTried = 0;
mkdirSync(join(keptPath, '..'), { recursive: true });
for (const mutant of chosen) {
  const known = kept[mutant.name];
  const verdict = !values.fresh && known?.source === sourceHashes.get(mutant.path) ? known?.verdict : undefined;
  const isFinal =
    verdict?.outcome === 'killed' ||
    (verdict !== undefined && survivorReasons.has(mutant.name)) ||
    (verdict?.outcome !== 'cut short' && known?.tests === testsHash);
  if (verdict !== undefined && isFinal) tried.push({ mutant, verdict });
  else if (performance.now() > deadline) notTried += 1;
  else await trials.try(mutant, ({ id }, verdict) => report(byId(id), verdict));
}
await trials.confirm(({ id }, verdict) => report(byId(id), verdict));
trials.stop();

const names = new Set(mutants.map(({ name }) => name));
for (const name of survivorReasons.keys())
  if (paths.some((path) => name.startsWith(`${relative(root, path)}: `)) && !names.has(name))
    console.log(`listed as a known survivor, but not possible any more: ${name}`);
const unexplained = printScore(root, tried, {
  all: mutants.length,
  chosen: chosen.length,
  seed: values.seed,
  notTried,
});
process.exitCode = unexplained === 0 && notTried === 0 ? 0 : 1;
