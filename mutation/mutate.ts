/**
 * Mutation testing: `npm run mutate -- src/server/quota [more paths] [options]`.
 *
 * Changes the source in one place at a time (an operator, a condition, a removed call or `where`) and runs the test
 * files that reach the change; a change that no test detects is a survivor.
 *
 *   --tests "WORD …"    test files whose path contains a word, in addition to those of mutation/extra-test-paths.ts
 *   --without "WORD …"  omits test files, such as slow ones: the score is then a lower bound
 *   --sample N --seed S a random sample of the mutants, reproducible by its seed
 *   --minutes N         stops early; the next run continues from the verdicts stored in out/mutation
 *   --fresh             retries mutants that have a stored verdict
 */
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { listTestFiles } from '../scripts/testing/list-test-files.ts';
import { createSqliteTemplate } from '../test/database-templates.ts';
import { seededRandom } from '../test/seeded-random.ts';
import { extraTestPaths } from './extra-test-paths.ts';
import { instrument } from './instrument.ts';
import { chooseSample, type NamedMutant, nameMutants } from './mutants.ts';
import { runTest } from './test-run.ts';

const root = join(import.meta.dirname, '..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string', default: '' },
    without: { type: 'string', default: '' },
    sample: { type: 'string', default: 'Infinity' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '600' },
    fresh: { type: 'boolean', default: false },
  },
});
if (positionals.length === 0) {
  console.error(
    'usage: npm run mutate -- PATH… [--tests W] [--without W] [--sample N --seed S] [--minutes N] [--fresh]',
  );
  process.exit(2);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

/** Tests, fixtures and schemas contain no logic to test. */
const isRule = (path: string): boolean => !/(\.test|\.fixture|\/tables|\/make)\.ts$/.test(path);
const paths = positionals
  .map((path) => resolve(path))
  .flatMap((path) => (statSync(path).isDirectory() ? globSync(`${path}/**/*.ts`) : [path]))
  .filter(isRule)
  .sort();
const texts = new Map(paths.map((path) => [path, readFileSync(path, 'utf8')]));
const mutants = [...texts]
  .flatMap(([path, text]) => nameMutants(root, path, text))
  .map((mutant, id) => ({ ...mutant, id }));
type Numbered = (typeof mutants)[number];

const wordsIn = (text: string): string[] => text.split(' ').filter((word) => word !== '');
const words = [...paths.flatMap((path) => extraTestPaths(relative(root, path))), ...wordsIn(values.tests)];
const without = wordsIn(values.without);
const testFiles = listTestFiles(root, words).filter((path) => !without.some((word) => path.includes(word)));
console.log(`${mutants.length} mutants in ${paths.length} files, ${testFiles.length} test files`);

const folder = mkdtempSync(join(tmpdir(), 'mutate-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const instrumented = Object.fromEntries(
  [...texts].map(([path, text], index) => {
    const file = join(folder, `${index}.ts`);
    writeFileSync(
      file,
      instrument(
        text,
        mutants.filter((mutant) => mutant.path === path),
      ),
    );
    return [path, file];
  }),
);
const environment = {
  MUTATION_SOURCES: JSON.stringify(instrumented),
  TEST_SQLITE_TEMPLATE: await createSqliteTemplate(folder),
  NODE_COMPILE_CACHE: join(root, 'out', 'compile-cache'),
};

/** Processes the items of a list in as many loops as there are cores. */
async function forEachInParallel<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const queue = Iterator.from(items);
  const loop = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, loop));
}

const MAX_FILE_MS = 300_000;
interface Coverage {
  readonly testFile: string;
  readonly durationMs: number;
  readonly reached: ReadonlySet<number>;
}
const coverage: Coverage[] = [];
await forEachInParallel(testFiles.entries(), async ([index, testFile]) => {
  const file = join(folder, `reached-${index}.json`);
  const { hasPassed, durationMs, output } = await runTest(join(root, testFile), MAX_FILE_MS, {
    ...environment,
    MUTATION_REACHED: file,
  });
  if (!hasPassed)
    return console.error(`${testFile}: left out, since it fails without a mutant\n${output.slice(-2_000)}`);
  const reached = new Set(JSON.parse(readFileSync(file, 'utf8')) as number[]);
  if (reached.size > 0) coverage.push({ testFile, durationMs, reached });
});
coverage.sort((one, other) => one.durationMs - other.durationMs);
console.log(
  `${coverage.length} test files reach ${new Set(coverage.flatMap(({ reached }) => [...reached])).size} of them`,
);

type Outcome = 'killed' | 'survived' | 'not covered';
/** Verdicts by mutant name. A verdict is valid until the source changes, that of a survivor until a test changes. */
interface Kept {
  readonly source: string;
  readonly tests: string;
  readonly outcome: Outcome;
}
const keptPath = join(root, 'out', 'mutation', 'verdicts.json');
mkdirSync(join(keptPath, '..'), { recursive: true });
const kept = JSON.parse(
  statSync(keptPath, { throwIfNoEntry: false }) ? readFileSync(keptPath, 'utf8') : '{}',
) as Record<string, Kept>;
const hash = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\0')).digest('hex');
const testsHash = hash(...testFiles.map((path) => readFileSync(join(root, path), 'utf8')));
const sourceHashes = new Map([...texts].map(([path, text]) => [path, hash(text)]));

async function outcomeOf(mutant: Numbered): Promise<Outcome> {
  const covering = coverage.filter(({ reached }) => reached.has(mutant.id));
  for (const { testFile, durationMs } of covering) {
    const limitMs = 20_000 + 5 * durationMs;
    const active = { ...environment, MUTATION_ACTIVE: String(mutant.id) };
    if (!(await runTest(join(root, testFile), limitMs, active)).hasPassed) return 'killed';
  }
  return covering.length === 0 ? 'not covered' : 'survived';
}

interface Survivors {
  readonly reason: string;
  readonly mutants: readonly string[];
}
const survivors = JSON.parse(readFileSync(join(import.meta.dirname, 'survivors.json'), 'utf8')) as readonly Survivors[];
const explained = new Set(survivors.flatMap((each) => each.mutants));
const deadline = performance.now() + Number(values.minutes) * 60_000;
const chosen = chooseSample(mutants, Number(values.sample), seededRandom(Number(values.seed)));
const tried: { readonly mutant: NamedMutant; readonly outcome: Outcome }[] = [];
await forEachInParallel(chosen, async (mutant) => {
  const source = sourceHashes.get(mutant.path) ?? '';
  const known = values.fresh ? undefined : kept[mutant.name];
  if (known?.source === source && (known.outcome === 'killed' || known.tests === testsHash)) {
    tried.push({ mutant, outcome: known.outcome });
  } else if (performance.now() < deadline) {
    const outcome = await outcomeOf(mutant);
    tried.push({ mutant, outcome });
    if (outcome !== 'killed') console.log(`${outcome}: line ${mutant.line}  ${mutant.name}`);
    kept[mutant.name] = { source, tests: testsHash, outcome };
    writeFileSync(keptPath, JSON.stringify(kept));
  }
});

const names = new Set(mutants.map(({ name }) => name));
for (const name of explained)
  if (paths.some((path) => name.startsWith(`${relative(root, path)}: `)) && !names.has(name))
    console.log(`obsolete entry of survivors.json: ${name}`);
const killed = tried.filter(({ outcome }) => outcome === 'killed');
for (const { mutant } of killed)
  if (explained.has(mutant.name)) console.log(`killed despite survivors.json: ${mutant.name}`);
const alive = tried.filter(({ outcome }) => outcome !== 'killed');
const unexplained = alive.filter(({ mutant }) => !explained.has(mutant.name));
console.log(`\nSurvivors without a reason: ${unexplained.length}`);
for (const { mutant, outcome } of unexplained) console.log(`  ${outcome}: line ${mutant.line}  ${mutant.name}`);
const percent = (part: number, whole: number): string => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
const extent =
  chosen.length < mutants.length ? `sample of ${chosen.length} of ${mutants.length}` : `all ${mutants.length}`;
console.log(
  `\n${extent} mutants: killed ${killed.length} of ${tried.length} (${percent(killed.length, tried.length)}),`,
);
console.log(`  without survivors with a reason ${percent(killed.length, killed.length + unexplained.length)}`);
const notTried = chosen.length - tried.length;
if (notTried > 0) console.log(`  ${notTried} not tried: the time was up; run the command again to continue`);
process.exitCode = unexplained.length + notTried === 0 ? 0 : 1;
